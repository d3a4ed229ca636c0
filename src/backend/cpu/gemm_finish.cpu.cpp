// SPDX-License-Identifier: Apache-2.0
// From a tile of sums to C: scale, bias, residual, activation, rounding. The tile is still in L1.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm_finish.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/activation-inl.h"
#include "backend/cpu/gemm_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

// Everything in float, rows with strides of their own. `before` and `after` hold the residual, or null.
struct Rows {
  const FinishTile& f;
  const float* before;
  const float* after;
  int64_t residual_stride;
  float* out;
  int64_t out_stride;

  template <class Act>
  HWY_INLINE void operator()(Act act) const {
    const D d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto alpha = hn::Set(d, f.alpha);
    const bool affine = f.scale != 1.0f || f.shift != 0.0f;
    const auto scale = hn::Set(d, f.scale), shift = hn::Set(d, f.shift);
    for (int64_t r = 0; r < f.rows; ++r) {
      const float* sums = f.tile + r * f.tile_stride;
      const auto bias = hn::Set(d, f.row_bias == nullptr ? 0.0f : f.row_bias[r]);
      for (int64_t j = 0; j < f.cols; j += lanes) {
        const size_t left = static_cast<size_t>(f.cols - j);
        auto v = hn::MulAdd(hn::LoadU(d, sums + j), alpha, bias);
        if (f.col_bias != nullptr) v = hn::Add(v, simd::load(d, f.col_bias + j, left));
        if (before != nullptr) v = hn::Add(v, simd::load(d, before + r * residual_stride + j, left));
        v = act(d, v);
        if (affine) v = hn::MulAdd(v, scale, shift);
        if (after != nullptr) v = hn::Add(v, simd::load(d, after + r * residual_stride + j, left));
        simd::store(d, v, out + r * out_stride + j, left);
      }
    }
  }
};

void finish_float(const FinishTile& f, const float* residual, int64_t residual_stride, float* out, int64_t out_stride) {
  act::with_activation(f.act, Rows{f, f.residual_before_act ? residual : nullptr,
                                   f.residual_before_act ? nullptr : residual, residual_stride, out, out_stride});
}

// 16-bit C: through a float tile, so that activations are not compiled for each dtype.
template <class T>
void finish_half(const FinishTile& f) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float out[kPanelRows * kPanelCols];
  HWY_ALIGN float add[kPanelRows * kPanelCols];
  const T* residual = static_cast<const T*>(f.residual);
  for (int64_t r = 0; residual != nullptr && r < f.rows; ++r)
    for (int64_t j = 0; j < f.cols; j += lanes)
      hn::StoreU(simd::load(d, residual + r * f.c_stride + j, static_cast<size_t>(f.cols - j)), d,
                 add + r * kPanelCols + j);
  finish_float(f, residual == nullptr ? nullptr : add, kPanelCols, out, kPanelCols);
  for (int64_t r = 0; r < f.rows; ++r)
    for (int64_t j = 0; j < f.cols; j += lanes)
      simd::store(d, hn::LoadU(d, out + r * kPanelCols + j), static_cast<T*>(f.c) + r * f.c_stride + j,
                  static_cast<size_t>(f.cols - j));
}

void finish(const FinishTile& f) {
  switch (f.c_dtype) {
    case DType::bfloat16:
      return finish_half<bfloat16_t>(f);
    case DType::float16:
      return finish_half<float16_t>(f);
    default:
      return finish_float(f, static_cast<const float*>(f.residual), f.c_stride, static_cast<float*>(f.c), f.c_stride);
  }
}

}  // namespace

void gemm_finish_entries(GemmKernels& table) { table.finish = finish; }

}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(gemm_finish_entries);
void gemm_finish_table(GemmKernels& table) { HWY_DYNAMIC_DISPATCH(gemm_finish_entries)(table); }
}  // namespace nbx
#endif
