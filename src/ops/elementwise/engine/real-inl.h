// SPDX-License-Identifier: Apache-2.0
// NBX_REAL_FNS for float and double lanes, for real32.cpu.cpp and real64.cpu.cpp. Include as simd.h.
#if defined(NBX_OPS_ELEMENTWISE_REAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NBX_OPS_ELEMENTWISE_REAL_INL_H
#undef NBX_OPS_ELEMENTWISE_REAL_INL_H
#else
#define NBX_OPS_ELEMENTWISE_REAL_INL_H
#endif

#include <limits>

#include "backend/cpu/simd.h"
#include "ops/elementwise/engine/functions.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::pointwise {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = nbx::HWY_NAMESPACE::simd;

// Lane by lane into 0 and 1.
template <class D, class M>
HWY_INLINE void store_mask(D d, M mask, uint8_t* out) {
#if HWY_TARGET == HWY_SCALAR
  out[0] = hn::AllTrue(d, mask) ? 1 : 0;
#else
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == 4) {
    const hn::Rebind<int32_t, D> di;
    const hn::Rebind<uint8_t, D> d8;
    const auto ones = hn::IfThenElseZero(hn::RebindMask(di, mask), hn::Set(di, 1));
    hn::StoreU(hn::DemoteTo(d8, ones), d8, out);
  } else {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(hn::IfThenElseZero(mask, hn::Set(d, T{1})), d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) out[i] = lanes[i] != 0;
  }
#endif
}
template <class D>
HWY_INLINE hn::Mask<D> load_mask(D d, const uint8_t* p) {
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == 4) {
    const hn::Rebind<uint8_t, D> d8;
    const hn::Rebind<int32_t, D> di;
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(di, hn::LoadU(d8, p)), hn::Zero(di)));
  } else {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<T>(p[i]);
    return hn::Ne(hn::Load(d, lanes), hn::Zero(d));
  }
}

template <class T, class F>
HWY_INLINE void map1(const Block& b, F f) {
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(b.in[0]);
  T* out = static_cast<T*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(f(d, hn::LoadU(d, x + i)), d, out + i);
}
template <class T, class F>
HWY_INLINE void map2(const Block& b, F f) {
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(b.in[0]);
  const T* y = static_cast<const T*>(b.in[1]);
  T* out = static_cast<T*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(f(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i);
}
template <class T, class F>
HWY_INLINE void map3(const Block& b, F f) {
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(b.in[0]);
  const T* y = static_cast<const T*>(b.in[1]);
  const T* z = static_cast<const T*>(b.in[2]);
  T* out = static_cast<T*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(f(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i), hn::LoadU(d, z + i)), d, out + i);
}
template <class T, class F>
HWY_INLINE void test1(const Block& b, F f) {
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(b.in[0]);
  uint8_t* out = static_cast<uint8_t*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d)))
    store_mask(d, f(d, hn::LoadU(d, x + i)), out + i);
}
template <class T, class F>
HWY_INLINE void test2(const Block& b, F f) {
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(b.in[0]);
  const T* y = static_cast<const T*>(b.in[1]);
  uint8_t* out = static_cast<uint8_t*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d)))
    store_mask(d, f(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), out + i);
}

template <class V>
HWY_INLINE V quieter_max(V a, V b) {  // a NaN gives way to a number
  const auto larger = hn::IfThenElse(hn::Gt(a, b), a, b);
  return hn::IfThenElse(hn::IsNaN(b), a, hn::IfThenElse(hn::IsNaN(a), b, larger));
}
template <class V>
HWY_INLINE V quieter_min(V a, V b) {
  const auto smaller = hn::IfThenElse(hn::Lt(a, b), a, b);
  return hn::IfThenElse(hn::IsNaN(b), a, hn::IfThenElse(hn::IsNaN(a), b, smaller));
}
// The sign of the result's zero is the operand's: round(-0.4) is -0.
template <class V>
HWY_INLINE V signed_round(V v) {
  return hn::CopySign(hn::Abs(hn::Round(v)), v);
}

