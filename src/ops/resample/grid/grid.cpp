// SPDX-License-Identifier: Apache-2.0
#include "ops/resample/grid/grid.h"

#include <algorithm>
#include <cmath>

#include "ops/reduce/blocks.h"

namespace nbx {

using Mode = GridSpec::Mode;
using Padding = GridSpec::Padding;

GridSpec grid_spec(const Args& a) {
  const Meta &x = a.tensor("input"), &grid = a.tensor("grid");
  const std::string op = a.op();
  require(is_floating(x.dtype) && is_floating(grid.dtype), Code::dtype, "{}: input {} and grid {} must be floating", op, to_string(x), to_string(grid));
  require(x.rank() == 4 && grid.rank() == 4 && grid.shape[3] == 2 && grid.shape[0] == x.shape[0], Code::shape,
          "{}: input is {}, grid is {}; they must be [N, C, H, W] and [N, H', W', 2]", op, to_string(x), to_string(grid));
  const int64_t mode = a.integer("interpolation_mode"), padding = a.integer("padding_mode");
  require(mode >= 0 && mode <= 2, Code::value, "{}: interpolation_mode is {}; use 0 (bilinear), 1 (nearest) or 2 (bicubic)", op, mode);
  require(padding >= 0 && padding <= 2, Code::value, "{}: padding_mode is {}; use 0 (zeros), 1 (border) or 2 (reflection)", op, padding);
  GridSpec s;
  s.mode = static_cast<Mode>(mode);
  s.padding = static_cast<Padding>(padding);
  s.align = a.flag("align_corners");
  s.n = x.shape[0];
  s.channels = x.shape[1];
  s.in_h = x.shape[2];
  s.in_w = x.shape[3];
  s.out_h = grid.shape[1];
  s.out_w = grid.shape[2];
  require(s.in_h > 0 && s.in_w > 0, Code::shape, "{}: input {} has an empty spatial dim", op, to_string(x));
  return s;
}

namespace {

// -1 and 1 are the centres of the outer elements (align) or their outer edges.
double unnormalised(double v, int64_t size, bool align) {
  const double n = static_cast<double>(size);
  return align ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
}

double reflected(double v, double low, double high) {
  const double span = high - low;
  if (span == 0) return 0;
  v = std::fabs(v - low);
  const double extra = std::fmod(v, span), flips = std::floor(v / span);
  return std::fmod(flips, 2) == 0 ? extra + low : span - extra + low;
}

double padded(double v, int64_t size, const GridSpec& s) {
  const double last = static_cast<double>(size - 1);
  if (s.padding == Padding::reflection) v = s.align ? reflected(v, 0, last) : reflected(v, -0.5, last + 0.5);
  if (s.padding != Padding::zeros) v = std::fmin(last, std::fmax(v, 0));  // NaN becomes 0
  return v;
}

// Inside [-2, size + 1], so that it fits an integer; beyond that nothing is near the input.
double limited(double v, int64_t size) {
  if (std::isnan(v)) return -2;
  return std::clamp(v, -100.0, static_cast<double>(size) + 100);
}

void cubic_weights(double t, double* w) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  w[0] = far(t + 1);
  w[1] = near(t);
  w[2] = near(1 - t);
  w[3] = far(2 - t);
}

}  // namespace

GridTaps grid_taps(const GridSpec& s, double gx, double gy) {
  GridTaps t;
  const auto add = [&](double x, double y, double w) {
    const auto ix = static_cast<int64_t>(x), iy = static_cast<int64_t>(y);
    const bool inside = x >= 0 && y >= 0 && ix < s.in_w && iy < s.in_h;
    t.at[t.count] = inside ? iy * s.in_w + ix : -1;
    t.weight[t.count++] = w;
  };
  double x = unnormalised(gx, s.in_w, s.align), y = unnormalised(gy, s.in_h, s.align);
  if (s.mode == Mode::bicubic) {  // every tap is padded by itself
    x = limited(x, s.in_w);
    y = limited(y, s.in_h);
    double wx[4], wy[4];
    cubic_weights(x - std::floor(x), wx);
    cubic_weights(y - std::floor(y), wy);
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i)
        add(padded(std::floor(x) - 1 + i, s.in_w, s), padded(std::floor(y) - 1 + j, s.in_h, s), wx[i] * wy[j]);
    return t;
  }
  if (s.mode == Mode::bilinear && s.padding == Padding::zeros && !(std::isfinite(x) && std::isfinite(y))) {
    t.at[0] = 0;  // as ATen: the weights are inf - inf
    t.weight[0] = NAN;
    t.count = 1;
    return t;
  }
  x = limited(padded(x, s.in_w, s), s.in_w);
  y = limited(padded(y, s.in_h, s), s.in_h);
  if (s.mode == Mode::nearest) {
    add(std::nearbyint(x), std::nearbyint(y), 1);
    return t;
  }
  const double x0 = std::floor(x), y0 = std::floor(y), fx = x - x0, fy = y - y0;
  add(x0, y0, (1 - fx) * (1 - fy));
  add(x0 + 1, y0, fx * (1 - fy));
  add(x0, y0 + 1, (1 - fx) * fy);
  add(x0 + 1, y0 + 1, fx * fy);
  return t;
}

namespace {

template <class A>
struct Job {
  GridSpec s;
  Source<A> source;
  Source<double> grid;
  Sink<A> sink;
  int input, points;

  void operator()(const Run& run) const {
    const int64_t in_plane = s.in_h * s.in_w, out_plane = s.out_h * s.out_w;
    const int64_t work = std::max<int64_t>(1, s.out_w * s.channels);
    parallel_rows(run.team, s.n * s.out_h, std::max<int64_t>(1, 8192 / work), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t n = r / s.out_h;
        for (int64_t w = 0; w < s.out_w; ++w) {
          double point[2];
          grid.copy(run.inputs[points], (r * s.out_w + w) * 2, 1, 2, point);
          const GridTaps t = grid_taps(s, point[0], point[1]);
          for (int64_t c = 0; c < s.channels; ++c) {
            double sum = 0;
            for (int k = 0; k < t.count; ++k) {
              if (t.at[k] < 0) continue;
              A v;
              source.copy(run.inputs[input], (n * s.channels + c) * in_plane + t.at[k], 1, 1, &v);
              sum += t.weight[k] * static_cast<double>(v);
            }
            const A result = static_cast<A>(sum);
            sink.write(&result, 1, run.outputs[0], (n * s.channels + c) * out_plane + r % s.out_h * s.out_w + w);
          }
        }
      }
    });
  }
};

}  // namespace

Bound bind_grid(const Args& a, const Metas& outputs) {
  const GridSpec s = grid_spec(a);
  const Meta &x = a.tensor("input"), &grid = a.tensor("grid");
  return in_float_arithmetic(arithmetic_of(x.dtype, "grid_sampler_2d"), [&](auto zero) -> Bound {
    using A = decltype(zero);
    return Job<A>{s, Source<A>(x.dtype), Source<double>(grid.dtype), Sink<A>(outputs[0].dtype), a.operand("input"), a.operand("grid")};
  });
}

}  // namespace nbx
