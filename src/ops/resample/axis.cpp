// SPDX-License-Identifier: Apache-2.0
#include "ops/resample/axis.h"

#include <algorithm>
#include <cmath>

namespace nbx {
namespace {

// Where an output element lies in the input: whole + part, 0 <= part < 1.
struct Place {
  int64_t whole = 0;
  double part = 0;
};

Place place_of(double x) {
  const double whole = std::floor(x);
  return {static_cast<int64_t>(whole), x - whole};
}
// An exact fraction: 3 * (1 / 3) must be 1, not a hair below it, or `floor` picks the wrong neighbour.
Place place_of(int64_t numerator, int64_t denominator) {
  int64_t whole = numerator / denominator, rest = numerator % denominator;
  if (rest < 0) {
    rest += denominator;
    --whole;
  }
  return {whole, static_cast<double>(rest) / static_cast<double>(denominator)};
}

Place coordinate(int64_t i, int64_t in, int64_t out, double scale, Corners corners, double start, double end) {
  const double x = static_cast<double>(i),
               width = scale > 0 ? scale * static_cast<double>(in) : static_cast<double>(out);
  if (corners == Corners::pytorch_half_pixel) {
    if (width == 1) return place_of(-0.5);
    corners = Corners::half_pixel;
  }
  switch (corners) {
    case Corners::align_corners:
      if (width == 1) return {};
      if (scale > 0) return place_of(x * static_cast<double>(in - 1) / (width - 1));
      return out == 1 ? Place{} : place_of(i * (in - 1), out - 1);
    case Corners::asymmetric:
      return scale > 0 ? place_of(x / scale) : place_of(i * in, out);
    case Corners::crop: {
      const double last = static_cast<double>(in - 1);
      return place_of(start * last + (width == 1 ? (end - start) * last / 2 : x * (end - start) * last / (width - 1)));
    }
    default:
      break;
  }
  // Centres: (x + 1/2) in / out - 1/2.
  if (scale <= 0) return place_of((2 * i + 1) * in - out, 2 * out);
  double at = (x + 0.5) / scale - 0.5;
  if (corners == Corners::half_pixel_symmetric)
    at += static_cast<double>(in) / 2 * (1 - static_cast<double>(out) / width);
  return place_of(at);
}

double cubic_weight(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

bool rounds_up(double part, Rounding rounding) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return part > 0.5;
    case Rounding::prefer_ceil:
      return part >= 0.5;
    case Rounding::floor:
      return false;
    case Rounding::ceil:
      return part > 0;
  }
  return false;
}

ResizeAxis sized(int64_t in, int64_t out, int64_t taps) {
  ResizeAxis a;
  a.in = in;
  a.out = out;
  a.taps = taps;
  a.index.resize(static_cast<size_t>(out * taps));
  return a;
}

void finish_moves(ResizeAxis& a) {
  a.same = a.in == a.out;
  for (int64_t i = 0; i < a.out && a.same; ++i) a.same = a.index[static_cast<size_t>(i)] == i;
}

}  // namespace

ResizeAxis resize_axis(int64_t in, int64_t out, double scale, const ResizeRule& rule, double start, double end) {
  const bool nearest = rule.mode == ResizeMode::nearest, crop = rule.corners == Corners::crop;
  const int64_t last = in - 1;
  const double ratio = scale > 0 ? scale : static_cast<double>(out) / static_cast<double>(std::max<int64_t>(in, 1));
  // Antialias widens the filter when it shrinks the input.
  const double squeeze = rule.antialias ? std::min(1.0, ratio) : 1.0;
  const int64_t reach = rule.mode == ResizeMode::cubic ? 2 : 1;
  const int64_t before =
      nearest ? 0 : static_cast<int64_t>(std::floor(-static_cast<double>(reach) / squeeze)) + 1;  // <= 0
  const int64_t taps = nearest ? 1 : 2 - 2 * before;
  ResizeAxis a = sized(in, out, taps);
  if (crop) a.outside.assign(static_cast<size_t>(out), 0);
  if (!nearest) a.weight.resize(static_cast<size_t>(out * taps));

  for (int64_t i = 0; i < out; ++i) {
    Place p = coordinate(i, in, out, scale, rule.corners, start, end);
    if (rule.clamp_below && p.whole < 0) p = {};
    if (crop) a.outside[static_cast<size_t>(i)] = p.whole < 0 || p.whole > last || (p.whole == last && p.part > 0);
    if (nearest) {
      const int64_t at = p.whole + (rounds_up(p.part, rule.rounding) ? 1 : 0);
      a.index[static_cast<size_t>(i)] = static_cast<int32_t>(std::clamp<int64_t>(at, 0, last));
      continue;
    }
    double sum = 0, inside = 0;
    const auto first = static_cast<size_t>(i * taps);
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t at = p.whole + before + k;
      const double distance = (static_cast<double>(before + k) - p.part) * squeeze;
      const double w = reach == 2 ? cubic_weight(distance, rule.cubic_a) : std::max(0.0, 1 - std::fabs(distance));
      const bool is_inside = at >= 0 && at <= last;
      sum += w;
      if (is_inside) inside += w;
      a.index[first + static_cast<size_t>(k)] = static_cast<int32_t>(std::clamp<int64_t>(at, 0, last));
      a.weight[first + static_cast<size_t>(k)] = rule.exclude_outside && !is_inside ? 0 : w;
    }
    const double total = rule.exclude_outside ? inside : sum;
    if (total != 0 && (rule.exclude_outside || rule.antialias))
      for (int64_t k = 0; k < taps; ++k) a.weight[first + static_cast<size_t>(k)] /= total;
  }
  if (nearest) finish_moves(a);
  return a;
}

ResizeAxis aten_nearest_axis(int64_t in, int64_t out, double scale, bool exact) {
  ResizeAxis a = sized(in, out, 1);
  const float step = scale > 0 ? static_cast<float>(1.0 / scale) : static_cast<float>(in) / static_cast<float>(out);
  for (int64_t i = 0; i < out; ++i) {
    const float at = exact ? (static_cast<float>(i) + 0.5f) * step : static_cast<float>(i) * step;
    a.index[static_cast<size_t>(i)] = static_cast<int32_t>(std::min<int64_t>(static_cast<int64_t>(at), in - 1));
  }
  finish_moves(a);
  return a;
}

}  // namespace nbx
