// SPDX-License-Identifier: Apache-2.0
// Scalar formulas of the two-operand ops, in double and in exact integers, for the oracles. x: the operands, p: the
// scalars.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nbx::pointwise::oracles {

using X = const double*;
using N = const int64_t*;

inline double floor_mod(double a, double b) {
  const double m = std::fmod(a, b);
  return m != 0 && std::signbit(m) != std::signbit(b) ? m + b : m;
}
// Steps in the dtype's arithmetic, since a floor shows a rounding.
template <class Round>
double floor_quotient(double a, double b, Round round) {
  if (b == 0) return a / b;
  const double m = std::fmod(a, b);
  double q = round(round(a - m) / b);
  if (m != 0 && std::signbit(m) != std::signbit(b)) q = round(q - 1);
  if (q == 0) return std::copysign(0.0, a / b);
  return std::floor(q) + (round(q - std::floor(q)) > 0.5 ? 1 : 0);
}
inline int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
inline int64_t int_power(int64_t x, int64_t e) {
  if (e < 0) return x == 1 ? 1 : x == -1 ? (e % 2 ? -1 : 1) : 0;
  uint64_t out = 1;
  for (int64_t i = 0; i < e; ++i) out *= static_cast<uint64_t>(x);
  return static_cast<int64_t>(out);
}
inline double nan_max(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
inline double nan_min(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }

}  // namespace nbx::pointwise::oracles
