// SPDX-License-Identifier: Apache-2.0
// Elementary functions on float vectors, for kernel files (include as simd.h). All in nbx::HWY_NAMESPACE::simd, all
// f(d, v) -> v with d a float tag: exp, expm1, log, log1p, tanh, sigmoid, erf, sin, cos; pow(d, x, y). The errors,
// measured by simd_math.test.cpp against float64, are at most 2.5 units in the last place everywhere, infinities, NaN
// and subnormals included. Polynomials are weighted least-squares fits near the minimax ones, made for these intervals.
#if defined(NBX_BACKEND_CPU_SIMD_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NBX_BACKEND_CPU_SIMD_MATH_H
#undef NBX_BACKEND_CPU_SIMD_MATH_H
#else
#define NBX_BACKEND_CPU_SIMD_MATH_H
#endif

#include "backend/cpu/simd.h"

#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace simd {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

// c0 + x * (c1 + x * (...))
template <class D, class C>
HWY_INLINE V<D> horner(D d, V<D>, C c0) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(c0));
}
template <class D, class C, class... Cs>
HWY_INLINE V<D> horner(D d, V<D> x, C c0, Cs... rest) {
  return hn::MulAdd(horner(d, x, rest...), x, hn::Set(d, static_cast<hn::TFromD<D>>(c0)));
}

// 2^n for n in [-126, 127].
template <class D>
HWY_INLINE V<D> power_of_2(D d, V<hn::Rebind<int32_t, D>> n) {
  const hn::Rebind<int32_t, D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

// x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 is two floats, of which the first has 10 bits: n * it is exact.
template <class D>
HWY_INLINE V<D> reduce_ln2(D d, V<D> x, V<D>& n) {
  n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  return hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
}

// e^r - 1 on the reduced range.
template <class D>
HWY_INLINE V<D> expm1_reduced(D d, V<D> r) {
  const auto q = horner(d, r, 5.000000079e-01f, 1.666666686e-01f, 4.166626507e-02f, 8.333264613e-03f, 1.394641901e-03f,
                        1.991828190e-04f);
  return hn::MulAdd(hn::Mul(r, r), q, r);
}

template <class D>
HWY_INLINE V<D> exp(D d, V<D> x) {
  const hn::Rebind<int32_t, D> di;
  // Beyond these the result is 0 and inf already; 2^n is applied in two steps so that subnormals come out rounded once.
  x = clamp(x, hn::Set(d, -110.0f), hn::Set(d, 90.0f));
  V<D> n;
  const auto r = reduce_ln2(d, x, n);
  const auto y = hn::Add(expm1_reduced(d, r), hn::Set(d, 1.0f));
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(y, power_of_2(d, half)), power_of_2(d, hn::Sub(whole, half)));
}

template <class D>
HWY_INLINE V<D> expm1(D d, V<D> x) {
  const hn::Rebind<int32_t, D> di;
  const auto in = clamp(x, hn::Set(d, -30.0f), hn::Set(d, 88.722839f));
  V<D> n;
  const auto p = expm1_reduced(d, reduce_ln2(d, in, n));
  // 2^n p + (2^n - 1), with half of 2^n because 2^128 is no float.
  const auto h = power_of_2(d, hn::Sub(hn::ConvertTo(di, n), hn::Set(di, 1)));
  auto y = hn::MulAdd(h, p, hn::Sub(h, hn::Set(d, 0.5f)));
  y = hn::Add(y, y);
  y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.722839f)), hn::Set(d, kInf), y);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // keeps -0
}

