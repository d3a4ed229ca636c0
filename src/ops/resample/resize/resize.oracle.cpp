// SPDX-License-Identifier: Apache-2.0
// The oracle walks output elements and sums over all taps of all dims; the tables it reads are proven by
// resize.test.cpp.
#include <algorithm>
#include <cmath>

#include "ops/resample/resize/resize.h"

namespace nbx {

std::vector<Tensor> resize_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const ResizeSpec s = resize_spec(a);
  const Tensor& in = operands[0];
  auto x = in.to_doubles();
  Shape now = in.shape();
  for (size_t d = s.axes.size(); d-- > 0;) {
    const ResizeAxis& axis = s.axes[d];
    if (axis.index.empty()) continue;
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < now.size(); ++i)
      if (i != d) (i < d ? outer : inner) *= now[i];
    std::vector<double> y(static_cast<size_t>(outer * axis.out * inner));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < axis.out; ++i)
        for (int64_t j = 0; j < inner; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < axis.taps; ++k) {
            const auto tap = static_cast<size_t>(i * axis.taps + k);
            sum += (axis.weight.empty() ? 1 : axis.weight[tap]) *
                   x[static_cast<size_t>((o * axis.in + axis.index[tap]) * inner + j)];
          }
          if (s.rounds_each) sum = std::clamp(std::floor(sum + 0.5), 0.0, 255.0);
          if (!axis.outside.empty() && axis.outside[static_cast<size_t>(i)]) sum = s.extrapolation;
          y[static_cast<size_t>((o * axis.out + i) * inner + j)] = sum;
        }
    x = std::move(y);
    now[d] = axis.out;
  }
  Tensor out = Tensor::of<double>(now, std::span<const double>(x));
  if (is_floating(in.dtype())) return {out};
  for (double& v : x) v = std::nearbyint(v);
  return {Tensor::of<double>(now, std::span<const double>(x)).to(in.dtype())};
}

namespace {
Shape picture(int spatial) {
  return spatial == 1 ? Shape{2, 3, 7} : spatial == 2 ? Shape{2, 3, 5, 7} : Shape{1, 2, 3, 4, 5};
}
Ints sizes_of(int spatial, int64_t size) {
  Ints sizes;
  for (int i = 0; i < spatial; ++i) sizes.push_back(size + i);
  return sizes;
}
SampleArg factors(int spatial, double f) { return Value(Doubles(static_cast<size_t>(spatial), f)); }
}  // namespace

void nearest_samples(int spatial, bool vec, SampleSink& s) {
  for (const int64_t size : {1, 4, 6, 13})
    s.add({randn(picture(spatial)), ints(sizes_of(spatial, size)), vec ? none : none});
  if (vec)
    for (const double f : {2.0, 3.0, 1.5, 0.5}) s.add({randn(picture(spatial)), none, factors(spatial, f)});
  s.add({strided(randn(picture(spatial))), ints(sizes_of(spatial, 8)), none});
  s.add({rand_ints(picture(spatial), 0, 255, DType::uint8), ints(sizes_of(spatial, 8)), none});
  s.error(Code::shape, {"float32[3]"}, {randn({3}), ints(sizes_of(spatial, 2)), none});
  s.error(Code::shape, {"0"}, {randn(picture(spatial)), ints(Ints(static_cast<size_t>(spatial), 0)), none});
}
void linear_samples(int spatial, bool vec, SampleSink& s) {
  for (const bool align : {false, true}) {
    for (const int64_t size : {1, 4, 7, 13})
      s.add({randn(picture(spatial)), ints(sizes_of(spatial, size)), val(align), none});
    if (vec)
      for (const double f : {2.0, 1.3, 0.6}) s.add({randn(picture(spatial)), none, val(align), factors(spatial, f)});
  }
  s.add({strided(randn(picture(spatial))), ints(sizes_of(spatial, 8)), val(false), none});
  s.error(Code::shape, {"float32[3]"}, {randn({3}), ints(sizes_of(spatial, 2)), val(false), none});
}
void onnx_resize_samples(SampleSink& s) {
  const auto scales = [](double h, double w) { return SampleArg(Value(Doubles{1, 1, h, w})); };
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* where :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      s.add({randn({1, 2, 5, 6}), none, scales(2.0, 1.7), none, val(mode), val(where)});
      s.add({randn({1, 2, 5, 6}), none, none, ints({1, 2, 3, 4}), val(mode), val(where)});
    }
    s.add({randn({1, 2, 5, 6}), Value(Doubles{0.2, -0.1, 0.9, 1.2}), none, ints({4, 9}), val(mode),
           val("tf_crop_and_resize"), val("ceil"), val(-0.5), val(false), val(7.0), val("stretch"), val(false),
           ints({2, 3})});
    s.add({randn({2, 3, 8, 9}), none, none, ints({5, 4}), val(mode), val("half_pixel"), val("round_prefer_ceil"),
           val(-0.75), val(true), val(0.0), val("not_larger"), val(true), ints({-1, 0})});
  }
  s.add({randn({1, 1, 3, 3000}), none, scales(1.0, 1.5), none, val("linear")});
  s.add_as_is({rand_ints({1, 1, 4, 4}, 0, 255, DType::uint8), none, scales(1.6, 2.0), none, val("cubic")});
  s.error(Code::value, {"bicubic"}, {randn({1, 1, 4, 4}), none, scales(2, 2), none, val("bicubic")});
  s.error(Code::value, {"3 scales"}, {randn({1, 1, 4, 4}), none, Value(Doubles{1, 2, 2}), none});
}

}  // namespace nbx
