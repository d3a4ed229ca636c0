// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/team.h"

#include "base/check.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace nbx {
namespace {

using Fn = FunctionRef<void(int64_t, int)>;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Which team's chunk this thread is in, for nested calls.
struct Here {
  const void* team = nullptr;
  int worker = 0;
};
thread_local Here here;

struct Inside {
  Inside(const void* team, int worker) : before(here) { here = {team, worker}; }
  ~Inside() { here = before; }
  Here before;
};

// Programs launch kernels a few microseconds apart; a futex wake costs about five. So a worker looks out for the next
// job for a while before it sleeps. The clock is read once in 16 pauses (a pause is 40 to 140 cycles).
template <class Done>
bool spin_until(std::chrono::nanoseconds limit, Done done) {
  if (done()) return true;
  if (limit.count() == 0) return false;
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      relax();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() - start < limit);
  return false;
}

struct FreeBlock {
  void operator()(void* p) const { ::operator delete (p, std::align_val_t{64}); }
};
using Block = std::unique_ptr<void, FreeBlock>;
Block make_block(size_t bytes) { return Block(::operator new (bytes, std::align_val_t{64})); }

}  // namespace

struct Team::State {
  int threads = 1;
  std::chrono::nanoseconds spin{0};
  std::mutex turn;  // one job at a time
  Block scratch;    // scratch_stride bytes a worker
  size_t scratch_stride = 0;

  // The job; written by the caller while `open` is false and nobody is inside.
  const Fn* fn = nullptr;
  int64_t chunks = 0;
  std::exception_ptr error;

  // Each on its own cache line: `next` is hammered by all.
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<bool> open{false};
  std::atomic<bool> failed{false};
  alignas(64) std::atomic<uint32_t> inside{0};  // workers that may touch the job
  alignas(64) std::atomic<uint32_t> epoch{0};   // bumped for each job and to stop
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;

  void work(int worker) {
    for (;;) {
      const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      try {
        (*fn)(chunk, worker);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        next.store(chunks, std::memory_order_relaxed);
      }
    }
  }

  void loop(int worker) {
    here = {this, worker};
    uint32_t seen = 0;
    for (;;) {
      const auto news = [&] { return epoch.load(std::memory_order_relaxed) != seen; };
      if (!spin_until(spin, news)) {
        sleepers.fetch_add(1);
        epoch.wait(seen);
        sleepers.fetch_sub(1);
      }
      seen = epoch.load();
      if (stop.load()) return;
      // Enter, then look whether the job is still open; the caller closes it, then looks whether anybody is inside.
      // Both orders are sequentially consistent, so one sees the other, and a late worker never touches a job that has
      // ended.
      inside.fetch_add(1);
      if (open.load()) work(worker);
      if (inside.fetch_sub(1) == 1 && !open.load()) inside.notify_all();
    }
  }

  void finish() {
    for (;;) {
      if (spin_until(spin, [&] { return inside.load() == 0; })) return;
      const uint32_t now = inside.load();
      if (now == 0) return;
      inside.wait(now);
    }
  }

  void shut_down() {
    stop.store(true);
    epoch.fetch_add(1);
    epoch.notify_all();
    for (std::thread& t : workers) t.join();
  }
};

Team::Team(int threads) : state_(new State) {
  require(threads >= 1 && threads <= 1024, Code::value, "threads is {}; pass a number from 1 to 1024", threads);
  State& s = *state_;
  s.threads = threads;
  // More threads than cores: spinning would steal the core from the thread that is waited for.
  if (static_cast<unsigned>(threads) <= std::max(1u, std::thread::hardware_concurrency()))
    s.spin = std::chrono::microseconds(40);
  s.workers.reserve(static_cast<size_t>(threads - 1));
  try {
    for (int w = 1; w < threads; ++w) s.workers.emplace_back([&s, w] { s.loop(w); });
  } catch (const std::system_error& e) {
    s.shut_down();
    fail(Code::value, "cannot start thread {} of {}: {}; use fewer threads", s.workers.size() + 2, threads, e.what());
  }
}

Team::~Team() { state_->shut_down(); }

int Team::threads() const { return state_->threads; }

void Team::run(int64_t chunks, FunctionRef<void(int64_t, int)> fn) {
  if (chunks <= 0) return;
  State& s = *state_;
  if (here.team == &s) {
    for (int64_t c = 0; c < chunks; ++c) fn(c, here.worker);
    return;
  }
  const std::lock_guard<std::mutex> turn(s.turn);
  run_locked(chunks, fn);
}

void Team::run_with_scratch(int64_t chunks, size_t bytes, FunctionRef<void(int64_t, int, void*)> fn) {
  if (chunks <= 0) return;
  State& s = *state_;
  bytes = (bytes + 63) / 64 * 64;
  if (here.team == &s) {
    const Block own = make_block(bytes);
    for (int64_t c = 0; c < chunks; ++c) fn(c, here.worker, own.get());
    return;
  }
  const std::lock_guard<std::mutex> turn(s.turn);
  if (s.scratch_stride < bytes || !s.scratch) {
    s.scratch_stride = 0;
    s.scratch.reset();
    s.scratch = make_block(bytes * static_cast<size_t>(s.threads));
    s.scratch_stride = bytes;
  }
  char* base = static_cast<char*>(s.scratch.get());
  const size_t stride = s.scratch_stride;
  run_locked(chunks,
             [&](int64_t chunk, int worker) { fn(chunk, worker, base + stride * static_cast<size_t>(worker)); });
}

void Team::run_locked(int64_t chunks, FunctionRef<void(int64_t, int)> fn) {
  State& s = *state_;
  const Inside mark(&s, 0);
  if (chunks == 1 || s.threads == 1) {
    for (int64_t c = 0; c < chunks; ++c) fn(c, 0);
    return;
  }

  s.fn = &fn;
  s.chunks = chunks;
  s.failed.store(false, std::memory_order_relaxed);
  s.next.store(0, std::memory_order_relaxed);
  s.open.store(true);
  s.epoch.fetch_add(1);
  const uint32_t asleep = s.sleepers.load();
  if (asleep > 0) {
    if (chunks - 1 < asleep) {
      for (int64_t i = 1; i < chunks; ++i) s.epoch.notify_one();
    } else {
      s.epoch.notify_all();
    }
  }
  s.work(0);
  s.open.store(false);
  s.finish();
  if (s.failed.load()) {
    std::exception_ptr error;
    std::swap(error, s.error);
    std::rethrow_exception(error);
  }
}

void parallel_rows(Team& team, int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n <= grain) return fn(0, n);
  team.run((n + grain - 1) / grain, [&](int64_t chunk, int) {
    const int64_t begin = chunk * grain;
    fn(begin, std::min(n, begin + grain));
  });
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace nbx
