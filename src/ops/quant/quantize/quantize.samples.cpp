// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/quant/quantize/quantize.h"

namespace nbx {

namespace {
constexpr DType kIntegers[] = {DType::int8, DType::uint8, DType::int16, DType::uint16};
constexpr DType kFloat8[] = {DType::float8_e4m3fn, DType::float8_e5m2};
Tensor scales(const Shape& shape, uint64_t seed = 0) { return rand_uniform(shape, 0.01, 0.4, seed); }
Tensor one(float v) { return Tensor::scalar(v); }
}  // namespace

void quantize_samples(SampleSink& s) {
  for (const DType to : kIntegers) {
    const Tensor zero = Tensor::scalar(int64_t{7}).to(to);
    s.add({rand_uniform({3, 5, 7}, -90, 90), one(0.25f), zero});
    s.add({rand_uniform({3, 5, 7}, -9000, 90000), one(0.5f), zero});  // beyond both ends
    s.add({special_floats(), one(0.3f), zero});
    // Halves go to the even neighbour before the zero point is added.
    s.add({Tensor::of<float>({8}, {0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f, -3.5f}), one(1), zero});
    s.add({rand_uniform({3, 5, 7}, -9, 9), scales({5}), rand_ints({5}, 0, 100, to)});
    s.add({rand_uniform({3, 5, 7}, -9, 9), scales({7}), rand_ints({7}, 0, 100, to), val(-1)});
    s.add({rand_uniform({3, 5, 7}, -9, 9), scales({3, 2, 7}), rand_ints({3, 2, 7}, 0, 100, to), val(1), val(3)});
    s.add({rand_uniform({3, 5, 7}, -9, 9), scales({3, 5, 3}), rand_ints({3, 5, 3}, 0, 100, to), val(2), val(3)});
  }
  for (const DType to : kFloat8)
    for (const bool saturate : {true, false}) {
      s.add({rand_uniform({2, 40}, -300, 300), one(0.5f)}, {{"dtype", val(to)}, {"saturate", val(saturate)}});
      s.add({special_floats(), one(1), Tensor::zeros({}, to)}, {{"saturate", val(saturate)}});
      s.add({rand_uniform({2, 40}, -9e5, 9e5), scales({2})},
            {{"axis", val(0)}, {"dtype", val(to)}, {"saturate", val(saturate)}});
    }
  s.add({randn({40009}), one(0.01f)});  // several chunks and a tail
  s.add({randn({300, 700}), scales({700})}, {{"dtype", val(DType::int8)}});
  s.add({randn({2, 600}), scales({2, 2})}, {{"block_size", val(300)}});
  s.add({randn({}), one(0.01f)});
  s.add({randn({5}), scales({5})}, {{"axis", val(0)}});
  s.add({randn({0, 4}), one(1)});
  s.add({randn({3, 0, 4}), scales({0})});
  s.add({strided(randn({6, 7})), spaced(scales({7}))});
  s.add_as_is({rand_ints({4, 6}, -2000000000, 2000000000, DType::int32), one(1e7f), Tensor::scalar(int8_t{-3})});
  s.add_as_is({randn({4, 6}), one(0.013f).to(DType::float16)}, {{"dtype", val(DType::int8)}});
  s.add_as_is({randn({4, 6}).to(DType::float16), one(0.013f).to(DType::float16)},
              {{"dtype", val(DType::int16)}, {"precision", val(DType::float32)}});
  s.error(Code::shape, {"scale", "[4]", "[3, 5]"}, {randn({3, 5}), scales({4})});
  s.error(Code::shape, {"scale", "[3, 3]", "blocks of 3"}, {randn({3, 5}), scales({3, 3})}, {{"block_size", val(3)}});
  s.error(Code::shape, {"zero_point", "[4]"}, {randn({3, 5}), scales({5}), rand_ints({4}, 0, 9, DType::int8)});
  s.error(Code::dtype, {"zero_point", "int8", "uint8"}, {randn({3}), one(1), Tensor::scalar(int8_t{1})},
          {{"dtype", val(DType::uint8)}});
  s.error(Code::dtype, {"int64"}, {randn({3}), one(1)}, {{"dtype", val(DType::int64)}});
  s.error(Code::index, {"axis", "2"}, {randn({3, 5}), scales({5})}, {{"axis", val(2)}});
  s.error(Code::value, {"block_size", "-2"}, {randn({3, 5}), scales({5})}, {{"block_size", val(-2)}});
}

void dequantize_samples(SampleSink& s) {
  for (const DType from : kIntegers) {
    const bool is_signed = info(from).is_signed;
    const int64_t low = is_signed ? -100 : 0, high = itemsize(from) == 1 ? 100 : 30000;
    s.add({rand_ints({3, 5, 7}, low, high, from), one(0.25f), Tensor::scalar(int64_t{99}).to(from)});
    s.add({rand_ints({3, 5, 7}, low, high, from), one(0.3f)});
    s.add({rand_ints({3, 5, 7}, low, high, from), scales({5}), rand_ints({5}, 0, 100, from)});
    s.add({rand_ints({3, 5, 7}, low, high, from), scales({7}), rand_ints({7}, 0, 100, from)}, {{"axis", val(2)}});
    s.add({rand_ints({3, 5, 7}, low, high, from), scales({3, 3, 7}), rand_ints({3, 3, 7}, 0, 100, from)},
          {{"block_size", val(2)}});
    s.add({rand_ints({3, 5, 7}, low, high, from), scales({3, 5, 2})}, {{"axis", val(-1)}, {"block_size", val(4)}});
  }
  for (const DType from : kFloat8) {
    s.add({special_floats().to(from), one(0.5f)});
    s.add({randn({3, 40}).to(from), scales({3}), Tensor::zeros({3}, from), val(0)});
  }
  s.add({rand_ints({3, 5}, -2000000000, 2000000000, DType::int32), one(1e-6f)});
  s.add({rand_ints({40009}, 0, 256, DType::uint8), one(0.01f), Tensor::scalar(uint8_t{255})});
  s.add({rand_ints({4}, 0, 256, DType::uint8), one(0.01f)}, {{"dtype", val(DType::float16)}});
  s.add({rand_ints({}, 0, 256, DType::uint8), one(0.01f)});
  s.add({rand_ints({0, 4}, 0, 256, DType::uint8), scales({4})});
  s.add({strided(rand_ints({6, 7}, 0, 256, DType::uint8)), spaced(scales({7}))});
  s.error(Code::dtype, {"self", "int64"}, {rand_ints({3}, 0, 9), one(1)});
  s.error(Code::dtype, {"zero_point", "int8"}, {rand_ints({3}, 0, 9, DType::uint8), one(1), Tensor::scalar(int8_t{1})});
  s.error(Code::shape, {"scale", "[2, 2]"}, {rand_ints({2, 2}, 0, 9, DType::uint8), scales({2, 2})});
}

void dynamic_samples(SampleSink& s) {
  s.add({randn({3, 40})});
  s.add({rand_uniform({40009}, -3, 11)});  // several chunks
  s.add({rand_uniform({17}, 2, 3)});       // 0 belongs to the range
  s.add({rand_uniform({17}, -3, -2)});
  s.add({Tensor::zeros({5}, DType::float32)});
  s.add({randn({})});
  s.add({randn({0, 3})});
  s.add({strided(randn({6, 7}))});
  s.add({Tensor::of<float>({4}, {1.0f, std::nanf(""), -2.0f, 3.0f})});
  s.error(Code::dtype, {"float16"}, {randn({3}).to(DType::float16)});
}

}  // namespace nbx
