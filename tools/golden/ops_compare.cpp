// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/check.h"
#include "golden/ops.h"
#include "ops/compare.h"
#include "ops/eager.h"

namespace nbx {

namespace {

std::string place(const Shape& shape, int64_t flat) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    text = fmt::format("{}{}{}", flat % shape[d], text.empty() ? "" : ", ", text);
    flat /= shape[d];
  }
  return "[" + text + "]";
}

std::string integers_differ(const Tensor& got, const Tensor& want) {
  const std::vector<int64_t> g = got.to_ints(), w = want.to_ints();
  int64_t bad = 0, first = -1;
  double largest = 0;
  for (size_t i = 0; i < g.size(); ++i) {
    if (g[i] == w[i]) continue;
    if (bad++ == 0) first = static_cast<int64_t>(i);
    largest = std::max(largest, std::fabs(static_cast<double>(g[i]) - static_cast<double>(w[i])));
  }
  if (bad == 0) return {};
  return fmt::format("element {} is {}, should be {}; {} of {} differ, largest error {:.6g}", place(got.shape(), first),
                     g[static_cast<size_t>(first)], w[static_cast<size_t>(first)], bad, g.size(), largest);
}

// Real and imaginary parts beside each other; `parts` of them an element.
std::vector<double> parts_of(const Tensor& tensor, int parts) {
  if (parts == 1) return tensor.to_doubles();
  const Tensor dense = tensor.contiguous();
  const size_t n = static_cast<size_t>(dense.numel()) * 2;
  std::vector<double> out(n);
  if (n == 0) return out;
  if (dense.dtype() == DType::complex64) {
    const auto* p = static_cast<const float*>(dense.raw());
    std::copy(p, p + n, out.begin());
  } else {
    const auto* p = static_cast<const double*>(dense.raw());
    std::copy(p, p + n, out.begin());
  }
  return out;
}

DType part_type(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  return dtype == DType::complex128 ? DType::float64 : dtype;
}

// The oracle as the result's dtype would hold it.
double rounded(double v, DType dtype) {
  if (dtype == DType::float32) return static_cast<float>(v);
  if (dtype == DType::float16) return to_float(to_float16(v));
  return dtype == DType::bfloat16 ? to_float(to_bfloat16(v)) : v;
}

bool same_class(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}
bool same_value(double a, double b, bool signed_zero) {
  if (std::isnan(a) && std::isnan(b)) return true;
  return a == b && (!signed_zero || std::signbit(a) == std::signbit(b));
}

}  // namespace

