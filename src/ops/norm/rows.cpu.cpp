// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/rows.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd.h"

#include "ops/norm/rows.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;

void centre(const float* x, float* y, size_t n, float mean, float scale, float shift) {
  const F d;
  const auto m = hn::Set(d, mean), s = hn::Set(d, scale), b = hn::Set(d, shift);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    simd::store(d, hn::MulAdd(hn::Sub(simd::load(d, x + i, n - i), m), s, b), y + i, n - i);
}
void weighted(const float* x, float* y, size_t n, float mean, float rstd, float rest, const float* w, const float* b) {
  const F d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd), off = hn::Set(d, rest);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    auto v = hn::MulSub(hn::Sub(simd::load(d, x + i, n - i), m), r, off);
    if (w && b)
      v = hn::MulAdd(v, simd::load(d, w + i, n - i), simd::load(d, b + i, n - i));
    else if (w)
      v = hn::Mul(v, simd::load(d, w + i, n - i));
    else if (b)
      v = hn::Add(v, simd::load(d, b + i, n - i));
    simd::store(d, v, y + i, n - i);
  }
}
void columns(const float* x, float* y, size_t n, const float* mean, const float* scale, const float* shift) {
  const F d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = hn::Sub(simd::load(d, x + i, n - i), simd::load(d, mean + i, n - i));
    simd::store(d, hn::MulAdd(v, simd::load(d, scale + i, n - i), simd::load(d, shift + i, n - i)), y + i, n - i);
  }
}

}  // namespace nbx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(centre);
HWY_EXPORT(weighted);
HWY_EXPORT(columns);
void centre_scale(const float* x, float* y, int64_t n, float mean, float scale, float shift) {
  HWY_DYNAMIC_DISPATCH(centre)(x, y, static_cast<size_t>(n), mean, scale, shift);
}
void centre_scale_weights(const float* x, float* y, int64_t n, float mean, float rstd, float rest, const float* w,
                          const float* b) {
  HWY_DYNAMIC_DISPATCH(weighted)(x, y, static_cast<size_t>(n), mean, rstd, rest, w, b);
}
void affine_columns(const float* x, float* y, int64_t n, const float* mean, const float* scale, const float* shift) {
  HWY_DYNAMIC_DISPATCH(columns)(x, y, static_cast<size_t>(n), mean, scale, shift);
}
}  // namespace nbx
#endif
