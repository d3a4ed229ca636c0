// SPDX-License-Identifier: Apache-2.0
#include "ops/index/put/put.h"

#include <nbx/error.h>

namespace nbx {

using List = std::vector<Tensor>;
static Tensor i64(const Shape& shape, std::initializer_list<int64_t> v) { return Tensor::of<int64_t>(shape, v); }
static const Tensor kAll{};  // an absent index

void index_samples(SampleSink& s) {
  s.add({randn({4, 5, 6}), List{i64({2}, {3, -4})}});
  s.add({randn({4, 5, 6}), List{kAll, i64({2, 1}, {0, 4}), i64({3}, {1, -1, 5})}});
  s.add({randn({4, 5, 6}), List{i64({2}, {0, 3}), kAll, i64({2}, {1, 2})}});  // not together: the indexed dims go first
  s.add({randn({4, 5, 6}), List{kAll, kAll, i64({}, {2})}});
  s.add({randn({4, 5, 6}), List{i64({}, {2})}});
  s.add({randn({4, 5, 6}), List{i64({}, {2}), kAll, i64({}, {-1})}});
  s.add({randn({4, 5}), List{rand_ints({4}, 0, 2, DType::bool_)}});
  s.add({randn({4, 5, 3}), List{rand_ints({4, 5}, 0, 2, DType::bool_)}});
  s.add({randn({4, 5, 3}), List{kAll, rand_ints({5, 3}, 0, 2, DType::uint8)}});
  s.add({randn({4, 5, 3}), List{Tensor::of<bool>({4}, {true, false, true, false}), i64({1}, {2})}});
  s.add({randn({4, 5}), List{i64({0}, {})}});
  s.add({randn({4}), List{Tensor::of<bool>({4}, {false, false, false, false})}});
  s.add({strided(randn({6, 7})), List{Tensor::of<int32_t>({2}, {5, 0}), i64({2}, {-7, 3})}});
  s.add({randn({30, 40, 50}), List{rand_ints({900}, -30, 30), rand_ints({900}, 0, 40)}});
  s.error(Code::index, {"index -4", "dim 0"}, {randn({3, 5}), List{i64({1}, {-4})}});
  s.error(Code::index, {"index 9", "[0, 1]", "dim 1"}, {randn({3, 5}), List{i64({1, 2}, {0, 1}), i64({2}, {0, 9})}});
  s.error(Code::index, {"[4]", "dim 0"}, {randn({3, 5}), List{Tensor::of<bool>({4}, {true, true, true, true})}});
  s.error(Code::index, {"[2]", "[3]"}, {randn({3, 5}), List{i64({2}, {0, 0}), i64({3}, {0, 0, 0})}});
  s.error(Code::index, {"float32"}, {randn({3, 5}), List{randn({2})}});
  s.error(Code::index, {"too many"}, {randn({3}), List{i64({1}, {0}), i64({1}, {0})}});
}
void index_put_samples(SampleSink& s) {
  s.add({randn({4, 5}), List{i64({3}, {3, 0, 3})}, randn({3, 5}, 1)});
  s.add({randn({4, 5}), List{i64({3}, {3, 0, 3})}, randn({3, 5}, 1), val(true)});
  s.add({randn({4, 5}), List{i64({3}, {3, 0, 3})}, randn({}, 1), val(true)});
  s.add({randn({4, 5, 6}), List{kAll, i64({2, 1}, {0, 4}), i64({3}, {1, -1, 1})}, randn({4, 2, 3}, 1)});
  s.add({randn({4, 5, 6}), List{i64({2, 1}, {0, 3}), i64({2}, {1, 1})}, randn({2, 1}, 1).expand({2, 6}), val(true)});
  s.add({randn({4, 5, 6}), List{i64({2, 3}, {0, 3, 0, 1, 1, 0})}, randn({2, 1, 5, 6}, 1), val(true)});  // values repeat
  s.add({randn({4, 5}), List{rand_ints({4, 5}, 0, 2, DType::bool_)}, randn({}, 1)});
  s.add({randn({9}), List{rand_ints({500}, -9, 9)}, randn({500}, 1), val(true)});
  s.add({randn({3, 4000}), List{rand_ints({20}, 0, 3)}, randn({20, 4000}, 1), val(true)});
  s.error(Code::shape, {"[3, 5]", "[2, 5]"}, {randn({3, 5}), List{i64({2}, {0, 1})}, randn({3, 5})});
  s.error(Code::index, {"index_put", "index 3"}, {randn({3, 5}), List{i64({1}, {3})}, randn({1, 5})});
  s.error(Code::dtype, {"int64"}, {randn({3}), List{i64({1}, {0})}, i64({1}, {3})});
}
void gather_nd_samples(SampleSink& s) {
  s.add({randn({4, 5, 6}), i64({2, 2}, {3, -1, 0, 2})});
  s.add({randn({4, 5, 6}), i64({2, 1, 3}, {3, 4, 5, 0, 0, -6})});
  s.add({randn({2, 5, 6}), i64({2, 3, 1}, {0, 1, -1, 4, 3, 2}), val(1)});
  s.add({randn({2, 3, 4, 5}), i64({2, 3, 1}, {0, 1, 3, 2, -2, 1}), val(2)});
  s.add({randn({4}), i64({0, 1}, {})});
  s.add({randn({4, 3}), i64({1}, {2})});
  s.add({strided(randn({6, 7})), i64({1, 1}, {-2})});
  s.error(Code::index, {"gather_nd", "index 5", "dim 1"}, {randn({4, 5}), i64({1, 2}, {3, 5})});
  s.error(Code::shape, {"tuples of 3"}, {randn({4, 5}), i64({1, 3}, {0, 0, 0})});
}
void scatter_nd_samples(SampleSink& s) {
  for (const char* how : {"none", "add", "mul", "max", "min"})
    s.add({randn({4, 5}), i64({3, 1}, {3, 0, -1}), randn({3, 5}, 1), val(how)});
  s.add({randn({4, 5}), i64({2, 2, 2}, {0, 0, 3, 4, 3, 4, -4, 1}), randn({2, 2}, 1)});
  s.add({randn({8}), i64({0, 1}, {}), randn({0}, 1)});
  s.error(Code::index, {"scatter_nd", "index 4", "[1]"}, {randn({4, 5}), i64({2, 1}, {0, 4}), randn({2, 5})});
  s.error(Code::shape, {"[2, 5]"}, {randn({4, 5}), i64({2, 1}, {0, 1}), randn({2, 4})});
}

}  // namespace nbx
