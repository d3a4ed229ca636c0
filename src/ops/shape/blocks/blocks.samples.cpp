// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/blocks/blocks.h"

#include <nbx/error.h>

namespace nbx {

void pixel_shuffle_samples(SampleSink& s) {
  s.add({randn({1, 8, 2, 3}), val(2)});
  s.add({randn({9, 4, 5}), val(3)});
  s.add({randn({2, 1, 4, 3, 3}), val(1)});
  s.add({randn({0, 4, 2, 2}), val(2)});
  s.add({randn({1, 4, 0, 2}), val(2)});
  s.error(Code::shape, {"6 channels"}, {randn({1, 6, 2, 2}), val(2)});
  s.error(Code::shape, {"[4, 4]"}, {randn({4, 4}), val(2)});
  s.error(Code::value, {"0"}, {randn({4, 2, 2}), val(0)});
}
void pixel_unshuffle_samples(SampleSink& s) {
  s.add({randn({1, 2, 4, 6}), val(2)});
  s.add({randn({3, 6, 9}), val(3)});
  s.add({randn({2, 0, 2, 2}), val(2)});
  s.error(Code::shape, {"5", "2"}, {randn({1, 2, 5, 4}), val(2)});
}
void depth_to_space_samples(SampleSink& s) {
  s.add({randn({1, 8, 2, 3}), val(2)});
  s.add({randn({2, 8, 2, 3}), val(2), val("CRD")});
  s.add({randn({1, 27, 2, 2}), val(3), val("DCR")});
  s.error(Code::value, {"RCD"}, {randn({1, 4, 2, 2}), val(2), val("RCD")});
}
void space_to_depth_samples(SampleSink& s) {
  s.add({randn({2, 3, 4, 6}), val(2)});
  s.add({randn({1, 1, 6, 9}), val(3)});
  s.add({randn({2, 3, 4, 6}), val(2), val("CRD")});
  s.error(Code::shape, {"space_to_depth"}, {randn({1, 1, 3, 4}), val(2)});
}

}  // namespace nbx
