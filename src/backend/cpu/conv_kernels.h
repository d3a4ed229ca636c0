// SPDX-License-Identifier: Apache-2.0
// The SIMD parts of conv().
#pragma once
#include "backend/cpu/conv.h"

namespace nbx {

// The B operand of an implicit GEMM: rows are (channel, tap depth, tap row, tap column), columns are output positions
// in row-major order. Positions outside the input are zero.
struct Patches {
  const void* x;  // (channels, *in)
  DType dtype;
  Dims3 in, out;  // extents
  Dims3 stride;   // of the input position an output step
  const int64_t* taps[3];
  int64_t tap_count[3];
};
// Rows [k0, k1), columns [n0, n1) -> dst (k1 - k0, width), columns beyond n1 zero.
void pack_patches(const Patches& p, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst);

// A depthwise plane in bands of output rows.
struct DepthwisePlane {
  const void* x;  // (in_h, in_w)
  DType dtype;
  int64_t in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  const float* weights;  // (kernel_h, kernel_w)
};
int64_t depthwise_sum_stride(int64_t out_w);  // floats from one row of sums to the next
// Floats of scratch for a band of `rows` output rows: its sums, then a padded copy of the input rows it sees.
int64_t depthwise_scratch_floats(const DepthwisePlane& p, int64_t rows);
// bias + sums of output rows [row0, row1) -> scratch (row1 - row0, depthwise_sum_stride); `add`: onto what is there, no
// bias.
void depthwise_band(const DepthwisePlane& p, float bias, bool add, int64_t row0, int64_t row1, float* scratch);

}  // namespace nbx
