// SPDX-License-Identifier: Apache-2.0
// One rounding a step, in the order and the precision that ONNX names.
#include <cmath>

#include "ops/quant/quantize/quantize.h"

namespace nbx {

namespace {

double in_dtype(double v, DType dtype) {
  if (dtype == DType::float16) return to_float(to_float16(v));
  if (dtype == DType::bfloat16) return to_float(to_bfloat16(v));
  return static_cast<float>(v);
}
struct Limits {
  double low, high;
};
Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return {-128, 127};
    case DType::uint8:
      return {0, 255};
    case DType::int16:
      return {-32768, 32767};
    default:
      return {0, 65535};
  }
}
int64_t clip(double v, Limits l) {
  if (std::isnan(v)) return static_cast<int64_t>(l.low);
  return static_cast<int64_t>(std::fmin(std::fmax(v, l.low), l.high));
}
std::vector<double> zeros_of(const Args& a, const std::vector<Tensor>& in, size_t count) {
  const int zero = a.operand("zero_point");
  return zero < 0 ? std::vector<double>(count, 0.0) : in[static_cast<size_t>(zero)].to_doubles();
}

}  // namespace

std::vector<Tensor> quantize_oracle(const Args& a, const std::vector<Tensor>& in) {
  const auto x = in[0].to_doubles(), scale = in[1].to_doubles();
  const auto zero = zeros_of(a, in, scale.size());
  const auto at = scale_of_each(grain_of(a, a.tensor("self"), a.tensor("scale")));
  const DType to = quantised_dtype(a), division = division_dtype(a);
  std::vector<int64_t> whole;
  std::vector<double> real;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t s = static_cast<size_t>(at[i]);
    const double q = in_dtype(in_dtype(x[i], division) / in_dtype(scale[s], division), division);
    if (const double limit = static_cast<double>(float8_limit(to)); limit > 0) {
      const double v = q + zero[s];
      real.push_back(a.flag("saturate") && std::fabs(v) > limit ? std::copysign(limit, v) : v);
    } else {
      whole.push_back(clip(std::nearbyint(q) + zero[s], limits_of(to)));
    }
  }
  if (float8_limit(to) > 0) return {Tensor::of<double>(in[0].shape(), std::span<const double>(real))};
  return {Tensor::of<int64_t>(in[0].shape(), std::span<const int64_t>(whole))};
}

std::vector<Tensor> dequantize_oracle(const Args& a, const std::vector<Tensor>& in) {
  const auto x = in[0].to_doubles(), scale = in[1].to_doubles();
  const auto zero = zeros_of(a, in, scale.size());
  const auto at = scale_of_each(grain_of(a, a.tensor("self"), a.tensor("scale")));
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t s = static_cast<size_t>(at[i]);
    // int32 is rounded to float32 first, and halves are rounded from the float32 product.
    const double step = static_cast<float>(static_cast<float>(x[i]) - zero[s]);
    y.push_back(static_cast<float>(step * scale[s]));
  }
  return {Tensor::of<double>(in[0].shape(), std::span<const double>(y))};
}

std::vector<Tensor> dynamic_oracle(const Args&, const std::vector<Tensor>& in) {
  const auto x = in[0].to_doubles();
  double low = 0, high = 0;
  for (const double v : x) {
    low = std::fmin(low, v);  // a NaN is left out
    high = std::fmax(high, v);
  }
  const double width = high == low ? 1.0 : static_cast<float>(high - low);
  const double scale = static_cast<float>(width / 255);
  const double zero = static_cast<double>(clip(std::nearbyint(static_cast<float>(-low / scale)), {0, 255}));
  std::vector<int64_t> y;
  for (const double v : x) y.push_back(clip(std::nearbyint(static_cast<float>(v / scale)) + zero, {0, 255}));
  return {Tensor::of<int64_t>(in[0].shape(), std::span<const int64_t>(y)), Tensor::scalar(scale),
          Tensor::scalar(static_cast<int64_t>(zero))};
}

}  // namespace nbx
