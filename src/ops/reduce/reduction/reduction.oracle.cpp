// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reduce/dims.h"
#include "ops/reduce/reduction/spec.h"

namespace nbx {
namespace {

double total(Fold kind, const std::vector<double>& v, double shift, double q) {
  double t = kind == Fold::prod ? 1 : 0;
  bool first = true, nan = false;
  for (const double x : v) {
    nan = nan || std::isnan(x);
    switch (kind) {
      case Fold::sum:
        t += x;
        break;
      case Fold::nansum:
        t += std::isnan(x) ? 0 : x;
        break;
      case Fold::abs:
        t += std::fabs(x);
        break;
      case Fold::square:
        t += x * x;
        break;
      case Fold::nonzero:
        t += x != 0;
        break;
      case Fold::centred:
        t += x - shift;
        break;
      case Fold::centred_square:
        t += (x - shift) * (x - shift);
        break;
      case Fold::exp_shifted:
        t += std::exp(x - shift);
        break;
      case Fold::prod:
        t *= x;
        break;
      case Fold::power:
        t += std::pow(std::fabs(x), q);
        break;
      case Fold::max:
        t = first ? x : std::max(t, x);
        break;
      case Fold::min:
        t = first ? x : std::min(t, x);
        break;
      case Fold::absmax:
        t = first ? std::fabs(x) : std::max(t, std::fabs(x));
        break;
      case Fold::absmin:
        t = first ? std::fabs(x) : std::min(t, std::fabs(x));
        break;
    }
    first = false;
  }
  const bool extreme = kind == Fold::max || kind == Fold::min || kind == Fold::absmax || kind == Fold::absmin;
  if (extreme && nan) return std::nan("");
  if (extreme && first) return kind == Fold::min || kind == Fold::absmin ? INFINITY : -INFINITY;
  return t;
}

// Sums and products of integers wrap at 64 bits; extremes are exact.
int64_t whole_total(Fold kind, const std::vector<int64_t>& v) {
  uint64_t t = kind == Fold::prod ? 1 : 0;
  bool first = true;
  for (const int64_t x : v) {
    const uint64_t u = static_cast<uint64_t>(x);
    switch (kind) {
      case Fold::prod:
        t *= u;
        break;
      case Fold::max:
        t = first ? u : static_cast<uint64_t>(std::max(static_cast<int64_t>(t), x));
        break;
      case Fold::min:
        t = first ? u : static_cast<uint64_t>(std::min(static_cast<int64_t>(t), x));
        break;
      case Fold::abs:
        t += x < 0 ? 0 - u : u;
        break;
      case Fold::square:
        t += u * u;
        break;
      case Fold::nonzero:
        t += x != 0;
        break;
      default:
        t += u;
    }
    first = false;
  }
  return static_cast<int64_t>(t);
}

double finished(const ReductionSpec& s, double t, double shift, double n) {
  switch (s.finish) {
    case Finish::total:
      return t;
    case Finish::mean:
      return t / n;
    case Finish::root:
      return std::sqrt(t);
    case Finish::power_root:
      return std::pow(t, 1 / s.passes.q);
    case Finish::log:
      return std::log(t);
    case Finish::log_sum_exp:
      return std::log(t) + shift;
    case Finish::variance:
      return t / std::max(0.0, n - s.correction);
    case Finish::deviation:
      return std::sqrt(t / std::max(0.0, n - s.correction));
    case Finish::all:
      return t == n;
    case Finish::any:
      return t != 0;
  }
  return t;
}

}  // namespace

std::vector<Tensor> reduction_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const ReductionSpec s = reduction_spec(a);
  const Tensor& x = operands[0];
  const auto terms = reduction_terms(x.shape(), s.over);
  const Shape shape = reduced_shape(x.shape(), s.over, s.keepdim);
  if (is_integral(s.read, true) && is_integral(x.dtype(), true)) {
    const auto values = x.to_ints();
    std::vector<int64_t> out;
    for (const auto& places : terms) {
      std::vector<int64_t> v;
      for (const int64_t p : places) v.push_back(values[static_cast<size_t>(p)]);
      const int64_t t = whole_total(s.passes.first, v), n = static_cast<int64_t>(v.size());
      if (s.finish == Finish::mean)
        out.push_back(n == 0 ? 0 : t / n);
      else if (s.finish == Finish::all)
        out.push_back(t == n);
      else if (s.finish == Finish::any)
        out.push_back(t != 0);
      else
        out.push_back(t);
    }
    return {Tensor::of<int64_t>(shape, std::span<const int64_t>(out)).to(s.out)};
  }
  const auto values = x.to_doubles();
  std::vector<double> out, means;
  for (const auto& places : terms) {
    std::vector<double> v;
    for (const int64_t p : places) v.push_back(values[static_cast<size_t>(p)]);
    double t = total(s.passes.first, v, 0, s.passes.q), shift = 0;
    const double n = static_cast<double>(v.size());
    if (s.passes.two) {
      shift = s.passes.between == Passes::Between::mean ? t / n : std::isinf(t) ? 0 : t;
      t = total(s.passes.second, v, shift, 0);
    }
    out.push_back(finished(s, t, shift, n));
    means.push_back(std::isinf(shift) && n > 1 ? NAN : shift);  // as ATen's running mean
  }
  std::vector<Tensor> results = {Tensor::of<double>(shape, std::span<const double>(out))};
  if (!is_floating(s.out)) results[0] = results[0].to(s.out);
  if (s.wants_mean) results.push_back(Tensor::of<double>(shape, std::span<const double>(means)));
  return results;
}

}  // namespace nbx