#define NBX_P(i) hn::Set(d, static_cast<T>(b.params->f[i]))
#define NBX_MAP1(name, expression)            \
  template <class T>                          \
  void name(const Block& b) {                 \
    map1<T>(b, [&](auto d, auto x) HWY_ATTR { \
      (void)d;                                \
      return expression;                      \
    });                                       \
  }
#define NBX_MAP2(name, expression)                    \
  template <class T>                                  \
  void name(const Block& b) {                         \
    map2<T>(b, [&](auto d, auto x, auto y) HWY_ATTR { \
      (void)d;                                        \
      return expression;                              \
    });                                               \
  }
#define NBX_MAP3(name, expression)                            \
  template <class T>                                          \
  void name(const Block& b) {                                 \
    map3<T>(b, [&](auto d, auto x, auto y, auto z) HWY_ATTR { \
      (void)d;                                                \
      return expression;                                      \
    });                                                       \
  }
#define NBX_TEST1(name, expression)            \
  template <class T>                           \
  void name(const Block& b) {                  \
    test1<T>(b, [&](auto d, auto x) HWY_ATTR { \
      (void)d;                                 \
      return expression;                       \
    });                                        \
  }
#define NBX_TEST2(name, expression)                    \
  template <class T>                                   \
  void name(const Block& b) {                          \
    test2<T>(b, [&](auto d, auto x, auto y) HWY_ATTR { \
      (void)d;                                         \
      return expression;                               \
    });                                                \
  }

namespace real {
NBX_MAP2(add, hn::Add(x, y))
NBX_MAP2(sub, hn::Sub(x, y))
NBX_MAP2(mul, hn::Mul(x, y))
NBX_MAP2(div, hn::Div(x, y))
NBX_MAP2(add_scaled, hn::MulAdd(NBX_P(0), y, x))
NBX_MAP2(maximum, simd::max(x, y))
NBX_MAP2(minimum, simd::min(x, y))
NBX_MAP2(fmax, quieter_max(x, y))
NBX_MAP2(fmin, quieter_min(x, y))
NBX_TEST2(eq, hn::Eq(x, y))
// Highway's Ne is false for NaN.
NBX_TEST2(ne, hn::Not(hn::Eq(x, y)))
NBX_TEST2(lt, hn::Lt(x, y))
NBX_TEST2(le, hn::Le(x, y))
NBX_TEST1(isnan, hn::IsNaN(x))
NBX_TEST1(isinf, hn::Eq(hn::Abs(x), hn::Set(d, std::numeric_limits<T>::infinity())))
NBX_TEST1(isfinite, hn::Lt(hn::Abs(x), hn::Set(d, std::numeric_limits<T>::infinity())))
NBX_TEST1(isinf_signed, hn::Or(hn::Eq(x, hn::Set(d, b.params->f[0] != 0 ? -std::numeric_limits<T>::infinity()
                                                                        : std::numeric_limits<T>::quiet_NaN())),
                               hn::Eq(x, hn::Set(d, b.params->f[1] != 0 ? std::numeric_limits<T>::infinity()
                                                                        : std::numeric_limits<T>::quiet_NaN()))))
NBX_MAP1(neg, hn::Neg(x))
NBX_MAP1(abs, hn::Abs(x))
NBX_MAP1(sqrt, hn::Sqrt(x))
NBX_MAP1(rsqrt, hn::Div(hn::Set(d, T{1}), hn::Sqrt(x)))
NBX_MAP1(reciprocal, hn::Div(hn::Set(d, T{1}), x))
NBX_MAP1(square, hn::Mul(x, x))
NBX_MAP1(cube, hn::Mul(hn::Mul(x, x), x))
NBX_MAP1(floor, hn::CopySign(hn::Abs(hn::Floor(x)), x))
NBX_MAP1(ceil, hn::CopySign(hn::Abs(hn::Ceil(x)), x))
NBX_MAP1(trunc, hn::CopySign(hn::Abs(hn::Trunc(x)), x))
NBX_MAP1(round, signed_round(x))
NBX_MAP1(frac, hn::Sub(x, hn::Trunc(x)))
NBX_MAP1(sign, hn::Sub(hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, T{1})),
                       hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), hn::Set(d, T{1}))))
