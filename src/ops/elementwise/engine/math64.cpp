// SPDX-License-Identifier: Apache-2.0
// NBX_MATH_FNS for double lanes, one element at a time.
#include "ops/elementwise/engine/functions.h"
#include "ops/elementwise/engine/scalar_math.h"

namespace nbx::pointwise {
namespace {
namespace math64 {

#define NBX_F1(name, expression)                            \
  void name(const Block& b) {                               \
    const double* in = static_cast<const double*>(b.in[0]); \
    double* out = static_cast<double*>(b.out);              \
    [[maybe_unused]] const double* p = b.params->f;         \
    for (int64_t i = 0; i < b.n; ++i) {                     \
      const double x = in[i];                               \
      out[i] = expression;                                  \
    }                                                       \
  }
#define NBX_F2(name, expression)                              \
  void name(const Block& b) {                                 \
    const double* in = static_cast<const double*>(b.in[0]);   \
    const double* with = static_cast<const double*>(b.in[1]); \
    double* out = static_cast<double*>(b.out);                \
    for (int64_t i = 0; i < b.n; ++i) {                       \
      const double x = in[i], y = with[i];                    \
      out[i] = expression;                                    \
    }                                                         \
  }

NBX_F1(exp, std::exp(x))
NBX_F1(exp2, std::exp2(x))
NBX_F1(expm1, std::expm1(x))
NBX_F1(log, std::log(x))
NBX_F1(log2, std::log2(x))
NBX_F1(log10, std::log10(x))
NBX_F1(log1p, std::log1p(x))
NBX_F1(sin, std::sin(x))
NBX_F1(cos, std::cos(x))
NBX_F1(tan, std::tan(x))
NBX_F1(tanh, std::tanh(x))
NBX_F1(sigmoid, pointwise::sigmoid(x))
NBX_F1(erf, std::erf(x))
NBX_F1(erfc, std::erfc(x))
NBX_F1(silu, pointwise::silu(x))
NBX_F1(gelu, pointwise::gelu(x))
NBX_F1(gelu_tanh, pointwise::gelu_tanh(x))
NBX_F1(mish, pointwise::mish(x))
NBX_F1(softplus, pointwise::softplus(x, p[0], p[1]))
NBX_F1(log_sigmoid, pointwise::log_sigmoid(x))
NBX_F1(elu, pointwise::elu(x, p[0], p[1], p[2]))
NBX_F1(asin, std::asin(x))
NBX_F1(acos, std::acos(x))
NBX_F1(atan, std::atan(x))
NBX_F1(sinh, std::sinh(x))
NBX_F1(cosh, std::cosh(x))
NBX_F1(asinh, std::asinh(x))
NBX_F1(acosh, std::acosh(x))
NBX_F1(atanh, std::atanh(x))
NBX_F2(pow, std::pow(x, y))
NBX_F2(atan2, std::atan2(x, y))
NBX_F2(fmod, std::fmod(x, y))
NBX_F2(remainder, remainder_floor(x, y))
NBX_F2(div_floor, divide_floor(x, y, [](double v) { return v; }))

}  // namespace math64
}  // namespace

const BlockFn* math64_table() {
#define NBX_ROW(name) &math64::name,
  static constexpr BlockFn table[] = {NBX_MATH_FNS(NBX_ROW)};
#undef NBX_ROW
  return table;
}

}  // namespace nbx::pointwise
