// SPDX-License-Identifier: Apache-2.0
// One dim of a resize, as data: which input elements make each output element, with which weights. Everything that
// ATen's and ONNX's forms of resizing differ in ends here.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace nbx {

struct ResizeAxis {
  int64_t in = 1, out = 1;
  int64_t taps = 1;
  std::vector<int32_t> index;    // (out, taps), all inside the input
  std::vector<double> weight;    // (out, taps); empty: one tap of weight 1, elements only move
  std::vector<uint8_t> outside;  // (out), where the result is the extrapolation value; empty: nowhere
  bool identity() const { return in == out && taps == 1 && weight.empty() && same; }
  bool same = false;  // index[i] == i
};

enum class ResizeMode : uint8_t { nearest, linear, cubic };
enum class Corners : uint8_t { half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, crop };
enum class Rounding : uint8_t { prefer_floor, prefer_ceil, floor, ceil };

struct ResizeRule {
  ResizeMode mode = ResizeMode::nearest;
  Corners corners = Corners::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  bool clamp_below = false;  // ATen's linear: coordinates below 0 are 0
};

// scale 0: the exact ratio of the extents. start, end: the region of interest.
ResizeAxis resize_axis(int64_t in, int64_t out, double scale, const ResizeRule& rule, double start = 0, double end = 1);
// ATen's nearest: the coordinate in float32, which decides on ties. `exact`: from the centres.
ResizeAxis aten_nearest_axis(int64_t in, int64_t out, double scale, bool exact);

}  // namespace nbx