// NaN passes: only what is below zero is replaced.
NBX_MAP1(relu, hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x))
NBX_MAP1(nan_to_num,
         hn::IfThenElse(hn::IsNaN(x), NBX_P(0),
                        hn::IfThenElse(hn::Eq(x, hn::Set(d, std::numeric_limits<T>::infinity())), NBX_P(1),
                                       hn::IfThenElse(hn::Eq(x, hn::Set(d, -std::numeric_limits<T>::infinity())),
                                                      NBX_P(2), x))))
NBX_MAP1(clamp, simd::min(simd::max(x, NBX_P(0)), NBX_P(1)))
NBX_MAP1(clamp_min, simd::max(x, NBX_P(0)))
NBX_MAP1(clamp_max, simd::min(x, NBX_P(0)))
NBX_MAP1(hardsigmoid,
         hn::Div(simd::clamp(hn::Add(x, hn::Set(d, T{3})), hn::Zero(d), hn::Set(d, T{6})), hn::Set(d, T{6})))
NBX_MAP1(hard_sigmoid, simd::clamp(hn::MulAdd(NBX_P(0), x, NBX_P(1)), hn::Zero(d), hn::Set(d, T{1})))
// Dividing first keeps x (x + 3) of the largest values from overflowing.
NBX_MAP1(hardswish, hn::Mul(x, hn::Div(simd::clamp(hn::Add(x, hn::Set(d, T{3})), hn::Zero(d), hn::Set(d, T{6})),
                                       hn::Set(d, T{6}))))
NBX_MAP1(leaky_relu, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, NBX_P(0))))
NBX_MAP1(threshold, hn::IfThenElse(hn::Le(x, NBX_P(0)), NBX_P(1), x))
NBX_MAP1(softsign, hn::Div(x, hn::Add(hn::Set(d, T{1}), hn::Abs(x))))
NBX_MAP1(shrink, hn::IfThenElse(hn::Lt(x, hn::Neg(NBX_P(0))), hn::Add(x, NBX_P(1)),
                                hn::IfThenElseZero(hn::Gt(x, NBX_P(0)), hn::Sub(x, NBX_P(1)))))
NBX_MAP3(addcmul, hn::MulAdd(hn::Mul(NBX_P(0), y), z, x))
NBX_MAP3(addcdiv, hn::Add(x, hn::Div(hn::Mul(NBX_P(0), y), z)))
NBX_MAP3(lerp, hn::IfThenElse(hn::Lt(hn::Abs(z), hn::Set(d, static_cast<T>(0.5))), hn::MulAdd(z, hn::Sub(y, x), x),
                              hn::NegMulAdd(hn::Sub(y, x), hn::Sub(hn::Set(d, T{1}), z), y)))
NBX_MAP2(prelu, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, y)))
NBX_MAP1(scale, hn::Mul(x, NBX_P(0)))
NBX_MAP1(round_scaled, hn::Div(signed_round(hn::Mul(x, NBX_P(0))), NBX_P(0)))
NBX_MAP1(round_unscaled, hn::Mul(signed_round(hn::Div(x, NBX_P(0))), NBX_P(0)))

template <class T>
void where(const Block& b) {
  const hn::ScalableTag<T> d;
  const uint8_t* c = static_cast<const uint8_t*>(b.in[0]);
  const T* x = static_cast<const T*>(b.in[1]);
  const T* y = static_cast<const T*>(b.in[2]);
  T* out = static_cast<T*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(hn::IfThenElse(load_mask(d, c + i), hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i);
}
}  // namespace real

template <class T>
const BlockFn* real_table() {
#define NBX_ROW(name) &real::name<T>,
  static constexpr BlockFn table[] = {NBX_REAL_FNS(NBX_ROW)};
#undef NBX_ROW
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx::pointwise
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
