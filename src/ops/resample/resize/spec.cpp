// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reduce/dims.h"
#include "ops/resample/resize/resize.h"
#include "shape/strides.h"

namespace nbx {
namespace {

template <class T>
T choice(const Args& a, const char* param, std::initializer_list<std::pair<const char*, T>> known) {
  const std::string text = a.text(param);
  std::string names;
  for (const auto& [label, value] : known) {
    if (text == label) return value;
    names += (names.empty() ? "" : ", ") + std::string(label);
  }
  fail(Code::value, "{}: {} is '{}'; use {}", a.op(), param, text, names);
}

int64_t scaled(const Args& a, int64_t in, double scale) {
  require(scale > 0 && std::isfinite(scale), Code::value, "{}: scale {} must be a positive number", a.op(), scale);
  const double out = std::floor(static_cast<double>(in) * scale);
  require(out < 2147483648.0, Code::shape, "{}: {} times {} is {}; a dim may have at most 2147483647 elements", a.op(),
          in, scale, out);
  return static_cast<int64_t>(out);
}

// ATen interpolates bytes with 16-bit weights, as fine as the largest one allows.
void quantise(ResizeAxis& axis) {
  if (axis.weight.empty()) return;
  const double largest = *std::max_element(axis.weight.begin(), axis.weight.end());
  int bits = 0;
  while (bits < 22 && std::floor(0.5 + std::ldexp(largest, bits + 1)) < 32768) ++bits;
  for (double& w : axis.weight) w = std::ldexp(std::trunc(std::ldexp(w, bits) + (w < 0 ? -0.5 : 0.5)), -bits);
}

ResizeSpec aten_spec(const Args& a, const Meta& x, bool with_tables) {
  const std::string op = a.op();
  const auto has = [&](const char* param) { return a.schema().find(param) >= 0; };
  const size_t spatial = op.find("1d") != std::string::npos ? 1 : op.find("2d") != std::string::npos ? 2 : 3;
  require(x.rank() == static_cast<int64_t>(spatial) + 2, Code::shape,
          "{}: input is {}; it needs batch, channels and {} spatial dims", op, to_string(x), spatial);
  Ints sizes = a.ints("output_size");
  Doubles scales;
  if (has("scale_factors")) scales = a.numbers("scale_factors");
  for (const char* param : {"scales", "scales_d", "scales_h", "scales_w"})
    if (has(param)) scales.push_back(a.has(param) ? a.number(param) : 0);
  require(sizes.empty() || sizes.size() == spatial, Code::value, "{}: output_size is {}; {} values are needed", op,
          to_string(sizes), spatial);
  require(scales.empty() || scales.size() == spatial, Code::value, "{}: {} scales given, {} are needed", op,
          scales.size(), spatial);
  require(!sizes.empty() || !scales.empty(), Code::value, "{}: pass output_size or scale_factors", op);
  require(!has("scale_factors") || sizes.empty() || scales.empty(), Code::value,
          "{}: output_size {} and scale_factors are both given; pass one of them", op, to_string(sizes));
  if (scales.empty()) scales.assign(spatial, 0);

  const bool nearest = op.find("nearest") != std::string::npos, exact = op.find("exact") != std::string::npos;
  ResizeRule rule;
  rule.mode = nearest                                 ? ResizeMode::nearest
              : op.find("cubic") != std::string::npos ? ResizeMode::cubic
                                                      : ResizeMode::linear;
  const bool align = !nearest && a.flag("align_corners");
  rule.corners = align ? Corners::align_corners : Corners::half_pixel;
  rule.clamp_below = rule.mode == ResizeMode::linear;

  ResizeSpec s;
  s.moves = nearest;
  s.rounds_each = x.dtype == DType::uint8;
  s.out = x.shape;
  s.axes.resize(x.shape.size());
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = x.shape[i + 2], out = sizes.empty() ? scaled(a, in, scales[i]) : sizes[i];
    require(in > 0 && out > 0 && out < 2147483648, Code::shape,
            "{}: input {} and output size {} of spatial dim {} must be positive (input: {})", op, in, out, i,
            to_string(x));
    s.out[i + 2] = out;
    if (!with_tables) continue;
    s.axes[i + 2] =
        nearest ? aten_nearest_axis(in, out, scales[i], exact) : resize_axis(in, out, align ? 0 : scales[i], rule);
    if (s.rounds_each) quantise(s.axes[i + 2]);
  }
  return s;
}

ResizeSpec onnx_spec(const Args& a, const Meta& x, bool with_tables) {
  const std::string op = a.op();
  ResizeRule rule;
  rule.mode = choice<ResizeMode>(
      a, "mode", {{"nearest", ResizeMode::nearest}, {"linear", ResizeMode::linear}, {"cubic", ResizeMode::cubic}});
  rule.corners = choice<Corners>(a, "coordinates",
                                 {{"half_pixel", Corners::half_pixel},
                                  {"half_pixel_symmetric", Corners::half_pixel_symmetric},
                                  {"pytorch_half_pixel", Corners::pytorch_half_pixel},
                                  {"align_corners", Corners::align_corners},
                                  {"asymmetric", Corners::asymmetric},
                                  {"tf_half_pixel_for_nn", Corners::half_pixel},
                                  {"tf_crop_and_resize", Corners::crop}});
  rule.rounding = choice<Rounding>(a, "nearest_mode",
                                   {{"round_prefer_floor", Rounding::prefer_floor},
                                    {"round_prefer_ceil", Rounding::prefer_ceil},
                                    {"floor", Rounding::floor},
                                    {"ceil", Rounding::ceil}});
  rule.cubic_a = a.number("cubic_a");
  rule.exclude_outside = a.flag("exclude_outside");
  rule.antialias = a.flag("antialias") && rule.mode != ResizeMode::nearest;

  Ints axes;
  for (const int64_t d : a.ints("axes")) axes.push_back(wrap_dim(d, x.rank(), op));
  dim_mask(axes, x.rank(), op);
  if (axes.empty())
    for (int64_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  Doubles scales = a.numbers("scales");
  Ints sizes = a.ints("sizes");
  const Doubles roi = a.numbers("roi");
  require(scales.empty() || sizes.empty(), Code::value, "{}: both scales and sizes are given; pass one of them", op);
  require(scales.empty() ? sizes.size() == axes.size() : scales.size() == axes.size(), Code::value,
          "{}: {} scales and {} sizes for {} axes of {}; pass one a axis", op, scales.size(), sizes.size(), axes.size(),
          to_string(x));
  if (rule.corners == Corners::crop)
    require(roi.size() == 2 * axes.size(), Code::value, "{}: roi has {} values, {} axes need {}", op, roi.size(),
            axes.size(), 2 * axes.size());

  const std::string policy = a.text("keep_aspect");
  require(policy == "stretch" || policy == "not_larger" || policy == "not_smaller", Code::value,
          "{}: keep_aspect_ratio_policy is '{}'; use stretch, not_larger or not_smaller", op, policy);
  double common = 0;
  if (!sizes.empty() && policy != "stretch") {
    for (size_t i = 0; i < axes.size(); ++i) {
      const double ratio = static_cast<double>(sizes[i]) / static_cast<double>(x.shape[static_cast<size_t>(axes[i])]);
      common = i == 0 ? ratio : policy == "not_larger" ? std::min(common, ratio) : std::max(common, ratio);
    }
  }
  ResizeSpec s;
  s.moves = rule.mode == ResizeMode::nearest;
  s.extrapolation = a.number("extrapolation");
  s.out = x.shape;
  s.axes.resize(x.shape.size());
  for (size_t d = 0; d < x.shape.size(); ++d) {
    s.axes[d].in = s.axes[d].out = x.shape[d];
    s.axes[d].same = true;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    const int64_t in = x.shape[d];
    double scale = scales.empty() ? common : scales[i];
    int64_t out = scales.empty() ? sizes[i] : scaled(a, in, scale);
    if (scales.empty() && common > 0) out = static_cast<int64_t>(std::floor(common * static_cast<double>(in) + 0.5));
    require(out >= 0 && out < 2147483648, Code::shape, "{}: size {} of dim {} is not possible", op, out, d);
    require(in > 0 || out == 0, Code::shape, "{}: dim {} of {} is empty and cannot become {}", op, d, to_string(x),
            out);
    const double start = roi.size() == 2 * axes.size() ? roi[i] : 0,
                 end = roi.size() == 2 * axes.size() ? roi[i + axes.size()] : 1;
    const bool whole = rule.corners != Corners::crop || (start == 0 && end == 1);
    s.out[d] = out;
    if (in == out && (scale == 0 || scale == 1) && whole) continue;  // untouched
    if (with_tables) s.axes[d] = resize_axis(in, out, scale, rule, start, end);
  }
  return s;
}

}  // namespace

ResizeSpec resize_spec(const Args& a, bool with_tables) {
  const Meta& x = a.operands()[0];
  require(!is_complex(x.dtype), Code::dtype, "{}: {} is not supported", a.op(), to_string(x));
  ResizeSpec s = a.op() == "resize" ? onnx_spec(a, x, with_tables) : aten_spec(a, x, with_tables);
  for (size_t d = 0; d < s.axes.size(); ++d) {
    if (s.axes[d].index.empty()) s.axes[d].in = s.axes[d].out = x.shape[d];
    if (s.axes[d].index.empty()) s.axes[d].same = true;
  }
  return s;
}

}  // namespace nbx
