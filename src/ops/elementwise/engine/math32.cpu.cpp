// SPDX-License-Identifier: Apache-2.0
// NBX_MATH_FNS for float lanes: vector forms for what models use, the rest through double (one rounding).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/engine/math32.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd_math.h"
#include "ops/elementwise/engine/functions.h"
#include "ops/elementwise/engine/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::pointwise {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = nbx::HWY_NAMESPACE::simd;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

namespace math32 {

#define NBX_V1(name, expression)                                            \
  void name(const Block& b) {                                               \
    const D d;                                                              \
    const float* in = static_cast<const float*>(b.in[0]);                   \
    float* out = static_cast<float*>(b.out);                                \
    for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d))) { \
      const V x = hn::LoadU(d, in + i);                                     \
      hn::StoreU(expression, d, out + i);                                   \
    }                                                                       \
  }
#define NBX_V2(name, expression)                                            \
  void name(const Block& b) {                                               \
    const D d;                                                              \
    const float* in = static_cast<const float*>(b.in[0]);                   \
    const float* with = static_cast<const float*>(b.in[1]);                 \
    float* out = static_cast<float*>(b.out);                                \
    for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d))) { \
      const V x = hn::LoadU(d, in + i), y = hn::LoadU(d, with + i);         \
      hn::StoreU(expression, d, out + i);                                   \
    }                                                                       \
  }
#define NBX_S1(name, expression)                          \
  void name(const Block& b) {                             \
    const float* in = static_cast<const float*>(b.in[0]); \
    float* out = static_cast<float*>(b.out);              \
    for (int64_t i = 0; i < b.n; ++i) {                   \
      const double x = in[i];                             \
      out[i] = static_cast<float>(expression);            \
    }                                                     \
  }
#define NBX_S2(name, expression)                            \
  void name(const Block& b) {                               \
    const float* in = static_cast<const float*>(b.in[0]);   \
    const float* with = static_cast<const float*>(b.in[1]); \
    float* out = static_cast<float*>(b.out);                \
    for (int64_t i = 0; i < b.n; ++i) {                     \
      const float x = in[i], y = with[i];                   \
      out[i] = expression;                                  \
    }                                                       \
  }
#define NBX_P(i) hn::Set(d, static_cast<float>(b.params->f[i]))

HWY_INLINE V exp2_of(D d, V x) {
  const hn::Rebind<int32_t, D> di;
  const V in = simd::clamp(x, hn::Set(d, -160.0f), hn::Set(d, 130.0f));
  const V n = hn::Round(in);
  const V y = hn::Add(simd::expm1_reduced(d, hn::Mul(hn::Sub(in, n), hn::Set(d, 0.693147181f))), hn::Set(d, 1.0f));
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(y, simd::power_of_2(d, half)), simd::power_of_2(d, hn::Sub(whole, half)));
}
HWY_INLINE V silu_of(D d, V x) { return hn::Mul(x, simd::sigmoid(d, x)); }
HWY_INLINE V gelu_of(D d, V x) {
  const V half = hn::Mul(x, hn::Set(d, 0.5f));
  return hn::MulAdd(half, simd::erf(d, hn::Mul(x, hn::Set(d, 0.707106781f))), half);
}
HWY_INLINE V gelu_tanh_of(D d, V x) {
  // x/2 (1 + tanh u) = x sigmoid(2u). Beyond 1e4 the cube could overflow, and the result is x or 0 long before.
  const V in = simd::clamp(x, hn::Set(d, -1e4f), hn::Set(d, 1e4f));
  const V cube = hn::Mul(hn::Mul(in, in), in);
  const V u = hn::MulAdd(cube, hn::Set(d, 0.0713548162726f), hn::Mul(in, hn::Set(d, 1.59576912161f)));
  const V y = hn::Mul(x, simd::sigmoid(d, u));
  return hn::IfThenElse(hn::Eq(x, hn::Set(d, -simd::kInf)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
}
HWY_INLINE V mish_of(D d, V x) {
  // tanh(log(1 + e^x)) is (1 + 2e) / (1 + 2e + 2e^2) with e = e^-x, or n / (n + 2) with n = e (e + 2), e = e^x.
  const V e = simd::exp(d, hn::Neg(hn::Abs(x)));
  const V one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f);
  const V top = hn::MulAdd(two, e, one);
  const V n = hn::MulAdd(e, e, hn::Add(e, e));
  const auto negative = hn::Lt(x, hn::Zero(d));
  const V above = hn::IfThenElse(negative, n, top);
  const V below = hn::IfThenElse(negative, hn::Add(n, two), hn::MulAdd(hn::Mul(two, e), e, top));
  return hn::Mul(x, hn::Div(above, below));
}
HWY_INLINE V softplus_of(D d, V x, V beta, V limit) {
  const V z = hn::Mul(x, beta);
  // Where z > threshold the exponential may be inf; it is not taken then.
  const V e = simd::exp(d, z);
  const V y = hn::Div(simd::log1p(d, e), beta);
  return hn::IfThenElse(hn::Gt(z, limit), x, y);
}
HWY_INLINE V log_sigmoid_of(D d, V x) {
  const V low = hn::IfThenZeroElse(hn::Gt(x, hn::Zero(d)), x);  // NaN stays
  return hn::Sub(low, simd::log1p(d, simd::exp(d, hn::Neg(hn::Abs(x)))));
}
HWY_INLINE V elu_of(D d, V x, V alpha, V scale, V input_scale) {
  const V y = hn::Mul(hn::Mul(scale, alpha), simd::expm1(d, hn::Mul(input_scale, x)));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Mul(scale, x), y);
}

