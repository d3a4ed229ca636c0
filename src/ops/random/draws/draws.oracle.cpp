// SPDX-License-Identifier: Apache-2.0
// The streams again, word by word from the paper, and the samples.
#include <cmath>

#include "ops/random/draws/draws.h"

namespace nbx::draws {

namespace {

struct Pair {
  uint64_t high, low;
};
Pair product(uint64_t a, uint64_t b) { return {(a * b) / 4294967296u, (a * b) % 4294967296u}; }

// Words 0 and 1 of the element.
Pair words(uint64_t element, uint64_t key) {
  uint64_t x0 = element % 4294967296u, x1 = element / 4294967296u, x2 = 0, x3 = 0;
  for (uint64_t round = 0; round < 10; ++round) {
    const uint64_t k0 = (key + round * 0x9E3779B9u) % 4294967296u,
                   k1 = (key / 4294967296u + round * 0xBB67AE85u) % 4294967296u;
    const Pair p = product(x0, 0xD2511F53u), q = product(x2, 0xCD9E8D57u);
    x0 = q.high ^ x1 ^ k0;
    x1 = q.low;
    x2 = p.high ^ x3 ^ k1;
    x3 = p.low;
  }
  return {x0, x1};
}

double unit(uint64_t word) {
  const auto number = static_cast<int32_t>(static_cast<uint32_t>(word));
  return static_cast<double>(static_cast<float>(number < 0 ? -(number + 1) : number) * 4.6566127342e-10f);
}

uint64_t key_of(const Draw& d) {
  uint64_t x = d.seed * 0x9E3779B97F4A7C15u + d.number * 0xBF58476D1CE4E5B9u;
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const Draw d = draw_of(a);
  const Shape shape = operands.empty() ? Shape(a.ints("size")) : operands[0].shape();
  std::vector<double> out;
  for (int64_t i = 0; i < numel(shape); ++i) {
    const Pair w = words(static_cast<uint64_t>(i), key_of(d));
    const double u = unit(w.high);
    switch (d.kind) {
      case Kind::normal:
        out.push_back(d.first +
                      d.second * std::sqrt(-2 * std::log(u < 1e-7 ? 1e-7 : u)) * std::cos(2 * M_PI * unit(w.low)));
        break;
      case Kind::uniform:
        out.push_back(d.first + (d.second - d.first) * u);
        break;
      case Kind::bernoulli:
        out.push_back(u < operands[0].data<double>()[i] ? 1 : 0);
        break;
    }
  }
  const Tensor wide = Tensor::of<double>(shape, out);
  const auto dtype = a.optional_dtype("dtype");
  return {dtype && !is_floating(*dtype) ? wide.to(*dtype) : wide};
}

void size_samples(SampleSink& s) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{0, 4}, Shape{10000}}) s.add({ints(shape)});
  s.add({ints({300})}, {{"seed", val(11)}, {"draw", val(2)}});
  s.add({ints({300})}, {{"seed", val(-5)}, {"draw", val(2)}});
  for (DType dtype : {DType::float64, DType::float16, DType::bfloat16})
    s.add({ints({2, 300})}, {{"dtype", val(dtype)}});
  s.error(Code::shape, {"-3"}, {ints({2, -3})});
  s.error(Code::dtype, {"int64", "dtype"}, {ints({2})}, {{"dtype", val(DType::int64)}});
}

void like_samples(SampleSink& s) {
  s.add({randn({3, 5})});
  s.add({strided(randn({4, 700}))}, {{"draw", val(1)}});
  s.add({randn({})});
  s.add({randn({0, 2})});
  s.add({rand_ints({2, 9}, 0, 5)}, {{"dtype", val(DType::float32)}});
  s.error(Code::dtype, {"int64", "dtype"}, {rand_ints({2}, 0, 5)});
}

void bernoulli_samples(SampleSink& s) {
  s.add({rand_uniform({5000}, 0, 1)});
  s.add({strided(rand_uniform({4, 70}, 0, 1))}, {{"seed", val(3)}, {"draw", val(1)}});
  s.add({special_floats()});
  s.add({rand_uniform({}, 0, 1)});
  s.add({rand_uniform({0}, 0, 1)});
  for (DType dtype : {DType::bool_, DType::int64, DType::uint8, DType::float64})
    s.add({rand_uniform({40}, 0, 1)}, {{"dtype", val(dtype)}});
  s.error(Code::dtype, {"int64"}, {rand_ints({2}, 0, 2)});
}

}  // namespace nbx::draws
