// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/view/view.h"

namespace nbx {

void view_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), ints({6, 4})});
  s.add({randn({2, 3, 4}), ints({1, 24, 1})});
  s.add({randn({2, 3, 4}), ints({-1, 2})});
  s.add({randn({}), ints({1, 1})});
  s.add({randn({1}), ints({})});
  s.add({randn({0, 3}), ints({3, 0, 2})});
  s.add({spaced(randn({4, 6})), ints({4, 3, 2})});  // a run of one stride still splits
  s.error(Code::shape, {"view", "[4, 2]"}, {randn({2, 3}), ints({4, 2})});
  s.error(Code::shape, {"-1"}, {randn({2, 3}), ints({-1, 4})});
  s.error(Code::shape, {"[2, -2]"}, {randn({2, 2}), ints({2, -2})});
  s.error(Code::shape, {"reshape"}, {randn({4, 3}).transpose(0, 1), ints({12})});
}

void reshape_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), ints({4, 6})});
  s.add({randn({2, 3, 4}), ints({-1})});
  s.add({randn({4, 3}).transpose(0, 1), ints({2, 6})});  // not viewable: copies
  s.add({randn({70, 90}).transpose(0, 1), ints({6300})});
  s.add({randn({3, 1}).expand({3, 5}), ints({15})});
  s.add({randn({6}).flip({0}), ints({2, 3})});            // negative stride
  s.add_as_is({randn({8}).unfold(0, 4, 2), ints({-1})});  // windows overlap
  s.add({randn({0, 4}), ints({0, 2, 2})});
  s.add({randn({}), ints({-1})});
  s.error(Code::shape, {"[4]", "6"}, {randn({2, 3}), ints({4})});
  s.error(Code::shape, {"[0, -1]"}, {randn({0, 3}), ints({0, -1})});
}

void flatten_samples(SampleSink& s) {
  s.add({randn({2, 3, 4})});
  s.add({randn({2, 3, 4}), val(1)});
  s.add({randn({2, 3, 4}), val(-3), val(-2)});
  s.add({randn({})});
  s.add({randn({0, 5})});
  s.add({strided(randn({5, 7, 3})), val(0), val(1)});
  s.error(Code::index, {"flatten", "2"}, {randn({2, 3}), val(2)});
  s.error(Code::index, {"1", "0"}, {randn({2, 3}), val(1), val(0)});
}

void unflatten_samples(SampleSink& s) {
  s.add({randn({6, 4}), val(0), ints({2, 3})});
  s.add({randn({6, 4}), val(-1), ints({2, -1})});
  s.add({strided(randn({6, 4})), val(0), ints({3, 2})});
  s.add({randn({0, 4}), val(0), ints({0, 7})});
  s.error(Code::shape, {"[4, 2]", "6"}, {randn({6}), val(0), ints({4, 2})});
  s.error(Code::index, {"dim"}, {randn({6}), val(1), ints({6})});
}

void onnx_reshape_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), ints({4, 2, 3})});
  s.add({randn({2, 3, 4}), ints({2, 0, 1, -1})});  // 0 keeps the extent at its place
  s.add({randn({2, 3, 4}), ints({0, -1})});
  s.add({randn({0, 3, 4}), ints({3, 4, 0}), val(true)});
  s.add({randn({0, 3}), ints({0, -1})});
  s.add({strided(randn({5, 6})), ints({0, 3, 2})});
  s.error(Code::shape, {"extent 2", "rank 2"}, {randn({2, 3}), ints({2, 3, 0})});
  s.error(Code::shape, {"onnx_reshape"}, {randn({2, 3}), ints({4})});
}

void onnx_flatten_samples(SampleSink& s) {
  for (int axis : {-3, -1, 0, 1, 2, 3}) s.add({randn({2, 3, 4}), val(axis)});
  s.add({randn({}), val(0)});
  s.add({randn({0, 3}), val(1)});
  s.error(Code::index, {"axis 4"}, {randn({2, 3, 4}), val(4)});
}

}  // namespace nbx