// log(x + c) for x > 0 finite and |c| far below x; c corrects a rounded x (log1p).
template <class D>
HWY_INLINE V<D> log_positive(D d, V<D> x, V<D> c) {
  const hn::Rebind<int32_t, D> di;
  const auto tiny = hn::Lt(x, hn::Set(d, 1.17549435e-38f));
  x = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 8388608.0f)), x);
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  const auto root = hn::Set(di, 0x3f3504f3);
  const auto shifted = hn::Sub(hn::BitCast(di, x), root);
  const auto exponent = hn::ShiftRight<23>(shifted);
  const auto m = hn::BitCast(d, hn::Add(hn::And(shifted, hn::Set(di, 0x7fffff)), root));
  auto e = hn::ConvertTo(d, exponent);
  const auto scale = power_of_2(d, hn::Neg(clamp(exponent, hn::Set(di, -126), hn::Set(di, 126))));
  e = hn::Sub(e, hn::IfThenElseZero(tiny, hn::Set(d, 23.0f)));
  const auto f = hn::MulAdd(c, scale, hn::Sub(m, hn::Set(d, 1.0f)));

  const auto p = horner(d, f, 3.333331044e-01f, -2.499998660e-01f, 2.000222661e-01f, -1.666925082e-01f,
                        1.421865809e-01f, -1.238434848e-01f, 1.187297630e-01f, -1.178980764e-01f, 6.915367985e-02f);
  const auto f2 = hn::Mul(f, f);
  auto y = hn::Mul(hn::Mul(f2, f), p);
  y = hn::MulAdd(e, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(f2, hn::Set(d, 0.5f), y);
  y = hn::Add(y, f);
  return hn::MulAdd(e, hn::Set(d, 0.693359375f), y);
}

// What log_positive does not cover: u <= 0, inf, NaN.
template <class D>
HWY_INLINE V<D> log_edges(D d, V<D> u, V<D> y) {
  y = hn::IfThenElse(hn::Eq(u, hn::Zero(d)), hn::Set(d, -kInf), y);
  y = hn::IfThenElse(hn::Lt(u, hn::Zero(d)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
  y = hn::IfThenElse(hn::Eq(u, hn::Set(d, kInf)), u, y);
  return hn::IfThenElse(hn::IsNaN(u), u, y);
}

template <class D>
HWY_INLINE V<D> log(D d, V<D> x) {
  return log_edges(d, x, log_positive(d, x, hn::Zero(d)));
}

template <class D>
HWY_INLINE V<D> log1p(D d, V<D> x) {
  const auto one = hn::Set(d, 1.0f);
  const auto u = hn::Add(x, one);
  // What the sum lost. For x >= 1 the one is the smaller part; there the loss matters little but must not be inf - inf.
  const auto lost_x = hn::Sub(x, hn::Sub(u, one));
  const auto lost_1 = hn::Sub(one, hn::Sub(u, x));
  auto c = hn::IfThenElse(hn::Lt(x, one), lost_x, lost_1);
  c = hn::IfThenElseZero(hn::Lt(hn::Abs(x), hn::Set(d, 1e30f)), c);
  const auto y = log_edges(d, u, log_positive(d, u, c));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-8f)), x, y);
}

template <class D>
HWY_INLINE V<D> tanh(D d, V<D> x) {
  const auto t = expm1(d, hn::Mul(hn::Abs(x), hn::Set(d, -2.0f)));
  return hn::CopySign(hn::Div(t, hn::Add(t, hn::Set(d, 2.0f))), x);
}

template <class D>
HWY_INLINE V<D> sigmoid(D d, V<D> x) {
  // e^-|x| never overflows, and for x < 0 the small result is e^x / (1 + e^x) with its relative accuracy.
  const auto e = exp(d, hn::Neg(hn::Abs(x)));
  const auto top = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, hn::Set(d, 1.0f));
  return hn::Div(top, hn::Add(e, hn::Set(d, 1.0f)));
}

template <class D>
HWY_INLINE V<D> erf(D d, V<D> x) {
  const auto a = hn::Abs(x);
  const auto t = hn::Mul(x, x);
  const auto r = horner(d, t, 1.283791671e-01f, -3.761263848e-01f, 1.128378275e-01f, -2.686544582e-02f,
                        5.221074879e-03f, -8.484711466e-04f, 1.127054460e-04f, -9.680136708e-06f);
  const auto small = hn::MulAdd(x, r, x);
  // erf(a) = 1 - e^-g(a); beyond 4 it is 1 in float32.
  const auto b = clamp(a, hn::Set(d, 0.98f), hn::Set(d, 4.0f));
  const auto g = horner(d, b, -1.883855413e-04f, 1.129579926e+00f, 6.332171571e-01f, 1.084212810e-01f,
                        -2.520982059e-02f, 4.205090888e-03f, -4.414332010e-04f, 2.169424043e-05f);
  const auto large = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), exp(d, hn::Neg(g))), x);
  return hn::IfThenElse(hn::Gt(a, hn::Set(d, 1.0f)), large, small);  // NaN takes `small`
}