std::string golden_difference(const Tensor& got, const GoldenWant& want) {
  if (is_integral(got.dtype(), true)) return integers_differ(got, want.out);
  const int parts = is_complex(got.dtype()) ? 2 : 1;
  const DType dtype = part_type(got.dtype());
  const std::vector<double> g = parts_of(got, parts), out = parts_of(want.out, parts);
  std::vector<double> o = want.oracle ? parts_of(*want.oracle, parts) : out;
  if (want.discontinuous)
    for (size_t i = 0; i < o.size(); ++i)
      if (!want.class_diff || same_class(out[i], rounded(o[i], dtype))) o[i] = out[i];
  double scale = 0;  // the largest finite |oracle|; of complex numbers, the modulus
  for (size_t i = 0; i < o.size(); i += static_cast<size_t>(parts)) {
    const double size = parts == 2 ? std::hypot(o[i], o[i + 1]) : std::fabs(o[i]);
    if (std::isfinite(size)) scale = std::max(scale, size);
  }
  const GoldenBound& b = want.bound;
  int64_t bad = 0, first = -1;
  double largest = 0, largest_ulp = 0;
  for (size_t i = 0; i < g.size(); ++i) {
    const double center = rounded(o[i], dtype);
    const double error = std::isfinite(g[i]) && std::isfinite(o[i]) ? std::fabs(g[i] - o[i]) : 0;
    const double ulp = ulp_at(dtype, o[i]);
    largest = std::max(largest, error);
    largest_ulp = std::max(largest_ulp, error / ulp);
    bool ok = same_value(g[i], out[i], b.kind == GoldenBound::Kind::exact && want.signed_zero);
    // Where the reference is off by class, the oracle is right.
    if (!ok && want.class_diff && !same_class(out[i], center)) ok = same_value(g[i], center, false);
    if (!ok && b.kind != GoldenBound::Kind::exact) {
      if (!std::isfinite(g[i]) || !std::isfinite(center)) {
        ok = same_class(g[i], center) || (want.class_diff && same_class(g[i], out[i]) && !std::isfinite(g[i]));
      } else if (!std::isfinite(o[i])) {
        ok = false;
      } else if (b.kind == GoldenBound::Kind::ulp) {
        ok = error <= std::max(b.ulp * ulp, b.floor);
      } else {
        // Constant rows normalise to zero; what is left is the rounding of their mean.
        ok = error <= std::max(ulp, b.nrm * scale) + (scale == 0 ? 1e-4 : b.floor);
      }
    }
    if (!ok && bad++ == 0) first = static_cast<int64_t>(i);
  }
  if (bad == 0) return {};
  const auto at = static_cast<size_t>(first);
  const std::string part = parts == 1 ? "" : first % 2 == 0 ? " (real part)" : " (imaginary part)";
  return fmt::format("element {}{} is {:.9g}, should be {:.9g}{}; {} of {} differ, largest error {:.4g} ({:.4g} ulp)",
                     place(got.shape(), first / parts), part, g[at], o[at],
                     want.oracle ? fmt::format(" (the reference has {:.9g})", out[at]) : "", bad, g.size(), largest,
                     largest_ulp);
}

Tensor selected_values(const Tensor& input, int64_t dim, const Tensor& indices) {
  if (input.rank() == 0) return input;
  return call("aten::gather", {input, val(dim), indices}).at(0);
}

std::string selection_difference(const Tensor& input, int64_t dim, const Tensor& indices, const Tensor& values) {
  if (indices.numel() == 0) return {};
  const Tensor in = input.rank() == 0 ? input.reshape({1}) : input;
  const Shape shape = input.rank() == 0 ? Shape{1} : indices.shape();
  const int64_t d = dim < 0 ? dim + in.rank() : dim;
  const int64_t extent = in.dim(d), taken = shape[static_cast<size_t>(d)];
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(d) + 1; i < shape.size(); ++i) inner *= shape[i];
  const bool whole = is_integral(in.dtype(), true);
  const std::vector<int64_t> index = indices.to_ints();
  const std::vector<int64_t> ints = whole ? in.to_ints() : std::vector<int64_t>(),
                             want_ints = whole ? values.to_ints() : std::vector<int64_t>();
  const std::vector<double> numbers = whole ? std::vector<double>() : in.to_doubles(),
                            want_numbers = whole ? std::vector<double>() : values.to_doubles();
  std::set<std::pair<int64_t, int64_t>> seen;  // (row, index)
  for (size_t i = 0; i < index.size(); ++i) {
    const auto flat = static_cast<int64_t>(i);
    const int64_t outer = flat / (taken * inner), column = flat % inner;
    if (index[i] < 0 || index[i] >= extent)
      return fmt::format("index {} is {}, dim {} has {} elements", place(shape, flat), index[i], d, extent);
    const auto source = static_cast<size_t>((outer * extent + index[i]) * inner + column);
    const bool same = whole ? ints[source] == want_ints[i] : same_value(numbers[source], want_numbers[i], false);
    if (!same) return fmt::format("index {} is {}, which does not select the value", place(shape, flat), index[i]);
    if (!seen.emplace(outer * inner + column, index[i]).second)
      return fmt::format("index {} is {} a second time", place(shape, flat), index[i]);
  }
  return {};
}

}  // namespace nbx
