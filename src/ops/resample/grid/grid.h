// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/declare.h"

namespace nbx {

struct GridSpec {
  enum class Mode : uint8_t { bilinear, nearest, bicubic } mode = Mode::bilinear;
  enum class Padding : uint8_t { zeros, border, reflection } padding = Padding::zeros;
  bool align = false;
  bool volume = false;  // three spatial dims
  int64_t n = 1, channels = 1, in_d = 1, in_h = 1, in_w = 1, out_d = 1, out_h = 1, out_w = 1;
};
GridSpec grid_spec(const Args& args);

// The input elements (row-major in the plane or volume, -1: zero) and weights that make one output element; at most 16.
struct GridTaps {
  int count = 0;
  int64_t at[16];
  double weight[16];
};
GridTaps grid_taps(const GridSpec& s, double x, double y, double z = 0);  // z: volumes only
Bound bind_grid(const Args& args, const Metas& outputs);

}  // namespace nbx
