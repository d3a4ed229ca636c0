// SPDX-License-Identifier: Apache-2.0
#include "ops/index/select/select.h"

#include <nbx/error.h>

namespace nbx {

static Tensor i64(const Shape& shape, std::initializer_list<int64_t> v) { return Tensor::of<int64_t>(shape, v); }

void index_select_samples(SampleSink& s) {
  s.add({randn({5, 3}), val(0), i64({4}, {4, 0, 0, 2})});
  s.add({randn({2, 5, 3}), val(-2), Tensor::of<int32_t>({2}, {4, 1})});
  s.add({randn({2, 5}), val(1), i64({}, {3})});
  s.add({randn({2, 5}), val(1), i64({0}, {})});
  s.add({randn({}), val(0), i64({1}, {0})});
  s.add({strided(randn({6, 7})), val(1), spaced(i64({3}, {6, 2, 2}))});
  s.add({randn({4, 3000}), val(0), rand_ints({40}, 0, 4)});
  s.add({randn({3, 900}), val(1), rand_ints({5000}, 0, 900)});
  s.error(Code::index, {"index_select", "index 5", "[1]", "dim 0", "extent 5"},
          {randn({5, 3}), val(0), i64({2}, {0, 5})});
  s.error(Code::index, {"index -1"}, {randn({5, 3}), val(0), i64({1}, {-1})});
  s.error(Code::index, {"index 0", "extent 0"}, {randn({0, 3}), val(0), i64({1}, {0})});
  s.error(Code::shape, {"[2, 2]"}, {randn({3, 5}), val(1), rand_ints({2, 2}, 0, 2)});
  s.error(Code::dtype, {"float32"}, {randn({3, 5}), val(1), randn({2})});
}
void embedding_samples(SampleSink& s) {
  s.add({randn({6, 4}), i64({2, 3}, {0, 5, 2, 1, 1, 3})});
  s.add({randn({6, 4}), i64({}, {3}), val(3)});
  s.add({randn({6, 1}), rand_ints({70}, 0, 6, DType::int32)});
  s.add({randn({6, 0}), i64({2}, {1, 2})});
  s.error(Code::index, {"embedding", "index 6", "[1, 0]"}, {randn({6, 3}), i64({2, 1}, {1, 6})});
  s.error(Code::index, {"index -1"}, {randn({6, 3}), i64({1}, {-1})});
}
void gather_axis_samples(SampleSink& s) {
  s.add({randn({5, 3}), i64({2, 2}, {4, -1, 0, -5})});
  s.add({randn({2, 5, 3}), i64({}, {-2}), val(1)});
  s.add({randn({2, 5, 3}), i64({3}, {0, 2, 1}), val(-1)});
  s.add({randn({4}), i64({1, 1, 2}, {1, 3}), val(0)});
  s.add({randn({4, 2}), i64({0, 2}, {}), val(0)});
  s.add({strided(randn({6, 7})), Tensor::of<int32_t>({2}, {-7, 3}), val(1)});
  s.error(Code::index, {"gather_axis", "index -6", "-5 to 4"}, {randn({5, 3}), i64({1}, {-6})});
  s.error(Code::index, {"index 3", "dim 1"}, {randn({5, 3}), i64({1}, {3}), val(1)});
}
void take_samples(SampleSink& s) {
  s.add({randn({4, 5}), i64({2, 2}, {0, -1, 19, -20})});
  s.add({randn({}), i64({3}, {0, 0, -1})});
  s.add({randn({0}), i64({0}, {})});
  s.add({strided(randn({4, 5})), rand_ints({300}, -20, 20)});
  s.error(Code::index, {"take", "index 20"}, {randn({4, 5}), i64({1}, {20})});
  s.error(Code::index, {"no elements"}, {randn({0}), i64({1}, {0})});
}
void gather_samples(SampleSink& s) {
  s.add({randn({4, 5}), val(0), rand_ints({2, 5}, 0, 4)});
  s.add({randn({4, 5}), val(1), rand_ints({4, 9}, 0, 5)});
  s.add({randn({3, 4, 5}), val(-2), rand_ints({2, 7, 3}, 0, 4)});
  s.add({randn({3, 4}), val(1), rand_ints({2, 2}, 0, 4, DType::uint8)});
  s.add({randn({}), val(0), i64({}, {0})});
  s.add({randn({4, 5}), val(0), i64({0}, {})});  // an empty index of any rank
  s.add({strided(randn({6, 7})), val(0), rand_ints({6, 7}, 0, 6)});
  s.error(Code::index, {"gather", "index 23", "dim 1"}, {randn({2, 2}), val(1), i64({2, 2}, {0, 1, 23, 0})});
  s.error(Code::index, {"index -1"}, {randn({2, 2}), val(1), i64({1, 1}, {-1})});
  s.error(Code::shape, {"[1]", "[3, 5]"}, {randn({3, 5}), val(1), i64({1}, {0})});
  s.error(Code::shape, {"dim 0"}, {randn({2, 3}), val(1), rand_ints({3, 3}, 0, 2)});
}
void take_along_dim_samples(SampleSink& s) {
  s.add({randn({4, 5}), rand_ints({4, 2}, -5, 5), val(1)});
  s.add({randn({4, 5}), rand_ints({1, 2}, 0, 5), val(1)});
  s.add({randn({1, 5, 3}), rand_ints({4, 6, 1}, 0, 5), val(1)});
  s.add({randn({4, 5}), rand_ints({3}, 0, 20)});
  s.add({randn({}), i64({}, {0}), val(0)});
  s.error(Code::index, {"take_along_dim", "index 5"}, {randn({4, 5}), i64({1, 1}, {5}), val(1)});
  s.error(Code::shape, {"[2]"}, {randn({4, 5}), i64({2}, {0, 1}), val(0)});
}
void gather_elements_samples(SampleSink& s) {
  s.add({randn({4, 5}), rand_ints({2, 5}, -4, 4)});
  s.add({randn({3, 4, 2}), rand_ints({3, 9, 2}, -4, 4), val(-2)});
  s.error(Code::index, {"gather_elements", "index 4"}, {randn({4, 5}), i64({1, 1}, {4})});
}

}  // namespace nbx
