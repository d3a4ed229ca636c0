// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/axes/axes.h"

#include <nbx/error.h>

namespace nbx {

void squeeze_samples(SampleSink& s) {
  s.add({randn({1, 3, 1, 4, 1})});
  s.add({randn({1, 1})});
  s.add({randn({})});
  s.add({randn({0, 1})});
  s.add({strided(randn({3, 1, 4}))});
}
void squeeze_dim_samples(SampleSink& s) {
  s.add({randn({1, 3, 1}), val(0)});
  s.add({randn({1, 3, 1}), val(-1)});
  s.add({randn({1, 3, 1}), val(1)});  // extent 3: nothing happens
  s.add({randn({}), val(-1)});
  s.error(Code::index, {"squeeze", "2"}, {randn({2, 3}), val(2)});
}
void squeeze_dims_samples(SampleSink& s) {
  s.add({randn({1, 3, 1, 1}), ints({0, -1})});
  s.add({randn({1, 3, 1, 1}), ints({1, 2})});
  s.add({randn({1, 3}), ints({})});
  s.error(Code::index, {"-3"}, {randn({2, 3}), ints({-3})});
}
void unsqueeze_samples(SampleSink& s) {
  for (int d : {-3, -1, 0, 1, 2}) s.add({randn({2, 3}), val(d)});
  s.add({randn({}), val(0)});
  s.add({randn({0}), val(1)});
  s.add({strided(randn({4, 5})), val(1)});
  s.error(Code::index, {"unsqueeze", "4"}, {randn({2, 3}), val(4)});
}
void onnx_squeeze_samples(SampleSink& s) {
  s.add({randn({1, 3, 1})});
  s.add({randn({1, 3, 1}), ints({0})});
  s.add({randn({1, 3, 1}), ints({-1, 0})});
  s.error(Code::shape, {"axis 1", "[1, 3]"}, {randn({1, 3}), ints({1})});
}
void onnx_unsqueeze_samples(SampleSink& s) {
  s.add({randn({2, 3}), ints({0})});
  s.add({randn({2, 3}), ints({3, 0})});
  s.add({randn({2, 3}), ints({-1, -2})});
  s.add({randn({}), ints({0, 1})});
  s.error(Code::index, {"3"}, {randn({2, 3}), ints({3})});
}
void permute_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), ints({2, 0, 1})});
  s.add({randn({2, 3, 4}), ints({-1, 1, 0})});
  s.add({randn({}), ints({})});
  s.add({randn({0, 3}), ints({1, 0})});
  s.add({strided(randn({3, 5, 7, 2})), ints({0, 2, 3, 1})});
  s.add({randn({2, 40, 33}), ints({0, 2, 1})});
  s.error(Code::index, {"permute", "2"}, {randn({2, 3}), ints({0, 2})});
  s.error(Code::shape, {"[0]", "[2, 3]"}, {randn({2, 3}), ints({0})});
}
void transpose_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), val(0), val(-1)});
  s.add({randn({2, 3, 4}), val(1), val(1)});
  s.add({randn({}), val(0), val(-1)});
  s.add({spaced(randn({5, 6})), val(0), val(1)});
  s.error(Code::index, {"transpose"}, {randn({2}), val(0), val(1)});
}
void t_samples(SampleSink& s) {
  s.add({randn({2, 3})});
  s.add({randn({5})});
  s.add({randn({})});
  s.error(Code::shape, {"[2, 3, 4]"}, {randn({2, 3, 4})});
}
void reverse_axes_samples(SampleSink& s) {
  s.add({randn({2, 3, 4})});
  s.add({randn({})});
}
void movedim_samples(SampleSink& s) {
  s.add({randn({2, 3, 4, 5}), ints({0, 1}), ints({-1, 0})});
  s.add({randn({2, 3, 4, 5}), ints({0, 1, 2, 3}), ints({3, 2, 1, 0})});
  s.add({randn({2, 3}), ints({}), ints({})});
  s.error(Code::shape, {"movedim", "[1, 0, -1]"}, {randn({2, 3, 4}), ints({2, -3}), ints({1, 0, -1})});
}
void movedim_int_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), val(0), val(2)});
  s.add({randn({2, 3, 4}), val(-1), val(0)});
  s.error(Code::index, {"movedim"}, {randn({2, 3}), val(2), val(0)});
}
void expand_samples(SampleSink& s) {
  s.add({randn({3, 1}), ints({3, 4})});
  s.add({randn({3, 1}), ints({2, -1, 4})});
  s.add({randn({1, 1}), ints({2, 0})});
  s.add({randn({}), ints({2, 3})});
  s.add({randn({}), ints({})});
  s.add({strided(randn({4, 1, 3})), ints({4, 2, 3})});
  s.error(Code::shape, {"expand", "[3]", "[2, 3]"}, {randn({2, 3}), ints({3})});
  s.error(Code::shape, {"[2, 4]"}, {randn({2, 3}), ints({2, 4})});
  s.error(Code::shape, {"-1"}, {randn({3}), ints({-1, 3})});
}
void expand_as_samples(SampleSink& s) {
  s.add({randn({3, 1}), randn({2, 3, 4})});
  s.add({randn({1}), randn({0})});
  s.error(Code::shape, {"expand_as"}, {randn({3}), randn({4})});
}
void broadcast_to_samples(SampleSink& s) {
  s.add({randn({1, 3}), ints({2, 3})});
  s.add({randn({3}), ints({1, 1, 3})});
  s.error(Code::shape, {"broadcast_to"}, {randn({3}), ints({4})});
}
void onnx_expand_samples(SampleSink& s) {
  s.add({randn({3, 1}), ints({2, 1, 6})});
  s.add({randn({3, 4}), ints({1})});  // the shape may be the smaller one
  s.add({randn({1, 3}), ints({0, 1})});
  s.error(Code::shape, {"onnx_expand"}, {randn({3}), ints({2})});
}

}  // namespace nbx
