// SPDX-License-Identifier: Apache-2.0
#include <nbx/error.h>

#include <limits>

#include "ops/shape/window/window.h"

namespace nbx {

void onnx_slice_samples(SampleSink& s) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
  s.add({randn({5, 6, 4}), ints({0, 1}), ints({3, 5})});
  s.add({randn({5, 6, 4}), ints({1}), ints({100}), ints({-1})});
  s.add({randn({5, 6}), ints({-1, 4}), ints({kMin, 0}), ints({0, 1}), ints({-1, -2})});  // both backwards
  s.add({randn({5, 6}), ints({100}), ints({-100}), ints({1}), ints({-3})});
  s.add({randn({5}), ints({0}), ints({kMax}), ints({0}), ints({kMax})});
  s.add({randn({5}), ints({4}), ints({kMin}), ints({0}), ints({kMin})});
  s.add({randn({5}), ints({3}), ints({1})});     // empty
  s.add({randn({5}), ints({-10}), ints({-7})});  // empty: both before the first element
  s.add({randn({0, 3}), ints({0}), ints({5}), ints({0}), ints({-1})});
  s.add({strided(randn({9, 7})), ints({8, 1}), ints({0, 7}), ints({0, 1}), ints({-2, 3})});
  s.error(Code::value, {"step", "axis 1"}, {randn({2, 3}), ints({0}), ints({2}), ints({1}), ints({0})});
  s.error(Code::shape, {"[0, 1]", "[2]"}, {randn({2, 3}), ints({0, 1}), ints({2})});
  s.error(Code::index, {"2"}, {randn({2, 3}), ints({0}), ints({2}), ints({2})});
}
void onnx_split_samples(SampleSink& s) {
  for (int i : {0, 1, 2}) {
    s.add({randn({7, 4}), val(0), none, val(3), val(i)});
    s.add({randn({2, 8}), val(-1), ints({1, 0, 7}), val(3), val(i)});
  }
  s.add({randn({2}), val(0), none, val(4), val(3)});  // more parts than elements
  s.add({strided(randn({6, 4})), val(0), none, val(2), val(1), val(true)});
  s.error(Code::shape, {"axis 0", "3 equal"}, {randn({7}), val(0), none, val(3), val(0), val(true)});
  s.error(Code::shape, {"[1, 2]", "7"}, {randn({7}), val(0), ints({1, 2}), val(2), val(0)});
  s.error(Code::shape, {"3 sizes", "2 outputs"}, {randn({7}), val(0), ints({1, 2, 4}), val(2), val(0)});
}

}  // namespace nbx
