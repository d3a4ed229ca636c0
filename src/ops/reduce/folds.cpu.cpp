// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/folds.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd_math.h"

#include <cmath>
#include <limits>

#include "ops/reduce/folds.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using VF = hn::Vec<F>;

struct Larger {
  HWY_INLINE VF operator()(VF a, VF b) const { return simd::max(a, b); }
};
struct Smaller {
  HWY_INLINE VF operator()(VF a, VF b) const { return simd::min(a, b); }
};

// What a kind adds of one vector.
template <Fold kind>
HWY_INLINE VF map(F d, VF v, VF p) {
  if constexpr (kind == Fold::nansum) return hn::IfThenElse(hn::IsNaN(v), hn::Zero(d), v);
  if constexpr (kind == Fold::abs || kind == Fold::absmax || kind == Fold::absmin) return hn::Abs(v);
  if constexpr (kind == Fold::square) return hn::Mul(v, v);
  if constexpr (kind == Fold::nonzero) return hn::IfThenElse(hn::Eq(v, hn::Zero(d)), hn::Zero(d), hn::Set(d, 1.0f));
  if constexpr (kind == Fold::centred) return hn::Sub(v, p);
  if constexpr (kind == Fold::centred_square) {
    const auto c = hn::Sub(v, p);
    return hn::Mul(c, c);
  }
  if constexpr (kind == Fold::exp_shifted) return simd::exp(d, hn::Sub(v, p));
  (void)p;
  return v;
}
template <Fold kind>
HWY_INLINE VF join(VF a, VF b) {
  if constexpr (kind == Fold::max || kind == Fold::absmax) return simd::max(a, b);
  if constexpr (kind == Fold::min || kind == Fold::absmin) return simd::min(a, b);
  return hn::Add(a, b);
}
template <Fold kind>
struct Step {
  VF p;
  HWY_INLINE VF operator()(VF sum, VF v) const {
    const F d;
    if constexpr (kind == Fold::square) return hn::MulAdd(v, v, sum);
    return join<kind>(sum, map<kind>(d, v, p));
  }
};
template <Fold kind>
struct Join {
  HWY_INLINE VF operator()(VF a, VF b) const { return join<kind>(a, b); }
};

template <Fold kind>
float row(const float* x, size_t n, float p, float init) {
  const F d;
  return simd::fold_with(d, x, n, init, Step<kind>{hn::Set(d, p)}, Join<kind>{});
}

template <Fold kind>
void columns(float* acc, const float* x, size_t n, const float* p) {
  const F d;
  const auto zero = hn::Zero(d);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = simd::load(d, x + i, n - i);
    const auto a = simd::load(d, acc + i, n - i);
    const auto shift = p ? simd::load(d, p + i, n - i) : zero;
    simd::store(d, Step<kind>{shift}(a, v), acc + i, n - i);
  }
}

float row_of(Fold kind, const float* x, size_t n, float p) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  switch (kind) {
    case Fold::sum:
      return row<Fold::sum>(x, n, p, 0);
    case Fold::nansum:
      return row<Fold::nansum>(x, n, p, 0);
    case Fold::abs:
      return row<Fold::abs>(x, n, p, 0);
    case Fold::square:
      return row<Fold::square>(x, n, p, 0);
    case Fold::nonzero:
      return row<Fold::nonzero>(x, n, p, 0);
    case Fold::centred:
      return row<Fold::centred>(x, n, p, 0);
    case Fold::centred_square:
      return row<Fold::centred_square>(x, n, p, 0);
    case Fold::exp_shifted:
      return row<Fold::exp_shifted>(x, n, p, 0);
    case Fold::max:
      return row<Fold::max>(x, n, p, -inf);
    case Fold::min:
      return row<Fold::min>(x, n, p, inf);
    case Fold::absmax:
      return row<Fold::absmax>(x, n, p, 0);
    case Fold::absmin:
      return row<Fold::absmin>(x, n, p, inf);
    default:
      return 0;
  }
}

void columns_of(Fold kind, float* acc, const float* x, size_t n, const float* p) {
  switch (kind) {
    case Fold::sum:
      return columns<Fold::sum>(acc, x, n, p);
    case Fold::nansum:
      return columns<Fold::nansum>(acc, x, n, p);
    case Fold::abs:
      return columns<Fold::abs>(acc, x, n, p);
    case Fold::square:
      return columns<Fold::square>(acc, x, n, p);
    case Fold::nonzero:
      return columns<Fold::nonzero>(acc, x, n, p);
    case Fold::centred:
      return columns<Fold::centred>(acc, x, n, p);
    case Fold::centred_square:
      return columns<Fold::centred_square>(acc, x, n, p);
    case Fold::exp_shifted:
      return columns<Fold::exp_shifted>(acc, x, n, p);
    case Fold::max:
      return columns<Fold::max>(acc, x, n, p);
    case Fold::min:
      return columns<Fold::min>(acc, x, n, p);
    case Fold::absmax:
      return columns<Fold::absmax>(acc, x, n, p);
    case Fold::absmin:
      return columns<Fold::absmin>(acc, x, n, p);
    default:
      return;
  }
}

}  // namespace nbx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(row_of);
HWY_EXPORT(columns_of);

double fold_row(Fold kind, const float* x, int64_t n, float p, double q) {
  // Products and powers leave float32's range long before double's.
  if (kind == Fold::prod) {
    double a = 1, b = 1;
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
      a *= x[i];
      b *= x[i + 1];
    }
    return i < n ? a * b * x[i] : a * b;
  }
  if (kind == Fold::power) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::pow(std::fabs(static_cast<double>(x[i])), q);
    return sum;
  }
  return HWY_DYNAMIC_DISPATCH(row_of)(kind, x, static_cast<size_t>(n), p);
}
void fold_columns(Fold kind, float* acc, const float* x, int64_t n, const float* p) {
  HWY_DYNAMIC_DISPATCH(columns_of)(kind, acc, x, static_cast<size_t>(n), p);
}
}  // namespace nbx
#endif