// Any scalar function, lane by lane: for the few inputs a vector formula leaves out.
template <class D, class F>
HWY_INLINE V<D> each_lane(D d, V<D> v, V<D> w, F f) {
  HWY_ALIGN float a[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float b[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, a);
  hn::Store(w, d, b);
  for (size_t i = 0; i < hn::Lanes(d); ++i) a[i] = f(a[i], b[i]);
  return hn::Load(d, a);
}

inline float sin_lane(float x, float) { return static_cast<float>(std::sin(static_cast<double>(x))); }
inline float cos_lane(float x, float) { return static_cast<float>(std::cos(static_cast<double>(x))); }
inline float pow_lane(float x, float y) {
  return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}

#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE V<D> sin(D d, V<D> x) {
  return each_lane(d, x, x, sin_lane);
}
template <class D>
HWY_INLINE V<D> cos(D d, V<D> x) {
  return each_lane(d, x, x, cos_lane);
}
template <class D>
HWY_INLINE V<D> pow(D d, V<D> x, V<D> y) {
  return each_lane(d, x, y, pow_lane);
}
#else

// The two halves of a float vector as doubles, and back.
template <class D>
struct Wide {
  using DD = hn::Repartition<double, D>;
  using DH = hn::Half<D>;
  V<DD> lo, hi;
};
template <class D>
HWY_INLINE Wide<D> widen(D d, V<D> v) {
  const typename Wide<D>::DD dd;
  const typename Wide<D>::DH dh;
  (void)d;
  return {hn::PromoteTo(dd, hn::LowerHalf(dh, v)), hn::PromoteTo(dd, hn::UpperHalf(dh, v))};
}
template <class D>
HWY_INLINE V<D> narrow(D d, const Wide<D>& w) {
  const typename Wide<D>::DH dh;
  return hn::Combine(d, hn::DemoteTo(dh, w.hi), hn::DemoteTo(dh, w.lo));
}

// r = x - q pi/2, in double: near a multiple of pi/2 float32 pieces would lose r's digits. Good for |x| <= 1e6.
template <class D>
HWY_INLINE V<D> reduce_half_pi(D d, V<D> x, V<D>& q) {
  const typename Wide<D>::DD dd;
  const Wide<D> w = widen(d, x);
  const auto scale = hn::Set(dd, 0.63661977236758134308), part1 = hn::Set(dd, 1.5707963267341256),
             part2 = hn::Set(dd, 6.077100506506192e-11);  // part1 has 33 bits: n * part1 is exact
  const Wide<D> n = {hn::Round(hn::Mul(w.lo, scale)), hn::Round(hn::Mul(w.hi, scale))};
  const Wide<D> r = {hn::NegMulAdd(n.lo, part2, hn::NegMulAdd(n.lo, part1, w.lo)),
                     hn::NegMulAdd(n.hi, part2, hn::NegMulAdd(n.hi, part1, w.hi))};
  q = narrow(d, n);
  return narrow(d, r);
}

// sin(x + shift pi/2)
template <class D>
HWY_INLINE V<D> sin_shifted(D d, V<D> x, int32_t shift) {
  const hn::Rebind<int32_t, D> di;
  const auto far = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, 1e6f)));
  V<D> q;
  const auto r = reduce_half_pi(d, hn::IfThenZeroElse(far, x), q);
  const auto quadrant = hn::Add(hn::ConvertTo(di, q), hn::Set(di, shift));
  const auto t = hn::Mul(r, r);
  const auto s = hn::MulAdd(hn::Mul(t, r),
                            horner(d, t, -1.666666664e-01f, 8.333329338e-03f, -1.983931938e-04f, 2.718162721e-06f), r);
  const auto c4 = horner(d, t, 4.166666662e-02f, -1.388888369e-03f, 2.479950348e-05f, -2.720885628e-07f);
  const auto c = hn::Add(hn::MulAdd(hn::Mul(t, t), c4, hn::Mul(t, hn::Set(d, -0.5f))), hn::Set(d, 1.0f));
  const auto one = hn::Set(di, 1);
  const auto odd = hn::Eq(hn::And(quadrant, one), one);
  auto y = hn::IfThenElse(hn::RebindMask(d, odd), c, s);
  const auto sign = hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(di, 2)));
  y = hn::BitCast(d, hn::Xor(hn::BitCast(di, y), sign));
  if (shift == 0) y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // keeps -0
  if (HWY_UNLIKELY(!hn::AllFalse(d, far)))
    y = hn::IfThenElse(far, each_lane(d, x, x, shift == 0 ? sin_lane : cos_lane), y);
  return y;
}

