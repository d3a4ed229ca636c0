// SPDX-License-Identifier: Apache-2.0
#include "ops/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nbx {

namespace {

struct FloatFacts {
  int mantissa_bits;  // explicit ones
  int min_exponent;   // of the smallest normal
};

FloatFacts facts(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return {10, -14};
    case DType::bfloat16:
      return {7, -126};
    case DType::float64:
      return {52, -1022};
    case DType::float8_e4m3fn:
      return {3, -6};
    case DType::float8_e5m2:
      return {2, -14};
    default:
      return {23, -126};
  }
}

void note(Comparison& c, int64_t i, double got, double want) {
  if (!c.ok) return;
  c.ok = false;
  c.first_bad = i;
  c.got = got;
  c.want = want;
}

}  // namespace

double ulp_at(DType dtype, double v) {
  const FloatFacts f = facts(dtype);
  const double a = std::fabs(v);
  const int exponent = a == 0 || !std::isfinite(a) ? f.min_exponent : std::max(std::ilogb(a), f.min_exponent);
  return std::ldexp(1.0, exponent - f.mantissa_bits);
}

const Tolerance& tolerance_for(const Tolerances& t, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return t.f16;
    case DType::bfloat16:
      return t.bf16;
    case DType::float64:
      return t.f64;
    default:
      return t.f32;
  }
}

std::string Comparison::text() const {
  if (ok) return fmt::format("equal within tolerance, largest error {:.3g}", largest_error);
  return fmt::format("element {}: got {:.9g}, expected {:.9g}; largest error {:.3g} ({:.3g} ulp)", first_bad, got, want,
                     largest_error, largest_ulp);
}

Comparison compare_with_oracle(const Tensor& got, const Tensor& oracle, const Tolerances& tolerances) {
  Comparison c;
  require(got.shape() == oracle.shape(), Code::shape, "result has shape {}, the oracle {}", to_string(got.shape()),
          to_string(oracle.shape()));
  if (!is_floating(got.dtype())) {
    if (is_complex(got.dtype())) {
      const auto a = got.to_bytes(), b = oracle.to(got.dtype()).to_bytes();
      if (a != b) note(c, 0, 0, 0);
      return c;
    }
    const auto a = got.to_ints(), b = oracle.to(got.dtype()).to_ints();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      note(c, static_cast<int64_t>(i), static_cast<double>(a[i]), static_cast<double>(b[i]));
      c.largest_error = std::max(c.largest_error, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return c;
  }
  const Tolerance& t = tolerance_for(tolerances, got.dtype());
  const auto g = got.to_doubles(), exact = oracle.to_doubles(), rounded = oracle.to(got.dtype()).to_doubles();
  double largest = 0;
  for (size_t i = 0; i < g.size(); ++i)
    if (std::isfinite(rounded[i])) largest = std::max(largest, std::fabs(exact[i]));
  for (size_t i = 0; i < g.size(); ++i) {
    if (std::isnan(g[i]) && std::isnan(rounded[i])) continue;
    if (g[i] == rounded[i]) continue;
    const double step = ulp_at(got.dtype(), exact[i]);
    if (!std::isfinite(g[i]) || !std::isfinite(rounded[i])) {
      // On the edge of overflow the neighbour is as right as infinity.
      const double edge = std::isinf(g[i]) ? std::fabs(rounded[i]) : std::fabs(g[i]);
      const bool at_edge = t.ulp > 0 && std::isfinite(edge) && !std::isnan(g[i]) && !std::isnan(rounded[i]) &&
                           std::signbit(g[i]) == std::signbit(rounded[i]) &&
                           !std::isfinite(static_cast<float>(edge + 2 * t.ulp * ulp_at(got.dtype(), edge)));
      if (!at_edge) note(c, static_cast<int64_t>(i), g[i], rounded[i]);
      continue;
    }
    const double error = std::fabs(g[i] - exact[i]);
    c.largest_error = std::max(c.largest_error, error);
    c.largest_ulp = std::max(c.largest_ulp, error / step);
    const double allowed = t.nrm > 0 ? std::max(step, t.nrm * largest) + t.floor : std::max(t.ulp * step, t.floor);
    if (error > allowed) note(c, static_cast<int64_t>(i), g[i], exact[i]);
  }
  return c;
}

Comparison compare_close(const Tensor& got, const Tensor& want, double atol, double rtol) {
  Comparison c;
  require(got.shape() == want.shape(), Code::shape, "result has shape {}, expected {}", to_string(got.shape()),
          to_string(want.shape()));
  const auto g = got.to_doubles(), w = want.to_doubles();
  for (size_t i = 0; i < g.size(); ++i) {
    if (g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i]))) continue;
    const double error = std::fabs(g[i] - w[i]);
    if (std::isfinite(error)) c.largest_error = std::max(c.largest_error, error);
    if (!(error <= atol + rtol * std::fabs(w[i])) || !std::isfinite(w[i])) note(c, static_cast<int64_t>(i), g[i], w[i]);
  }
  return c;
}

}  // namespace nbx
