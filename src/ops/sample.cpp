// SPDX-License-Identifier: Apache-2.0
#include "ops/sample.h"

#include <cmath>
#include <limits>

namespace nbx {

namespace {

// SplitMix64: tiny, well mixed, the same everywhere.
class Generator {
 public:
  Generator(const Shape& shape, uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {
    for (const int64_t e : shape) state_ = (state_ ^ static_cast<uint64_t>(e)) * 0xBF58476D1CE4E5B9ull + 7;
  }
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace

Tensor randn(const Shape& shape, uint64_t seed) {
  Tensor out = Tensor::empty(shape, DType::float32);
  Generator g(shape, seed);
  float* p = out.mutable_data<float>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double r = std::sqrt(-2 * std::log(1 - g.uniform()));
    p[i] = static_cast<float>(r * std::cos(6.283185307179586 * g.uniform()));
  }
  return out;
}

Tensor rand_uniform(const Shape& shape, double low, double high, uint64_t seed) {
  Tensor out = Tensor::empty(shape, DType::float32);
  Generator g(shape, seed);
  float* p = out.mutable_data<float>();
  for (int64_t i = 0; i < out.numel(); ++i) p[i] = static_cast<float>(low + (high - low) * g.uniform());
  return out;
}

Tensor rand_ints(const Shape& shape, int64_t low, int64_t high, DType dtype, uint64_t seed) {
  Tensor out = Tensor::empty(shape, DType::int64);
  Generator g(shape, seed);
  int64_t* p = out.mutable_data<int64_t>();
  for (int64_t i = 0; i < out.numel(); ++i)
    p[i] = low + static_cast<int64_t>(g.next() % static_cast<uint64_t>(high - low));
  return out.to(dtype);
}

Tensor special_floats() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  return Tensor::of<float>(
      {30}, {nan,    inf,     -inf,     0.0f,    -0.0f,   1.0f,     -1.0f, 1e-45f, -1e-45f, 1.17549435e-38f,
             1e-38f, 3.4e38f, -3.4e38f, 65504.f, 65520.f, -65520.f, 6e-8f, 0.5f,   -0.5f,   1.5f,
             2.5f,   -2.5f,   88.8f,    -88.8f,  104.f,   -104.f,   20.0f, 1e-4f,  -1e-4f,  3.1415927f});
}

Tensor strided(const Tensor& tensor) {
  if (tensor.rank() < 2) return spaced(tensor);
  const int64_t r = tensor.rank();
  return tensor.transpose(r - 1, r - 2).clone().transpose(r - 1, r - 2);
}

Tensor spaced(const Tensor& tensor) {
  if (tensor.rank() == 0) return tensor;
  Shape wide = tensor.shape();
  wide.back() *= 2;
  Tensor room = Tensor::zeros(wide, tensor.dtype());
  Tensor out = room.slice(-1, std::nullopt, std::nullopt, 2);
  if (out.numel() > 0) out.copy_(tensor);
  return out;
}

}  // namespace nbx
