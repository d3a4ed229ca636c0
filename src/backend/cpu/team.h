// SPDX-License-Identifier: Apache-2.0
// Team: the threads that run CPU kernels. Work is cut into chunks by the problem alone, never by the number of threads,
// and chunks are claimed as threads become free: results do not depend on the thread count, and a busy neighbour core
// costs its share only.
#pragma once
#include "base/function_ref.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace nbx {

class Team {
 public:
  // The caller of run() counts as one of `threads` (1 <= threads <= 1024), so threads - 1 are started. Error (value).
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const;

  // Calls fn(chunk, worker) once for each chunk in [0, chunks); returns when all have ended. `worker` in [0, threads())
  // names the thread, for per-thread scratch memory: no two chunks run with the same worker at the same time. One
  // chunk, or a team of one, runs on the caller and wakes nobody. A call from inside a chunk of the same team runs
  // inline with that chunk's worker. Calls from several threads take turns. The first exception of a chunk is thrown
  // again here once, after all threads have stopped; chunks that were not yet claimed are then skipped. Allocates
  // nothing.
  void run(int64_t chunks, FunctionRef<void(int64_t chunk, int worker)> fn);

  // The same, with `bytes` of memory of its own for each worker (64-byte aligned, content undefined). The team keeps
  // it, for all workers at once: it allocates only when a call asks for more than any call before, or is nested.
  void run_with_scratch(int64_t chunks, size_t bytes, FunctionRef<void(int64_t chunk, int worker, void* scratch)> fn);

 private:
  void run_locked(int64_t chunks, FunctionRef<void(int64_t chunk, int worker)> fn);

  struct State;
  std::unique_ptr<State> state_;
};

// Cores that this process may use; at least 1.
int usable_cores();

// fn(begin, end) over [0, n) in chunks of `grain` (>= 1; the last may be shorter). n <= grain runs inline.
void parallel_rows(Team& team, int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> fn);

}  // namespace nbx
