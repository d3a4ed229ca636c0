// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/cpu/gemm.h"

namespace nbx {

namespace {

// The shortest of `tries` calls, in seconds.
double best(int tries, FunctionRef<void()> fn) {
  double shortest = 1e30;
  for (int i = 0; i < tries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, spent.count());
  }
  return std::max(shortest, 1e-9);
}

}  // namespace

MachineLimits measure_machine(Team& team) {
  MachineLimits limits;
  {
    constexpr int64_t kFloats = int64_t{16} << 20, kGrain = int64_t{1} << 18;
    FloatBlock from(kFloats), to(kFloats);
    std::fill_n(from.data(), kFloats, 1.0f);  // pages that were never written are all the same one
    const double seconds = best(5, [&] {
      parallel_rows(team, kFloats, kGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin) * sizeof(float));
      });
    });
    limits.copy_gb_per_s = 2.0 * static_cast<double>(kFloats) * sizeof(float) / seconds / 1e9;
  }
  {
    constexpr int64_t n = 768;
    FloatBlock a(n * n), b(n * n), c(n * n);
    std::fill_n(a.data(), n * n, 0.5f);
    std::fill_n(b.data(), n * n, 0.25f);
    const PackedB packed({b.data(), DType::float32, n, 1, 0}, n, n, &team);
    Gemm g;
    g.m = g.n = g.k = n;
    g.a = {a.data(), DType::float32, n, 1, 0};
    g.packed_b = &packed;
    g.c = c.data();
    g.c_row_stride = n;
    const double seconds = best(8, [&] { gemm(team, g); });
    limits.gemm_gflops = 2.0 * static_cast<double>(n * n * n) / seconds / 1e9;
  }
  limits.team_latency_us = 1e6 * best(200, [&] { team.run(team.threads(), [](int64_t, int) {}); });
  return limits;
}

}  // namespace nbx
