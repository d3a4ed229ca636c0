// SPDX-License-Identifier: Apache-2.0
#include "ops/index/dynamic/dynamic.h"

#include <nbx/error.h>

namespace nbx {

static Tensor bools(const Shape& shape, uint64_t seed = 0) { return rand_ints(shape, 0, 2, DType::bool_, seed); }

void nonzero_samples(SampleSink& s) {
  s.add({rand_ints({3, 4}, 0, 3)});
  s.add({randn({5})});
  s.add({special_floats()});  // -0.0 is zero, NaN is not
  s.add({bools({2, 3, 4})});
  s.add({bools({40, 1000})});  // several blocks
  s.add({Tensor::scalar<int64_t>(3)});
  s.add({Tensor::scalar<int64_t>(0)});
  s.add({randn({0, 3})});
  s.add({Tensor::zeros({4}, DType::int8)});
  s.add({strided(rand_ints({5, 6}, 0, 2))});
}
void masked_select_samples(SampleSink& s) {
  s.add({randn({3, 4}), bools({3, 4})});
  s.add({randn({3, 4}), bools({4})});
  s.add({randn({3, 1}), bools({4})});
  s.add({randn({}), bools({5})});
  s.add({randn({2, 3}), Tensor::scalar<bool>(true)});
  s.add({randn({0, 3}), bools({1, 3})});
  s.add({strided(randn({5, 6})), strided(bools({5, 6}))});
  s.error(Code::dtype, {"int64"}, {randn({3}), rand_ints({3}, 0, 2)});
  s.error(Code::shape, {"masked_select"}, {randn({3}), bools({4})});
}
void compress_samples(SampleSink& s) {
  s.add({randn({3, 4}), bools({3}), val(0)});
  s.add({randn({3, 4}), Tensor::of<bool>({2}, {false, true}), val(-1)});  // shorter than the axis
  s.add({randn({3, 4}), bools({12})});
  s.add({randn({3, 4}), Tensor::of<bool>({1}, {false}), val(1)});
  s.error(Code::index, {"compress", "2"}, {randn({2}), Tensor::of<bool>({3}, {true, false, true}), val(0)});
  s.error(Code::shape, {"condition"}, {randn({2}), bools({1, 2}), val(0)});
}
void bincount_samples(SampleSink& s) {
  s.add({rand_ints({50}, 0, 9)});
  s.add({rand_ints({50}, 0, 9, DType::uint8), randn({50})});
  s.add({rand_ints({5}, 0, 3), none, val(10)});
  s.add({rand_ints({0}, 0, 3)});
  s.error(Code::value, {"self[1]", "-2"}, {Tensor::of<int64_t>({2}, {1, -2})});
  s.error(Code::shape, {"weights"}, {rand_ints({5}, 0, 3), randn({4})});
}

}  // namespace nbx
