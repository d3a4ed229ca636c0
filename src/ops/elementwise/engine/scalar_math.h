// SPDX-License-Identifier: Apache-2.0
// Scalar formulas in double: the float64 lanes, and the functions that no model uses enough to deserve a vector form.
#pragma once
#include <cmath>
#include <limits>

namespace nbx::pointwise {

inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
// x/2 erfc(-x / sqrt 2). Far below zero erfc multiplies its argument's rounding by x^2, so the argument's lost part is
// added to first order.
inline double gelu(double x) {
  constexpr double root = -0.70710678118654752440, rest = 4.8336466567264567e-17;
  const double y = x * root;
  const double lost = std::fma(x, root, -y) + x * rest;
  const double tail = std::erfc(y);
  const double slope = std::isfinite(lost) ? 1.12837916709551257390 * std::exp(-y * y) * lost : 0.0;
  return 0.5 * x * (tail - slope);
}
inline double gelu_tanh(double x) {
  // x/2 (1 + tanh u) = x sigmoid(2u), without the cancellation.
  return x * sigmoid(2.0 * 0.79788456080286535588 * (x + 0.044715 * x * x * x));
}
inline double silu(double x) { return x * sigmoid(x); }
// x tanh(log(1 + e^x)); with e = e^-|x| nothing overflows.
inline double mish(double x) {
  const double e = std::exp(-std::fabs(x));
  if (x != x) return x;
  if (x >= 0) return x * ((1.0 + 2.0 * e) / (1.0 + 2.0 * e + 2.0 * e * e));
  const double n = e * (e + 2.0);
  return n == 0 ? x * e : x * (n / (n + 2.0));
}
inline double softplus(double x, double beta, double threshold) {
  return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
}
inline double log_sigmoid(double x) { return (x < 0 ? x : x != x ? x : 0.0) - std::log1p(std::exp(-std::fabs(x))); }
inline double elu(double x, double alpha, double scale, double input_scale) {
  return x > 0 ? scale * x : scale * alpha * std::expm1(input_scale * x);
}

// Python's %, and the // that goes with it. A step computed in T, as the dtype's own arithmetic would.
template <class T>
T remainder_floor(T a, T b) {
  T m = std::fmod(a, b);
  if (m != 0 && (m < 0) != (b < 0)) m += b;
  return m;
}
template <class T, class Round>
T divide_floor(T a, T b, Round round) {
  if (b == 0) return a / b;
  const T m = std::fmod(a, b);
  T q = round(round(a - m) / b);
  if (m != 0 && (m < 0) != (b < 0)) q = round(q - 1);
  if (q == 0) return std::copysign(T{0}, a / b);
  T whole = std::floor(q);
  if (round(q - whole) > T(0.5)) whole = round(whole + 1);
  return whole;
}

}  // namespace nbx::pointwise
