// SPDX-License-Identifier: Apache-2.0
// Convolutions of mobile OCR nets and of audio models, single-threaded: "flops" is per CPU second of the calling
// thread; compare with `peak` of bench-bench_gemm. Depthwise ones also give "bytes" (input + output).
#include "backend/cpu/conv.h"
#include "backend/cpu/rnn.h"
#include "backend/cpu/targets.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace {
using namespace nbx;

benchmark::Counter rate(double per_iteration) {
  return benchmark::Counter(per_iteration, benchmark::Counter::kIsIterationInvariantRate,
                            benchmark::Counter::OneK::kIs1000);
}

struct Shape {
  const char* name;
  int64_t cin, cout, groups, h, w, kh, kw, sh, sw;
  bool transposed = false;
};

const Shape kShapes[] = {
    {"pointwise/24-48/96x160", 24, 48, 1, 96, 160, 1, 1, 1, 1},
    {"pointwise/96-96/48x80", 96, 96, 1, 48, 80, 1, 1, 1, 1},
    {"pointwise/192-192/24x40", 192, 192, 1, 24, 40, 1, 1, 1, 1},
    {"pointwise/480-480/12x40", 480, 480, 1, 12, 40, 1, 1, 1, 1},
    {"pointwise/480-120/1x1", 480, 120, 1, 1, 1, 1, 1, 1, 1},
    {"depthwise3/48/96x160", 48, 48, 48, 96, 160, 3, 3, 1, 1},
    {"depthwise3/96/48x80", 96, 96, 96, 48, 80, 3, 3, 1, 1},
    {"depthwise3s2/96/48x80", 96, 96, 96, 48, 80, 3, 3, 2, 2},
    {"depthwise5/192/24x40", 192, 192, 192, 24, 40, 5, 5, 1, 1},
    {"depthwise5/480/12x20", 480, 480, 480, 12, 20, 5, 5, 1, 1},
    {"dense3s2/3-16/192x320", 3, 16, 1, 192, 320, 3, 3, 2, 2},
    {"dense3/24-24/96x160", 24, 24, 1, 96, 160, 3, 3, 1, 1},
    {"dense3/96-96/24x40", 96, 96, 1, 24, 40, 3, 3, 1, 1},
    {"dense9/96-24/48x80", 96, 24, 1, 48, 80, 9, 9, 1, 1},
    {"audio/1-258/k256s128", 1, 258, 1, 1, 16000, 1, 256, 1, 128},
    {"audio/1-36/k256s1", 1, 36, 1, 1, 8000, 1, 256, 1, 1},
    {"audio/8-16/5x5s3", 8, 16, 1, 86, 264, 5, 5, 1, 3},
    {"transposed2s2/24-24/48x80", 24, 24, 1, 48, 80, 2, 2, 2, 2, true},
};

void convolve(benchmark::State& state, const Shape& s) {
  Team team(1);
  ConvGeometry g;
  g.in_channels = s.cin, g.out_channels = s.cout, g.groups = s.groups;
  g.kernel = {1, s.kh, s.kw};
  g.stride = {1, s.sh, s.sw};
  if (!s.transposed) g.pad_begin = g.pad_end = {0, s.kh / 2, s.kw / 2};
  g.transposed = s.transposed;
  const Dims3 in{1, s.h, s.w}, out = g.out(in);
  const int64_t taps = s.kh * s.kw;
  const std::vector<float> x(static_cast<size_t>(s.cin * s.h * s.w), 0.5f),
      w(static_cast<size_t>(s.cin * s.cout / s.groups * taps), 0.5f);
  std::vector<float> y(static_cast<size_t>(s.cout * out[1] * out[2]));
  const std::vector<float> bias(static_cast<size_t>(s.cout), 0.1f);
  const PackedConv packed(g, w.data(), DType::float32);
  Conv c;
  c.weights = &packed, c.batch = 1, c.in = in, c.x = x.data(), c.y = y.data(), c.bias = bias.data();
  c.act = {ActivationKind::relu};
  for (auto _ : state) conv(team, c);
  const double positions = static_cast<double>(s.transposed ? s.h * s.w : out[1] * out[2]);
  const double macs = positions * static_cast<double>(s.cout * s.cin / s.groups * taps);
  if (s.groups > 1) state.counters["bytes"] = rate(4.0 * static_cast<double>(x.size() + y.size()));
  state.counters["flops"] = rate(2.0 * macs);
}

void lstm_steps(benchmark::State& state) {
  const int64_t hidden = state.range(0), steps = 16;
  Team team(1);
  const std::vector<float> w(static_cast<size_t>(4 * hidden * hidden), 0.01f);
  RecurrentPack pack;
  pack.input = pack.hidden = hidden;
  pack.w = pack.r = w.data();
  const RecurrentWeights weights(pack);
  const std::vector<float> x(static_cast<size_t>(steps * hidden), 0.5f);
  std::vector<float> y(x.size()), workspace(static_cast<size_t>(recurrent_workspace_floats(weights, steps, 1)));
  Recurrent a;
  a.weights = &weights, a.steps = steps, a.batch = 1;
  a.x = x.data(), a.x_step = hidden, a.x_batch = hidden;
  a.y = y.data(), a.y_step = hidden, a.y_batch = hidden;
  a.workspace = workspace.data();
  for (auto _ : state) recurrent(team, a);
  state.counters["flops"] = rate(2.0 * static_cast<double>(steps * 8 * hidden * hidden));
}
BENCHMARK(lstm_steps)->Arg(64)->Arg(128)->Arg(256);

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') nbx::set_cpu_target(argv[1]);  // another target than the best
  for (const Shape& s : kShapes)
    benchmark::RegisterBenchmark(s.name, [&s](benchmark::State& state) { convolve(state, s); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
