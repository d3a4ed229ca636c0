// SPDX-License-Identifier: Apache-2.0
// Widening and transposing for the packed layouts.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm_pack.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/gemm_kernels.h"
#include "backend/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

inline float one(float v) { return v; }
inline float one(bfloat16_t v) { return to_float(v); }
inline float one(float16_t v) { return to_float(v); }

template <class T>
void widen_from(const T* src, int64_t stride, int64_t n, float* dst) {
  if (stride == 1) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t i = 0; i < n; i += lanes) {
      const size_t left = static_cast<size_t>(n - i);
      simd::store(d, simd::load(d, src + i, left), dst + i, left);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) dst[i] = one(src[i * stride]);
}

void widen(const void* src, DType dtype, int64_t offset, int64_t stride, int64_t n, float* dst) {
  switch (dtype) {
    case DType::bfloat16:
      return widen_from(static_cast<const bfloat16_t*>(src) + offset, stride, n, dst);
    case DType::float16:
      return widen_from(static_cast<const float16_t*>(src) + offset, stride, n, dst);
    default:
      return widen_from(static_cast<const float*>(src) + offset, stride, n, dst);
  }
}

template <class T>
void copy_rows_from(const T* src, int64_t row_stride, int64_t rows, int64_t cols, int64_t width, float* dst) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = cols / lanes * lanes;
  for (int64_t i = 0; i < rows; ++i, src += row_stride, dst += width) {
    for (int64_t j = 0; j < whole; j += lanes) simd::store(d, simd::load(d, src + j), dst + j);
    for (int64_t j = whole; j < cols; ++j) dst[j] = one(src[j]);
    for (int64_t j = cols; j < width; ++j) dst[j] = 0.0f;
  }
}

void copy_rows(const void* src, DType dtype, int64_t offset, int64_t row_stride, int64_t rows, int64_t cols,
               int64_t width, float* dst) {
  switch (dtype) {
    case DType::bfloat16:
      return copy_rows_from(static_cast<const bfloat16_t*>(src) + offset, row_stride, rows, cols, width, dst);
    case DType::float16:
      return copy_rows_from(static_cast<const float16_t*>(src) + offset, row_stride, rows, cols, width, dst);
    default:
      return copy_rows_from(static_cast<const float*>(src) + offset, row_stride, rows, cols, width, dst);
  }
}

// 4 x 4 blocks: four loads, eight shuffles, four stores for 16 elements.
int64_t transpose_four(const float* const* rows, int64_t k, float* dst, int64_t ld) {
#if HWY_TARGET == HWY_SCALAR
  (void)rows, (void)k, (void)dst, (void)ld;
  return 0;
#else
  const hn::FixedTag<float, 4> d;
  int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const auto r0 = hn::LoadU(d, rows[0] + i), r1 = hn::LoadU(d, rows[1] + i);
    const auto r2 = hn::LoadU(d, rows[2] + i), r3 = hn::LoadU(d, rows[3] + i);
    const auto even_lo = hn::InterleaveLower(d, r0, r2), odd_lo = hn::InterleaveLower(d, r1, r3);
    const auto even_hi = hn::InterleaveUpper(d, r0, r2), odd_hi = hn::InterleaveUpper(d, r1, r3);
    hn::StoreU(hn::InterleaveLower(d, even_lo, odd_lo), d, dst + i * ld);
    hn::StoreU(hn::InterleaveUpper(d, even_lo, odd_lo), d, dst + (i + 1) * ld);
    hn::StoreU(hn::InterleaveLower(d, even_hi, odd_hi), d, dst + (i + 2) * ld);
    hn::StoreU(hn::InterleaveUpper(d, even_hi, odd_hi), d, dst + (i + 3) * ld);
  }
  return i;
#endif
}

void transpose(const float* const* rows, int64_t count, int64_t k, float* dst, int64_t ld) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
    for (int64_t i = transpose_four(rows + j, k, dst + j, ld); i < k; ++i)
      for (int64_t r = 0; r < 4; ++r) dst[i * ld + j + r] = rows[j + r][i];
  }
  for (; j < count; ++j)
    for (int64_t i = 0; i < k; ++i) dst[i * ld + j] = rows[j][i];
}

}  // namespace

void gemm_pack_entries(GemmKernels& table) {
  table.widen = widen;
  table.copy_rows = copy_rows;
  table.transpose = transpose;
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(gemm_pack_entries);
void gemm_pack_table(GemmKernels& table) { HWY_DYNAMIC_DISPATCH(gemm_pack_entries)(table); }
}  // namespace nbx
#endif
