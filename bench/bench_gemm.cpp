// SPDX-License-Identifier: Apache-2.0
// GEMM beside the machine's peak. "flops" counts CPU time of the calling thread: run with --threads 1 shapes on a quiet
// core and divide by `peak`, the register tile on operands in L1. Names end in m/n/k.
#include "backend/cpu/gemm.h"
#include "backend/cpu/gemm_kernels.h"
#include "backend/cpu/targets.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace {
using namespace nbx;

benchmark::Counter rate(double per_iteration) {
  return benchmark::Counter(per_iteration, benchmark::Counter::kIsIterationInvariantRate,
                            benchmark::Counter::OneK::kIs1000);
}

void peak(benchmark::State& state) {
  const GemmKernels kernels = gemm_kernels();
  const int64_t k = 128;
  const FloatBlock a(kPanelRows * k), b(kPanelCols * k), c(kPanelRows * kPanelCols);
  std::fill_n(a.data(), kPanelRows * k, 0.5f);
  std::fill_n(b.data(), kPanelCols * k, 0.5f);
  for (auto _ : state) {
    kernels.tile(kPanelRows, a.data(), kPanelRows, b.data(), kPanelCols, 0, 1, k, c.data(), 0, false);
    benchmark::DoNotOptimize(c.data()[0]);
  }
  state.counters["flops"] = rate(2.0 * kPanelRows * kPanelCols * k);
}
BENCHMARK(peak);

enum class How { strided, packed_b, packed_a };

void multiply(benchmark::State& state, How how, DType dtype, int threads) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Team team(threads);
  const std::vector<float> a(static_cast<size_t>(m * k), 0.5f), b(static_cast<size_t>(k * n), 0.5f);
  std::vector<float> c(static_cast<size_t>(m * n));
  Gemm g;
  g.m = m, g.n = n, g.k = k;
  g.a = {a.data(), dtype, k, 1};  // half types: the same bytes, half as many of them
  g.b = {b.data(), dtype, n, 1};
  PackedA packed_a;
  PackedB packed_b;
  if (how == How::packed_a) {
    packed_a = PackedA(g.a, m, k);
    g.packed_a = &packed_a;
  }
  if (how == How::packed_b) {
    packed_b = PackedB(g.b, k, n);
    g.packed_b = &packed_b;
  }
  g.c = c.data();
  g.c_row_stride = n;
  for (auto _ : state) gemm(team, g);
  state.counters["flops"] = rate(2.0 * static_cast<double>(m * n * k));
}

void shapes(benchmark::internal::Benchmark* b) {
  for (int64_t s : {512, 768, 1024}) b->Args({s, s, s});
  for (int64_t m : {1, 2, 4, 16, 64})
    for (int64_t nk : {64, 256, 512}) b->Args({m, nk, nk});
}
BENCHMARK_CAPTURE(multiply, packed_b, How::packed_b, DType::float32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(multiply, strided, How::strided, DType::float32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(multiply, packed_a, How::packed_a, DType::float32, 1)->Apply(shapes);
BENCHMARK_CAPTURE(multiply, strided_bf16, How::strided, DType::bfloat16, 1)
    ->Args({512, 512, 512})
    ->Args({16, 256, 256});
BENCHMARK_CAPTURE(multiply, packed_b_2_threads, How::packed_b, DType::float32, 2)
    ->Args({512, 512, 512})
    ->Args({64, 256, 256})
    ->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  // Anything else than the best target: as the first argument.
  if (argc > 1 && argv[1][0] != '-') nbx::set_cpu_target(argv[1]);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
