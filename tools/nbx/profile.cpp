// SPDX-License-Identifier: Apache-2.0
// A profiled run as a table: what takes the time, and how near to the machine's limits it is.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backend/cpu/machine.h"
#include "nbx/command.h"

namespace nbx::command {

void print_profile(const std::vector<ProfileEvent>& events, int threads) {
  struct Row {
    double us = 0;
    int64_t count = 0, bytes = 0, flops = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;
  Row all;
  for (const ProfileEvent& e : events)
    for (Row* row : {&rows[{e.op, e.kernel}], &all}) {
      row->us += e.duration_us;
      row->bytes += e.bytes;
      row->flops += e.flops;
      ++row->count;
    }
  std::vector<std::pair<std::pair<std::string, std::string>, Row>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });

  Team team(threads);
  const MachineLimits limits = measure_machine(team);
  const auto line = [&](const std::string& op, const std::string& kernel, const Row& r) {
    const double us = std::max(r.us, 1e-3);
    const double gb_per_s = static_cast<double>(r.bytes) / us / 1e3, gflops = static_cast<double>(r.flops) / us / 1e3;
    const double memory = 100 * gb_per_s / limits.copy_gb_per_s, arithmetic = 100 * gflops / limits.gemm_gflops;
    fmt::print("{:<34} {:<16} {:>5} {:>10.3f} {:>6.1f} {:>8.1f} {:>6.1f} {:>8.1f} {:>6.1f}\n", op, kernel, r.count,
               r.us / 1e3, all.us > 0 ? 100 * r.us / all.us : 0, gb_per_s, memory, gflops, arithmetic);
  };
  fmt::print("{:<34} {:<16} {:>5} {:>10} {:>6} {:>8} {:>6} {:>8} {:>6}\n", "op", "kernel", "calls", "ms", "%", "GB/s",
             "% copy", "GFLOPS", "% gemm");
  for (const auto& [name, row] : sorted) line(name.first, name.second, row);
  line("all", "", all);
  fmt::print("limits measured now, {} threads: copy {:.1f} GB/s, gemm {:.1f} GFLOPS, a call of the team {:.2f} us\n",
             threads, limits.copy_gb_per_s, limits.gemm_gflops, limits.team_latency_us);
  fmt::print("data that stays in a cache may pass 100 % of copy\n");
}

}  // namespace nbx::command
