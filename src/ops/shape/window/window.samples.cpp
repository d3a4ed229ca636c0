// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/window/window.h"

#include <nbx/error.h>

#include <limits>

namespace nbx {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

void narrow_samples(SampleSink& s) {
  s.add({randn({4, 6}), val(1), val(2), val(3)});
  s.add({randn({4, 6}), val(-1), val(-2), val(2)});
  s.add({randn({4, 6}), val(0), val(4), val(0)});
  s.add({strided(randn({5, 7})), val(0), val(1), val(3)});
  s.error(Code::index, {"start 4", "[-3, 3]"}, {randn({2, 3}), val(1), val(4), val(0)});
  s.error(Code::index, {"length 3"}, {randn({2, 3}), val(1), val(1), val(3)});
  s.error(Code::shape, {"0-d"}, {randn({}), val(0), val(0), val(1)});
  s.error(Code::value, {"-1"}, {randn({3}), val(0), val(0), val(-1)});
}
void narrow_tensor_samples(SampleSink& s) {
  s.add({randn({4, 6}), val(1), Tensor::scalar<int64_t>(-2), val(2)});
  s.add({randn({4, 6}), val(0), Tensor::scalar<int32_t>(1), val(2)});
  s.error(Code::shape, {"start"}, {randn({4, 6}), val(0), Tensor::of<int64_t>({1}, {1}), val(2)});
  s.error(Code::shape, {"bool"}, {randn({4, 6}), val(0), Tensor::scalar<bool>(true), val(2)});
}
void slice_samples(SampleSink& s) {
  s.add({randn({5, 6})});
  s.add({randn({5, 6}), val(1), val(1), val(5), val(2)});
  s.add({randn({5, 6}), val(-2), val(-4), val(-1)});
  s.add({randn({5}), val(0), val(-100), val(100), val(3)});
  s.add({randn({5}), val(0), val(4), val(2)});  // empty
  s.add({randn({5}), val(0), val(1), val(kEnd), val(kEnd)});
  s.add({strided(randn({9, 7})), val(0), val(2), val(kEnd), val(3)});
  s.add({randn({5, 6}).flip({0, 1}), val(1), val(1), none, val(2)});
  s.error(Code::value, {"step 0"}, {randn({3}), val(0), val(0), val(3), val(0)});
  s.error(Code::value, {"step -1"}, {randn({3}), val(0), val(0), val(3), val(-1)});
  s.error(Code::index, {"slice", "1"}, {randn({3}), val(1)});
}
void select_samples(SampleSink& s) {
  s.add({randn({4, 5, 6}), val(1), val(-1)});
  s.add({randn({4}), val(0), val(0)});
  s.add({strided(randn({4, 5})), val(-1), val(2)});
  s.error(Code::index, {"index 3", "dim 1"}, {randn({2, 3}), val(1), val(3)});
  s.error(Code::shape, {"0-d"}, {randn({}), val(0), val(0)});
}
void split_samples(SampleSink& s) {
  s.add({randn({5, 3}), val(2)});
  s.add({randn({5, 6}), val(4), val(-1)});
  s.add({randn({5}), val(100)});
  s.add({randn({0, 2}), val(0)});
  s.error(Code::value, {"split_size"}, {randn({3}), val(-1)});
  s.error(Code::value, {"split_size 0"}, {randn({3}), val(0)});
}
void split_sizes_samples(SampleSink& s) {
  s.add({randn({5, 3}), ints({2, 0, 3})});
  s.add({strided(randn({4, 6})), ints({1, 5}), val(1)});
  s.error(Code::shape, {"[2, 2]", "5"}, {randn({5}), ints({2, 2})});
  s.error(Code::shape, {"[6]", "5"}, {randn({5}), ints({6})});
  s.error(Code::value, {"[6, -1]"}, {randn({7}), ints({6, -1})});
}
void chunk_samples(SampleSink& s) {
  s.add({randn({7, 2}), val(3)});
  s.add({randn({5}), val(4)});  // only 3 parts
  s.add({randn({2, 0}), val(3), val(1)});
  s.error(Code::value, {"chunks"}, {randn({3}), val(0)});
}
void unbind_samples(SampleSink& s) {
  s.add({randn({3, 4})});
  s.add({randn({3, 4}), val(-1)});
  s.add({randn({3})});
  s.error(Code::index, {"unbind"}, {randn({2}), val(2)});
}
void unfold_samples(SampleSink& s) {
  s.add({randn({8, 3}), val(0), val(3), val(2)});
  s.add({randn({2, 9}), val(-1), val(4), val(1)});
  s.add({randn({5}), val(0), val(5), val(7)});
  s.add({randn({5}), val(0), val(0), val(1)});
  s.add({randn({}), val(0), val(1), val(1)});
  s.add({strided(randn({9, 4})), val(0), val(2), val(3)});
  s.error(Code::shape, {"size 5", "4"}, {randn({4}), val(0), val(5), val(1)});
  s.error(Code::value, {"step 0"}, {randn({4}), val(0), val(2), val(0)});
}
void as_strided_samples(SampleSink& s) {
  s.add({randn({12}), ints({3, 4}), ints({4, 1})});
  s.add({randn({12}), ints({3, 4}), ints({1, 3}), val(0)});
  s.add({randn({12}), ints({4, 3}), ints({2, 1}), val(2)});  // overlaps itself
  s.add({randn({3, 4}), ints({2, 0}), ints({1, 1}), val(5)});
  s.add({randn({3, 4}), ints({}), ints({}), val(7)});
  s.error(Code::index, {"as_strided", "12"}, {randn({12}), ints({3, 4}), ints({4, 1}), val(1)});
  s.error(Code::value, {"[-1]"}, {randn({4}), ints({2}), ints({-1})});
  s.error(Code::shape, {"[2]", "[1, 1]"}, {randn({4}), ints({2}), ints({1, 1})});
}
void diagonal_samples(SampleSink& s) {
  for (int k : {-5, -3, -1, 0, 1, 2, 4, 9}) s.add({randn({3, 4}), val(k)});
  s.add({randn({2, 3, 4}), val(1), val(2), val(0)});
  s.add({randn({0, 3})});
  s.add({strided(randn({5, 6})), val(-1)});
  s.error(Code::index, {"dim2"}, {randn({3})});
  s.error(Code::shape, {"dim1"}, {randn({3, 3, 3}), val(0), val(1), val(1)});
}

}  // namespace nbx
