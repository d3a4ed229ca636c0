// SPDX-License-Identifier: Apache-2.0
// Depthwise planes, directly: the input rows of a band are copied once with their padding (and, for a stride, sorted by
// column modulo the stride), so that the sums need no bounds checks and read contiguous vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/conv_depthwise.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/unroll.h"

#include <algorithm>

#ifndef NBX_DEPTHWISE_LAYOUT
#define NBX_DEPTHWISE_LAYOUT
namespace nbx {
namespace {

// A row of the copy: stride_w pieces of `piece` floats; padded column c is at piece c % stride_w, index c / stride_w.
struct RowLayout {
  explicit RowLayout(const DepthwisePlane& p) {
    columns = (p.out_w + 15) / 16 * 16;  // whole vectors of sums
    piece = (columns + (p.kernel_w - 1) * p.dilation_w / p.stride_w + 1 + 15) / 16 * 16;
    stride = piece * p.stride_w;
  }
  int64_t columns, piece, stride;
};

int64_t rows_seen(const DepthwisePlane& p, int64_t rows) {
  return (rows - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1;
}

}  // namespace
}  // namespace nbx
#endif

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using VF = hn::Vec<D>;

// The row with its padding, contiguous; one vector behind it may be overwritten.
template <class T>
void pad_row(const DepthwisePlane& p, const RowLayout& layout, const T* x, float* dst) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Input columns [begin, end) have a place in the copy.
  const int64_t begin = std::max<int64_t>(0, -p.pad_left);
  const int64_t end = std::max(begin, std::min(p.in_w, layout.stride - p.pad_left));
  std::fill_n(dst, p.pad_left + begin, 0.0f);
  for (int64_t i = begin; i < end; i += lanes)
    hn::StoreU(simd::load(d, x + i, static_cast<size_t>(end - i)), d, dst + p.pad_left + i);
  std::fill(dst + p.pad_left + end, dst + layout.stride, 0.0f);
}

void sort_columns(const DepthwisePlane& p, const RowLayout& layout, const float* row, float* dst) {
  if (p.stride_w == 2) {
    const D d;
    for (int64_t i = 0; i < layout.piece; i += static_cast<int64_t>(hn::Lanes(d))) {
      VF even, odd;
      simd::load_pairs(d, row + 2 * i, even, odd);
      hn::StoreU(even, d, dst + i);
      hn::StoreU(odd, d, dst + layout.piece + i);
    }
    return;
  }
  for (int64_t s = 0; s < p.stride_w; ++s)
    for (int64_t i = 0; i < layout.piece; ++i) dst[s * layout.piece + i] = row[i * p.stride_w + s];
}

// room: a row and a vector
template <class T>
void copy_rows(const DepthwisePlane& p, const RowLayout& layout, int64_t row0, int64_t rows, float* dst, float* room) {
  const int64_t first = row0 * p.stride_h - p.pad_top;
  for (int64_t r = 0; r < rows_seen(p, rows); ++r, dst += layout.stride) {
    const int64_t ih = first + r;
    if (ih < 0 || ih >= p.in_h) {
      std::fill_n(dst, layout.stride, 0.0f);
      continue;
    }
    const T* x = static_cast<const T*>(p.x) + ih * p.in_w;
    if (p.stride_w == 1) {
      pad_row(p, layout, x, dst);
    } else {
      pad_row(p, layout, x, room);
      sort_columns(p, layout, room, dst);
    }
  }
}

// RB output rows at a time, in_step apart in the copy. Sums run over taps in row-major order, whatever RB. The weights
// stay in registers over all rows: on narrow planes loading them for each row would cost as much as the sums.
template <int KH, int KW, int RB>
HWY_NOINLINE void rows_of(const float* HWY_RESTRICT in, int64_t in_step, int64_t tap_row,
                          const int64_t* HWY_RESTRICT tap_col, const float* HWY_RESTRICT weights, float bias, bool add,
                          int64_t rows, int64_t columns, float* HWY_RESTRICT out) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VF w[KH * KW];
  NBX_UNROLL
  for (int t = 0; t < KH * KW; ++t) w[t] = hn::Set(d, weights[t]);
  const VF start = hn::Set(d, bias);
  for (int64_t row = 0; row + RB <= rows; row += RB, in += RB * in_step, out += RB * columns) {
    for (int64_t c = 0; c < columns; c += lanes) {
      VF sum[RB];
      NBX_UNROLL
      for (int b = 0; b < RB; ++b) sum[b] = add ? hn::LoadU(d, out + b * columns + c) : start;
      NBX_UNROLL
      for (int r = 0; r < KH + RB - 1; ++r) {
        NBX_UNROLL
        for (int k = 0; k < KW; ++k) {
          const VF v = simd::in_register(hn::LoadU(d, in + r * tap_row + tap_col[k] + c));
          NBX_UNROLL
          for (int b = 0; b < RB; ++b)
            if (r - b >= 0 && r - b < KH) sum[b] = hn::MulAdd(w[(r - b) * KW + k], v, sum[b]);
        }
      }
      NBX_UNROLL
      for (int b = 0; b < RB; ++b) hn::StoreU(sum[b], d, out + b * columns + c);
    }
  }
}

