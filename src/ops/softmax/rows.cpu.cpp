// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax/rows.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd_math.h"

#include "ops/softmax/rows.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;

float exp_store(const float* x, float* y, size_t n, float m) {
  const F d;
  const size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, m);
  auto a = hn::Zero(d), b = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto u = simd::exp(d, hn::Sub(simd::load(d, x + i), shift));
    const auto v = simd::exp(d, hn::Sub(simd::load(d, x + i + lanes), shift));
    simd::store(d, u, y + i);
    simd::store(d, v, y + i + lanes);
    a = hn::Add(a, u);
    b = hn::Add(b, v);
  }
  for (; i < n; i += lanes) {
    const auto u = simd::exp(d, hn::Sub(simd::load(d, x + i, n - i), shift));
    simd::store(d, u, y + i, n - i);
    a = hn::Add(a, n - i >= lanes ? u : hn::IfThenElseZero(hn::FirstN(d, n - i), u));
  }
  return simd::join_lanes(d, hn::Add(a, b), simd::Plus());
}
void scale(float* y, size_t n, float s) {
  const F d;
  const auto factor = hn::Set(d, s);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    simd::store(d, hn::Mul(simd::load(d, y + i, n - i), factor), y + i, n - i);
}
void exp_scale(const float* x, float* y, size_t n, float m, float s) {
  const F d;
  const auto shift = hn::Set(d, m), factor = hn::Set(d, s);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    simd::store(d, hn::Mul(simd::exp(d, hn::Sub(simd::load(d, x + i, n - i), shift)), factor), y + i, n - i);
}
void shift2(const float* x, float* y, size_t n, float m, float log_sum) {
  const F d;
  const auto first = hn::Set(d, m), second = hn::Set(d, log_sum);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    simd::store(d, hn::Sub(hn::Sub(simd::load(d, x + i, n - i), first), second), y + i, n - i);
}
void exp_scale_columns(const float* x, float* y, size_t n, const float* m, const float* s) {
  const F d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto e = simd::exp(d, hn::Sub(simd::load(d, x + i, n - i), simd::load(d, m + i, n - i)));
    simd::store(d, hn::Mul(e, simd::load(d, s + i, n - i)), y + i, n - i);
  }
}
void shift2_columns(const float* x, float* y, size_t n, const float* m, const float* log_sum) {
  const F d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = hn::Sub(simd::load(d, x + i, n - i), simd::load(d, m + i, n - i));
    simd::store(d, hn::Sub(v, simd::load(d, log_sum + i, n - i)), y + i, n - i);
  }
}

}  // namespace nbx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(exp_store);
HWY_EXPORT(scale);
HWY_EXPORT(exp_scale);
HWY_EXPORT(shift2);
HWY_EXPORT(exp_scale_columns);
HWY_EXPORT(shift2_columns);

namespace {
size_t count(int64_t n) { return static_cast<size_t>(n); }
}  // namespace

double exp_shift_store(const float* x, float* y, int64_t n, float m) {
  return HWY_DYNAMIC_DISPATCH(exp_store)(x, y, count(n), m);
}
void scale_in_place(float* y, int64_t n, float s) { HWY_DYNAMIC_DISPATCH(scale)(y, count(n), s); }
void exp_shift_scale(const float* x, float* y, int64_t n, float m, float s) {
  HWY_DYNAMIC_DISPATCH(exp_scale)(x, y, count(n), m, s);
}
void shift_twice(const float* x, float* y, int64_t n, float m, float log_sum) {
  HWY_DYNAMIC_DISPATCH(shift2)(x, y, count(n), m, log_sum);
}
void exp_shift_scale_columns(const float* x, float* y, int64_t n, const float* m, const float* s) {
  HWY_DYNAMIC_DISPATCH(exp_scale_columns)(x, y, count(n), m, s);
}
void shift_twice_columns(const float* x, float* y, int64_t n, const float* m, const float* log_sum) {
  HWY_DYNAMIC_DISPATCH(shift2_columns)(x, y, count(n), m, log_sum);
}
}  // namespace nbx
#endif
