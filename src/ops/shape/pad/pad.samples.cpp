// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/pad/pad.h"

#include <cmath>

namespace nbx {

void constant_pad_samples(SampleSink& s) {
  s.add({randn({2, 3}), ints({1, 2})});
  s.add({randn({2, 3, 4}), ints({1, 0, 2, 1, 0, 3}), val(2)});
  s.add({randn({4, 5}), ints({-1, 2, -2, 0})});  // crops and adds
  s.add({randn({4, 5}), ints({-3, -2})});        // nothing is left
  s.add({randn({0, 3}), ints({1, 1, 2, 0}), val(1)});
  s.add({randn({}), ints({})});
  s.add({randn({3, 70}), ints({})});
  s.add({strided(randn({5, 6})), ints({2, 2})});
  s.add({randn({2, 3, 8}), ints({0, 0, 1, 1})});  // the last dim moves as a block
  s.add({randn({300, 130}), ints({3, 2, 1, 0}), val(1)});
  s.add_as_is({randn({3}), ints({1, 1}), val(-INFINITY)});
  s.add_as_is({rand_ints({3}, 0, 9), ints({1, 1}), val(int64_t{1} << 52)});
  s.error(Code::value, {"[1]"}, {randn({2, 3}), ints({1})});
  s.error(Code::shape, {"extent -1"}, {randn({2, 3}), ints({-2, -2})});
  s.error(Code::shape, {"2 dims"}, {randn({3}), ints({1, 1, 1, 1})});
}
void pad_samples(SampleSink& s) {
  s.add({randn({2, 3}), ints({1, 2})}, {{"value", val(1.0)}});
  s.add({randn({2, 3, 4}), ints({2, 1}), val("reflect")});
  s.add({randn({2, 3, 4}), ints({5, 1}), val("replicate")});
  s.add({randn({2, 3, 4, 5}), ints({2, 3, 1, 0}), val("circular")});
  s.add({randn({1, 2, 3, 4, 5}), ints({1, 2, 3, 0, 1, 1}), val("reflect")});
  s.add({randn({2, 3, 6}), ints({-1, 3}), val("reflect")});
  s.add({randn({2, 4, 6}), ints({-1, 3, 2, -2}), val("circular")});
  s.add({strided(randn({2, 3, 6})), ints({1, 3}), val("replicate")});
  s.error(Code::shape, {"pad", "6"}, {randn({3, 5}), ints({6, 0}), val("circular")});
  s.error(Code::value, {"reflect"}, {randn({2, 3}), ints({1, 1}), val("reflect"), val(1.0)});
  s.error(Code::value, {"mirror"}, {randn({2, 3}), ints({1, 1}), val("mirror")});
  s.error(Code::shape, {"reflect", "3"}, {randn({2, 3}), ints({3, 0}), val("reflect")});
}
namespace {
Tensor image(int dims, bool batch) {
  Shape shape = batch ? Shape{2, 3} : Shape{3};
  for (int d = 0; d < dims; ++d) shape.push_back(4 + d);
  return randn(shape);
}
SampleArg pairs(int dims, int64_t before, int64_t after) {
  Ints out;
  for (int d = 0; d < dims; ++d) out.push_back(before), out.push_back(after);
  return ints(out);
}
}  // namespace
void reflection_pad_samples(int dims, SampleSink& s) {
  for (const bool batch : {false, true}) {
    s.add({image(dims, batch), pairs(dims, 2, 3)});
    s.add({image(dims, batch), pairs(dims, 0, 1)});
  }
  s.error(Code::shape, {"reflection_pad"}, {image(dims, true), pairs(dims, 4, 0)});
  s.error(Code::value, {"padding"}, {image(dims, true), ints({1})});
}
void replication_pad_samples(int dims, SampleSink& s) {
  for (const bool batch : {false, true}) {
    s.add({image(dims, batch), pairs(dims, 6, 2)});
    s.add({image(dims, batch), pairs(dims, 0, 1)});
  }
  s.error(Code::shape, {"replication_pad"}, {randn({3}), pairs(dims, 1, 0)});
}
void onnx_pad_samples(SampleSink& s) {
  s.add({randn({2, 3}), ints({0, 1, 2, 0})});
  s.add({randn({2, 3}), ints({0, -1, 1, 2}), val("constant"), val(1.5)});
  s.add({randn({2, 3, 4}), ints({1, 2}), val("constant"), none, ints({-2})});
  s.add({randn({2, 3, 4}), ints({1, 0, 2, 1, 3, 1}), val("edge")});
  s.add({randn({2, 3, 4}), ints({1, 0, 2, 0, 1, 3}), val("reflect")});
  s.add({randn({2, 3}), ints({1, 7, 5, 4}), val("wrap")});     // more than once around
  s.add({randn({1, 3}), ints({2, 5, 0, 4}), val("reflect")});  // bounces
  s.add({strided(randn({4, 5})), ints({0, 1, 0, 1}), val("reflect")});
  s.add_as_is({rand_ints({2, 2}, 0, 9, DType::int32), ints({1, 0, 0, 1}), val("constant"), val(7)});
  s.error(Code::shape, {"onnx_pad", "[1]"}, {randn({2, 3}), ints({1})});
  s.error(Code::shape, {"replicate"}, {randn({2, 0}), ints({0, 1, 0, 0}), val("edge")});
}
void center_crop_pad_samples(SampleSink& s) {
  s.add({randn({20, 10, 3}), ints({10, 7, 3})});
  s.add({randn({4, 7, 3}), ints({9, 10, 3})});
  s.add({randn({20, 8, 3}), ints({10, 9}), ints({-2, 0})});
  s.add({randn({5}), ints({0})});
  s.error(Code::shape, {"[2, 2]"}, {randn({5}), ints({2, 2})});
}

}  // namespace nbx
