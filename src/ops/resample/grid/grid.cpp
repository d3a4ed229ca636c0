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
  require(is_floating(x.dtype) && is_floating(grid.dtype), Code::dtype, "{}: input {} and grid {} must be floating", op,
          to_string(x), to_string(grid));
  GridSpec s;
  s.volume = x.rank() == 5 && op != "grid_sampler_2d";
  const int64_t spatial = s.volume ? 3 : 2;
  require(x.rank() == spatial + 2 && op != (s.volume ? "grid_sampler_2d" : "grid_sampler_3d") &&
              grid.rank() == x.rank() && grid.shape.back() == spatial && grid.shape[0] == x.shape[0],
          Code::shape,
          "{}: input is {}, grid is {}; they must be [N, C, H, W] and [N, H', W', 2], or with a depth [N, C, D, H, W] "
          "and [N, D', H', W', 3]",
          op, to_string(x), to_string(grid));
  const int64_t mode = a.integer("interpolation_mode"), padding = a.integer("padding_mode");
  require(mode >= 0 && mode <= 2, Code::value,
          "{}: interpolation_mode is {}; use 0 (bilinear), 1 (nearest) or 2 (bicubic)", op, mode);
  require(padding >= 0 && padding <= 2, Code::value,
          "{}: padding_mode is {}; use 0 (zeros), 1 (border) or 2 (reflection)", op, padding);
  require(!s.volume || mode != 2, Code::unsupported, "{}: bicubic works on pictures, not on volumes; use 0 or 1", op);
  s.mode = static_cast<Mode>(mode);
  s.padding = static_cast<Padding>(padding);
  s.align = a.flag("align_corners");
  s.n = x.shape[0];
  s.channels = x.shape[1];
  const size_t last = x.shape.size() - 1;
  s.in_w = x.shape[last];
  s.in_h = x.shape[last - 1];
  s.out_w = grid.shape[last - 1];
  s.out_h = grid.shape[last - 2];
  if (s.volume) {
    s.in_d = x.shape[2];
    s.out_d = grid.shape[1];
  }
  require(s.in_d > 0 && s.in_h > 0 && s.in_w > 0, Code::shape, "{}: input {} has an empty spatial dim", op,
          to_string(x));
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

GridTaps grid_taps(const GridSpec& s, double gx, double gy, double gz) {
  GridTaps t;
  const auto add = [&](double x, double y, double z, double w) {
    const auto ix = static_cast<int64_t>(x), iy = static_cast<int64_t>(y), iz = static_cast<int64_t>(z);
    const bool inside = x >= 0 && y >= 0 && z >= 0 && ix < s.in_w && iy < s.in_h && iz < s.in_d;
    t.at[t.count] = inside ? (iz * s.in_h + iy) * s.in_w + ix : -1;
    t.weight[t.count++] = w;
  };
  double x = unnormalised(gx, s.in_w, s.align), y = unnormalised(gy, s.in_h, s.align);
  double z = s.volume ? unnormalised(gz, s.in_d, s.align) : 0;
  if (s.mode == Mode::bicubic) {  // every tap is padded by itself
    x = limited(x, s.in_w);
    y = limited(y, s.in_h);
    double wx[4], wy[4];
    cubic_weights(x - std::floor(x), wx);
    cubic_weights(y - std::floor(y), wy);
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i)
        add(padded(std::floor(x) - 1 + i, s.in_w, s), padded(std::floor(y) - 1 + j, s.in_h, s), 0, wx[i] * wy[j]);
    return t;
  }
  if (s.mode == Mode::bilinear && s.padding == Padding::zeros &&
      !(std::isfinite(x) && std::isfinite(y) && std::isfinite(z))) {
    t.at[0] = 0;  // as ATen: the weights are inf - inf
    t.weight[0] = NAN;
    t.count = 1;
    return t;
  }
  x = limited(padded(x, s.in_w, s), s.in_w);
  y = limited(padded(y, s.in_h, s), s.in_h);
  if (s.volume) z = limited(padded(z, s.in_d, s), s.in_d);
  if (s.mode == Mode::nearest) {
    add(std::nearbyint(x), std::nearbyint(y), std::nearbyint(z), 1);
    return t;
  }
  const double x0 = std::floor(x), y0 = std::floor(y), z0 = std::floor(z);
  for (int k = 0; k < (s.volume ? 2 : 1); ++k)
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i) {
        const double wx = i ? x - x0 : 1 - (x - x0), wy = j ? y - y0 : 1 - (y - y0), wz = k ? z - z0 : 1 - (z - z0);
        add(x0 + i, y0 + j, z0 + k, wx * wy * wz);
      }
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
    const int64_t in_plane = s.in_d * s.in_h * s.in_w, rows = s.out_d * s.out_h, out_plane = rows * s.out_w;
    const int64_t point_size = s.volume ? 3 : 2;
    const int64_t work = std::max<int64_t>(1, s.out_w * s.channels);
    parallel_rows(run.team, s.n * rows, std::max<int64_t>(1, 8192 / work), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t n = r / rows;
        for (int64_t w = 0; w < s.out_w; ++w) {
          double point[3] = {};
          grid.copy(run.inputs[points], (r * s.out_w + w) * point_size, 1, point_size, point);
          const GridTaps t = grid_taps(s, point[0], point[1], point[2]);
          for (int64_t c = 0; c < s.channels; ++c) {
            double sum = 0;
            for (int k = 0; k < t.count; ++k) {
              if (t.at[k] < 0) continue;
              A v;
              source.copy(run.inputs[input], (n * s.channels + c) * in_plane + t.at[k], 1, 1, &v);
              sum += t.weight[k] * static_cast<double>(v);
            }
            const A result = static_cast<A>(sum);
            sink.write(&result, 1, run.outputs[0], (n * s.channels + c) * out_plane + r % rows * s.out_w + w);
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
    return Job<A>{s,
                  Source<A>(x.dtype),
                  Source<double>(grid.dtype),
                  Sink<A>(outputs[0].dtype),
                  a.operand("input"),
                  a.operand("grid")};
  });
}

}  // namespace nbx
