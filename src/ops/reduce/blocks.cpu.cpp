// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/blocks.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd.h"

#include "ops/reduce/blocks.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void widen(const T* from, size_t n, float* to) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) simd::store(d, simd::load(d, from + i, n - i), to + i, n - i);
}
template <class T>
void narrow(const float* from, size_t n, T* to) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) simd::store(d, simd::load(d, from + i, n - i), to + i, n - i);
}
void widen_f16(const float16_t* from, size_t n, float* to) { widen(from, n, to); }
void widen_bf16(const bfloat16_t* from, size_t n, float* to) { widen(from, n, to); }
void narrow_f16(const float* from, size_t n, float16_t* to) { narrow(from, n, to); }
void narrow_bf16(const float* from, size_t n, bfloat16_t* to) { narrow(from, n, to); }

}  // namespace nbx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(widen_f16);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(narrow_bf16);
void widen_row(const float16_t* from, int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_f16)(from, static_cast<size_t>(n), to);
}
void widen_row(const bfloat16_t* from, int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_bf16)(from, static_cast<size_t>(n), to);
}
void narrow_row(const float* from, int64_t n, float16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_f16)(from, static_cast<size_t>(n), to);
}
void narrow_row(const float* from, int64_t n, bfloat16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_bf16)(from, static_cast<size_t>(n), to);
}
}  // namespace nbx
#endif
