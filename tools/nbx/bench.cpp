// SPDX-License-Identifier: Apache-2.0
// nbx bench machine: the limits that percentages in profiles refer to.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backend/cpu/machine.h"
#include "nbx/command.h"

namespace nbx::command {

int bench_machine(int threads, bool json) {
  const int used = threads > 0 ? threads : usable_cores();
  Team team(used);
  const MachineLimits limits = measure_machine(team);
  if (json) {
    Json j;
    j["threads"] = used;
    j["copy_gb_per_s"] = limits.copy_gb_per_s;
    j["gemm_gflops"] = limits.gemm_gflops;
    j["team_latency_us"] = limits.team_latency_us;
    fmt::print("{}\n", j.dump(1));
    return 0;
  }
  fmt::print(
      "{} threads\ncopy     {:8.1f} GB/s (read plus written)\ngemm     {:8.1f} GFLOPS (float32, 768 cubed)\nlatency  "
      "{:8.2f} us (an empty call of the team)\n",
      used, limits.copy_gb_per_s, limits.gemm_gflops, limits.team_latency_us);
  return 0;
}

}  // namespace nbx::command
