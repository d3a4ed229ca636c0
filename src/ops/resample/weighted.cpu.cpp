// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resample/weighted.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd.h"

#include "ops/resample/weighted.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;

void rows_of(const float* const* rows, const float* w, size_t taps, float* y, size_t n) {
  const F d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    auto sum = hn::Mul(simd::load(d, rows[0] + i, n - i), hn::Set(d, w[0]));
    for (size_t k = 1; k < taps; ++k) sum = hn::MulAdd(simd::load(d, rows[k] + i, n - i), hn::Set(d, w[k]), sum);
    simd::store(d, sum, y + i, n - i);
  }
}

}  // namespace nbx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(rows_of);
void weighted_rows(const float* const* rows, const float* w, int64_t taps, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(rows_of)(rows, w, static_cast<size_t>(taps), y, static_cast<size_t>(n));
}
void weighted_rows(const double* const* rows, const double* w, int64_t taps, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < taps; ++k) sum += w[k] * rows[k][i];
    y[i] = sum;
  }
}
}  // namespace nbx
#endif