// Any kernel: four vectors of columns at once share the broadcast of a weight and hide the latency.
template <int U>
HWY_INLINE void general_columns(const float* in, int64_t tap_row, const int64_t* tap_col, int64_t kh, int64_t kw,
                                const float* weights, float bias, bool add, float* out) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VF sum[U];
  NBX_UNROLL
  for (int u = 0; u < U; ++u) sum[u] = add ? hn::LoadU(d, out + u * lanes) : hn::Set(d, bias);
  for (int64_t r = 0; r < kh; ++r)
    for (int64_t k = 0; k < kw; ++k) {
      const VF w = hn::Set(d, weights[r * kw + k]);
      const float* at = in + r * tap_row + tap_col[k];
      NBX_UNROLL
      for (int u = 0; u < U; ++u) sum[u] = hn::MulAdd(w, hn::LoadU(d, at + u * lanes), sum[u]);
    }
  NBX_UNROLL
  for (int u = 0; u < U; ++u) hn::StoreU(sum[u], d, out + u * lanes);
}

template <int K>
void square(const DepthwisePlane& p, const RowLayout& layout, const float* copy, const int64_t* tap_col, float bias,
            bool add, int64_t rows, float* sums) {
  const int64_t step = p.stride_h * layout.stride, tap_row = p.dilation_h * layout.stride, columns = layout.columns;
  // Two rows of sums share K - 1 rows of input.
  const int64_t pairs = p.stride_h == p.dilation_h ? rows / 2 * 2 : 0;
  if (pairs > 0) rows_of<K, K, 2>(copy, step, tap_row, tap_col, p.weights, bias, add, pairs, columns, sums);
  if (pairs < rows)
    rows_of<K, K, 1>(copy + pairs * step, step, tap_row, tap_col, p.weights, bias, add, rows - pairs, columns,
                     sums + pairs * columns);
}

}  // namespace

void depthwise_band_entry(const DepthwisePlane& p, float bias, bool add, int64_t row0, int64_t row1, float* scratch) {
  const RowLayout layout(p);
  const int64_t rows = row1 - row0, lanes = static_cast<int64_t>(hn::Lanes(D()));
  float* sums = scratch;
  float* copy = scratch + rows * layout.columns;
  float* room = copy + rows_seen(p, rows) * layout.stride + 16;
  int64_t* tap_col = reinterpret_cast<int64_t*>(room + layout.stride + 16);
  for (int64_t k = 0; k < p.kernel_w; ++k)
    tap_col[k] = k * p.dilation_w % p.stride_w * layout.piece + k * p.dilation_w / p.stride_w;
  switch (p.dtype) {
    case DType::bfloat16:
      copy_rows<bfloat16_t>(p, layout, row0, rows, copy, room);
      break;
    case DType::float16:
      copy_rows<float16_t>(p, layout, row0, rows, copy, room);
      break;
    default:
      copy_rows<float>(p, layout, row0, rows, copy, room);
  }
  if (p.kernel_h == 3 && p.kernel_w == 3) return square<3>(p, layout, copy, tap_col, bias, add, rows, sums);
  if (p.kernel_h == 5 && p.kernel_w == 5) return square<5>(p, layout, copy, tap_col, bias, add, rows, sums);
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = copy + r * p.stride_h * layout.stride;
    float* out = sums + r * layout.columns;
    int64_t c = 0;
    for (; c + 4 * lanes <= layout.columns; c += 4 * lanes)
      general_columns<4>(in + c, p.dilation_h * layout.stride, tap_col, p.kernel_h, p.kernel_w, p.weights, bias, add,
                         out + c);
    for (; c < layout.columns; c += lanes)
      general_columns<1>(in + c, p.dilation_h * layout.stride, tap_col, p.kernel_h, p.kernel_w, p.weights, bias, add,
                         out + c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
int64_t depthwise_sum_stride(int64_t out_w) { return (out_w + 15) / 16 * 16; }
int64_t depthwise_scratch_floats(const DepthwisePlane& p, int64_t rows) {
  const RowLayout layout(p);
  return rows * layout.columns + (rows_seen(p, rows) + 1) * layout.stride + 32 + 2 * p.kernel_w;
}
HWY_EXPORT(depthwise_band_entry);
void depthwise_band(const DepthwisePlane& p, float bias, bool add, int64_t row0, int64_t row1, float* scratch) {
  HWY_DYNAMIC_DISPATCH(depthwise_band_entry)(p, bias, add, row0, row1, scratch);
}
}  // namespace nbx
#endif