template <class D>
HWY_INLINE V<D> sin(D d, V<D> x) {
  return sin_shifted(d, x, 0);
}
template <class D>
HWY_INLINE V<D> cos(D d, V<D> x) {
  return sin_shifted(d, x, 1);
}

// |x|^y through 2^(y log2 |x|) in double, rounded to float once. m = 2^-e |x| in [sqrt(1/2), sqrt(2)).
template <class DD>
HWY_INLINE V<DD> pow_half(DD dd, V<DD> m, V<DD> e, V<DD> y) {
  const hn::Rebind<int64_t, DD> dl;
  const auto one = hn::Set(dd, 1.0);
  const auto s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const auto t = hn::Mul(s, s);
  const auto atanh = hn::Mul(s, horner(dd, t, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15));
  const auto log2 = hn::MulAdd(atanh, hn::Set(dd, 2.88539008177792681472), e);
  const auto z = clamp(hn::Mul(y, log2), hn::Set(dd, -200.0), hn::Set(dd, 200.0));
  const auto n = hn::Round(z);
  const auto p = horner(dd, hn::Sub(z, n), 1.0, 0.6931471805599556, 0.24022650695639544, 0.0555041086641927,
                        0.009618129194099281, 0.0013333558267473494, 0.00015403433629968767, 1.5252636897381714e-05,
                        1.3259672985448843e-06, 1.0212411936924038e-07);
  // n + 1023 in the exponent field: adding 2^52 leaves n in the low bits of the mantissa.
  const auto field = hn::BitCast(dl, hn::Add(n, hn::Set(dd, 4503599627370496.0 + 1023)));
  return hn::Mul(p, hn::BitCast(dd, hn::ShiftLeft<52>(field)));
}

template <class D>
HWY_INLINE V<D> pow(D d, V<D> x, V<D> y) {
  const hn::Rebind<int32_t, D> di;
  const typename Wide<D>::DD dd;
  const auto a = hn::Abs(x);
  // Not covered: x or y not finite, x zero or subnormal, a negative x to a power that is no integer.
  const auto whole = hn::Eq(hn::Round(y), y);
  const auto small_power = hn::Lt(hn::Abs(y), hn::Set(d, 8388608.0f));
  auto covered = hn::And(hn::Ge(a, hn::Set(d, 1.17549435e-38f)), hn::Lt(a, hn::Set(d, kInf)));
  covered = hn::And(covered, small_power);
  covered = hn::And(covered, hn::Or(hn::Gt(x, hn::Zero(d)), whole));
  const auto safe_x = hn::IfThenElse(covered, a, hn::Set(d, 1.0f));
  const auto safe_y = hn::IfThenElseZero(covered, y);

  const auto root = hn::Set(di, 0x3f3504f3);
  const auto shifted = hn::Sub(hn::BitCast(di, safe_x), root);
  const auto e = widen(d, hn::ConvertTo(d, hn::ShiftRight<23>(shifted)));
  const auto m = widen(d, hn::BitCast(d, hn::Add(hn::And(shifted, hn::Set(di, 0x7fffff)), root)));
  const auto p = widen(d, safe_y);
  auto out = narrow<D>(d, {pow_half(dd, m.lo, e.lo, p.lo), pow_half(dd, m.hi, e.hi, p.hi)});
#if HWY_TARGET == HWY_EMU128
  out = hn::IfThenElse(hn::Eq(out, hn::Set(d, 3.40282347e+38f)), hn::Set(d, kInf), out);  // its DemoteTo saturates
#endif

  const auto odd = hn::ShiftLeft<31>(hn::ConvertTo(di, safe_y));
  const auto sign = hn::IfThenElseZero(hn::RebindMask(di, hn::Lt(x, hn::Zero(d))), odd);
  out = hn::BitCast(d, hn::Xor(hn::BitCast(di, out), sign));
  if (HWY_UNLIKELY(!hn::AllTrue(d, covered))) out = hn::IfThenElse(covered, out, each_lane(d, x, y, pow_lane));
  return out;
}
#endif  // not SCALAR

}  // namespace simd
}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