NBX_V1(exp, simd::exp(d, x))
NBX_V1(exp2, exp2_of(d, x))
NBX_V1(expm1, simd::expm1(d, x))
NBX_V1(log, simd::log(d, x))
NBX_S1(log2, std::log2(x))
NBX_S1(log10, std::log10(x))
NBX_V1(log1p, simd::log1p(d, x))
NBX_V1(sin, simd::sin(d, x))
NBX_V1(cos, simd::cos(d, x))
NBX_S1(tan, std::tan(x))
NBX_V1(tanh, simd::tanh(d, x))
NBX_V1(sigmoid, simd::sigmoid(d, x))
NBX_V1(erf, simd::erf(d, x))
NBX_S1(erfc, std::erfc(x))
NBX_V1(silu, silu_of(d, x))
NBX_V1(gelu, gelu_of(d, x))
NBX_V1(gelu_tanh, gelu_tanh_of(d, x))
NBX_V1(mish, mish_of(d, x))
NBX_V1(softplus, softplus_of(d, x, NBX_P(0), NBX_P(1)))
NBX_V1(log_sigmoid, log_sigmoid_of(d, x))
NBX_V1(elu, elu_of(d, x, NBX_P(0), NBX_P(1), NBX_P(2)))
NBX_S1(asin, std::asin(x))
NBX_S1(acos, std::acos(x))
NBX_S1(atan, std::atan(x))
NBX_S1(sinh, std::sinh(x))
NBX_S1(cosh, std::cosh(x))
NBX_S1(asinh, std::asinh(x))
NBX_S1(acosh, std::acosh(x))
NBX_S1(atanh, std::atanh(x))
NBX_V2(pow, simd::pow(d, x, y))
NBX_S2(atan2, static_cast<float>(std::atan2(static_cast<double>(x), static_cast<double>(y))))
NBX_S2(fmod, std::fmod(x, y))
NBX_S2(remainder, remainder_floor(x, y))

// ATen divides half tensors in half arithmetic here, and the floor shows it.
void div_floor(const Block& b) {
  const float* x = static_cast<const float*>(b.in[0]);
  const float* y = static_cast<const float*>(b.in[1]);
  float* out = static_cast<float*>(b.out);
  const int64_t half = b.params->i[0];
  const auto round = [half](float v) {
    return half == 1 ? to_float(to_float16(v)) : half == 2 ? to_float(to_bfloat16(v)) : v;
  };
  for (int64_t i = 0; i < b.n; ++i) out[i] = divide_floor(x[i], y[i], round);
}

}  // namespace math32

const BlockFn* math32_all() {
#define NBX_ROW(name) &math32::name,
  static constexpr BlockFn table[] = {NBX_MATH_FNS(NBX_ROW)};
#undef NBX_ROW
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx::pointwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx::pointwise {
HWY_EXPORT(math32_all);
const BlockFn* math32_table() { return HWY_DYNAMIC_DISPATCH(math32_all)(); }
}  // namespace nbx::pointwise
#endif
