// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/samples.h"

namespace nbx::pointwise {

namespace {

SampleArgs with(Tensor first, const SampleArgs& rest) {
  SampleArgs args = {std::move(first)};
  args.insert(args.end(), rest.begin(), rest.end());
  return args;
}

}  // namespace

void unary_samples(SampleSink& s, unsigned takes, double low, double high, SampleArgs rest) {
  if (takes & kFloat) {
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{2, 1030}})
      s.add(with(rand_uniform(shape, low, high), rest));
    s.add(with(strided(rand_uniform({5, 9}, low, high)), rest));
    s.add(with(spaced(rand_uniform({70}, low, high)), rest));
    s.add(with(rand_uniform({3, 1}, low, high).expand({3, 50}), rest));
    s.add(with(special_floats(), rest));
    s.add_as_is(with(rand_uniform({40009}, low, high), rest));  // more than one chunk
  }
  if (takes & kInt) {
    s.add_as_is(with(rand_ints({5, 13}, -20, 20, DType::int64), rest));
    s.add_as_is(with(rand_ints({130}, -128, 128, DType::int8), rest));
    s.add_as_is(with(strided(rand_ints({7, 3}, 0, 256, DType::uint8)), rest));
    s.add_as_is(with(rand_ints({9}, -2000, 2000, DType::int32), rest));
  } else {
    s.error(Code::dtype, {"int64"}, with(rand_ints({3}, 0, 9), rest));
  }
  if (takes & kBool)
    s.add_as_is(with(rand_ints({33}, 0, 2, DType::bool_), rest));
  else
    s.error(Code::dtype, {"bool"}, with(rand_ints({3}, 0, 2, DType::bool_), rest));
}

void binary_samples(SampleSink& s, unsigned takes, double low, double high, bool positive) {
  const int64_t first = positive ? 1 : -20;
  const auto second = [&](const Shape& shape) { return rand_uniform(shape, positive ? 0.25 : low, high, 9); };
  if (takes & kFloat) {
    s.add({rand_uniform({}, low, high), second({})});
    s.add({rand_uniform({0, 3}, low, high), second({3})});
    s.add({rand_uniform({2, 1030}, low, high), second({2, 1030})});
    s.add({rand_uniform({6, 130}, low, high), second({130})});
    s.add({rand_uniform({2, 3, 70}, low, high), second({3, 1})});
    s.add({rand_uniform({40, 3}, low, high), second({3})});
    s.add({rand_uniform({4, 1, 5}, low, high), second({3, 1})});
    s.add({rand_uniform({3}, low, high), second({4, 3})});
    s.add({strided(rand_uniform({6, 7}, low, high)), spaced(second({6, 7}))});
    s.add({rand_uniform({70}, low, high), second({})});
    s.add_as_is({rand_uniform({40009}, low, high), second({40009})});
    s.add_as_is({rand_uniform({9}, low, high).to(DType::float16), second({9})});
    s.add_as_is({rand_uniform({9}, low, high).to(DType::float16), second({9}).to(DType::bfloat16)});
    if (takes & kInt) s.add_as_is({rand_ints({9}, -20, 20), second({9})});
    s.add({special_floats(), special_floats().flip({0}).contiguous()});
    s.error(Code::shape, {"[3]", "[4]"}, {randn({3}), randn({4})});
  }
  if (takes & kInt) {
    s.add_as_is({rand_ints({5, 13}, -20, 20), rand_ints({13}, first, 20, DType::int64, 5)});
    s.add_as_is({rand_ints({130}, -128, 128, DType::int8), rand_ints({130}, first, 128, DType::int8, 5)});
    s.add_as_is({rand_ints({77}, 0, 256, DType::uint8), rand_ints({77}, 1, 256, DType::uint8, 5)});
    s.add_as_is({rand_ints({9}, -2000, 2000, DType::int32), rand_ints({9}, first, 7, DType::int16, 5)});
    s.add_as_is({rand_ints({9}, -2000, 2000, DType::int32), rand_ints({}, first, 7, DType::int64, 5)});
  } else {
    s.error(Code::dtype, {"int64"}, {rand_ints({3}, 0, 9), rand_ints({3}, 0, 9)});
  }
  const Tensor flags = rand_ints({33}, 0, 2, DType::bool_);
  if (takes & kBool)
    s.add_as_is({flags, rand_ints({33}, positive ? 1 : 0, 2, DType::bool_, 5)});
  else
    s.error(Code::dtype, {"bool"}, {flags, flags});
}

}  // namespace nbx::pointwise
