// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/repeat/repeat.h"

#include <nbx/error.h>

namespace nbx {

void repeat_samples(SampleSink& s) {
  s.add({randn({2, 3}), ints({2, 1})});
  s.add({randn({2, 3}), ints({4, 2, 3})});
  s.add({randn({2, 3}), ints({0, 2})});
  s.add({randn({}), ints({})});
  s.add({randn({}), ints({3, 2})});
  s.add({randn({0, 2}), ints({2, 2})});
  s.add({strided(randn({4, 5})), ints({2, 3})});
  s.add({randn({1, 3, 5, 7}), ints({2, 1, 1, 3})});
  s.error(Code::shape, {"[2]", "[2, 3]"}, {randn({2, 3}), ints({2})});
  s.error(Code::value, {"-1"}, {randn({2}), ints({-1})});
}
void tile_samples(SampleSink& s) {
  s.add({randn({2, 3}), ints({2})});
  s.add({randn({2, 3}), ints({})});
  s.add({randn({2, 3}), ints({2, 1, 2})});
  s.error(Code::value, {"tile", "-2"}, {randn({2}), ints({-2})});
}
void flip_samples(SampleSink& s) {
  s.add({randn({3, 4}), ints({0})});
  s.add({randn({3, 4, 5}), ints({0, -1})});
  s.add({randn({3, 4}), ints({})});
  s.add({randn({}), ints({})});
  s.add({randn({}), ints({0})});
  s.add({randn({0, 2}), ints({0, 1})});
  s.add({strided(randn({5, 6})), ints({1})});
  s.error(Code::index, {"flip", "2"}, {randn({2, 3}), ints({2})});
}
void roll_samples(SampleSink& s) {
  s.add({randn({5}), ints({2})});
  s.add({randn({3, 4}), ints({-5})});
  s.add({randn({3, 4}), ints({1}), ints({1})});
  s.add({randn({3, 4, 5}), ints({1, -2, 12}), ints({0, 1, -1})});
  s.add({randn({3, 4}), ints({1, 1}), ints({0, 0})});  // the same dim twice
  s.add({randn({0, 3}), ints({1}), ints({0})});
  s.add({randn({}), ints({3})});
  s.add({strided(randn({4, 6})), ints({2, 1}), ints({0, 1})});
  s.error(Code::shape, {"2 shifts", "1 dims"}, {randn({2, 3}), ints({1, 2}), ints({0})});
  s.error(Code::value, {"shifts"}, {randn({5}), ints({}), ints({})});
  s.error(Code::index, {"0-d"}, {randn({}), ints({0}), ints({0})});
}
void repeat_interleave_int_samples(SampleSink& s) {
  s.add({randn({2, 3}), val(2)});
  s.add({randn({2, 3}), val(3), val(1)});
  s.add({randn({2, 3}), val(0), val(0)});
  s.add({randn({}), val(2), val(0)});
  s.add({strided(randn({4, 3})), val(2), val(-2)}, {{"output_size", val(8)}});
  s.error(Code::value, {"-1"}, {randn({3}), val(-1)});
  s.error(Code::shape, {"5", "6"}, {randn({3}), val(2)}, {{"output_size", val(5)}});
}
void repeat_interleave_tensor_samples(SampleSink& s) {
  s.add({randn({3, 2}), Tensor::of<int64_t>({3}, {1, 0, 2}), val(0)});
  s.add({randn({3, 2}), Tensor::of<int32_t>({1}, {2}), val(1)});
  s.add({randn({2, 2}), Tensor::of<int64_t>({4}, {1, 2, 3, 0})});
  s.add({randn({2, 2}), Tensor::scalar<int64_t>(2), val(0)});
  s.add({randn({0, 2}), Tensor::of<int64_t>({0}, {}), val(0)});
  s.error(Code::value, {"repeats[1]", "-2"}, {randn({2}), Tensor::of<int64_t>({2}, {1, -2}), val(0)});
  s.error(Code::shape, {"2 repeats", "3"}, {randn({3}), Tensor::of<int64_t>({2}, {1, 2}), val(0)});
  s.error(Code::dtype, {"float32"}, {randn({2}), randn({2}), val(0)});
}
void repeats_samples(SampleSink& s) {
  s.add({Tensor::of<int64_t>({4}, {1, 0, 3, 2})});
  s.add({Tensor::of<int32_t>({2}, {2, 1})});
  s.add({Tensor::of<int64_t>({0}, {})});
  s.error(Code::value, {"-1"}, {Tensor::of<int64_t>({1}, {-1})});
}

}  // namespace nbx
