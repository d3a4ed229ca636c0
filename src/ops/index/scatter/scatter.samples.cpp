// SPDX-License-Identifier: Apache-2.0
#include "ops/index/scatter/scatter.h"

#include <nbx/error.h>

namespace nbx {

static Tensor i64(const Shape& shape, std::initializer_list<int64_t> v) { return Tensor::of<int64_t>(shape, v); }

void scatter_src_samples(SampleSink& s) {
  s.add({randn({3, 5}), val(0), rand_ints({2, 5}, 0, 3), randn({2, 5}, 1)});
  s.add({randn({3, 5}), val(1), rand_ints({3, 9}, 0, 5), randn({4, 9}, 1)});  // duplicates: the last one stays
  s.add({randn({2, 4, 6}), val(-2), rand_ints({2, 3, 5}, 0, 4), randn({2, 3, 6}, 1)});
  s.add({randn({}), val(0), i64({}, {0}), randn({}, 1)});
  s.add({randn({3}), val(0), i64({0}, {}), randn({2}, 1)});
  s.add({strided(randn({6, 7})), val(0), rand_ints({9, 7}, 0, 6, DType::int32), strided(randn({9, 7}, 1))});
  s.error(Code::index, {"scatter", "index 5", "[0, 0]", "dim 1"},
          {randn({3, 5}), val(1), i64({1, 1}, {5}), randn({1, 1})});
  s.error(Code::shape, {"[3, 4]", "[3, 2]"}, {randn({3, 5}), val(1), rand_ints({3, 4}, 0, 5), randn({3, 2})});
  s.error(Code::shape, {"[2, 2]"}, {randn({3, 5, 3}), val(0), rand_ints({2, 2}, 0, 3), randn({2, 5})});
  s.error(Code::dtype, {"float64"}, {randn({3, 5}), val(0), rand_ints({2, 5}, 0, 3), randn({2, 5}).to(DType::float64)});
}
void scatter_value_samples(SampleSink& s) {
  s.add({randn({3, 5}), val(1), rand_ints({3, 2}, 0, 5), val(1)});
  s.add({randn({3, 500}), val(0), rand_ints({3, 500}, 0, 3), val(0)});
  s.error(Code::index, {"index -1"}, {randn({3, 5}), val(1), i64({1, 1}, {-1}), val(0)});
}
void scatter_reduce_arg_samples(SampleSink& s) {
  for (const char* how : {"add", "multiply"})
    s.add({randn({3, 5}), val(-1), rand_ints({3, 9}, 0, 5), randn({3, 9}, 1)}, {{"reduce", val(how)}});
  s.error(Code::value, {"sum", "multiply"}, {randn({3}), val(0), i64({1}, {0}), randn({1})}, {{"reduce", val("sum")}});
}
void scatter_value_reduce_samples(SampleSink& s) {
  for (const char* how : {"add", "multiply"})
    s.add({randn({3, 5}), val(0), rand_ints({7, 5}, 0, 3), val(2)}, {{"reduce", val(how)}});
}
void scatter_add_samples(SampleSink& s) {
  s.add({randn({3, 5}), val(0), rand_ints({20, 5}, 0, 3), randn({20, 5}, 1)});
  s.add({randn({40}), val(0), rand_ints({2000}, 0, 40), randn({2000}, 1)});
  s.add({randn({2, 3, 1500}), val(1), rand_ints({2, 8, 1500}, 0, 3), randn({2, 8, 1500}, 1)});
  s.add({randn({3, 4, 5}), val(0), rand_ints({6, 2, 3}, 0, 3), randn({6, 4, 4}, 1)});
  s.add({randn({}), val(-1), i64({}, {0}), randn({}, 1)});
  s.error(Code::index, {"scatter_add", "index 3"}, {randn({3}), val(0), i64({1}, {3}), randn({1})});
  s.error(Code::dtype, {"int64"}, {randn({3}), val(0), i64({1}, {0}), i64({1}, {0})});
}
void scatter_reduce_samples(SampleSink& s) {
  for (const char* how : {"sum", "prod", "mean", "amax", "amin"})
    for (const bool self : {true, false}) {
      s.add({randn({3, 5}), val(1), rand_ints({3, 8}, 0, 5), randn({3, 8}, 1), val(how)},
            {{"include_self", val(self)}});
      s.add_as_is(
          {rand_ints({4}, -9, 9), val(0), rand_ints({9}, 0, 3), rand_ints({9}, -9, 9, DType::int64, 1), val(how)},
          {{"include_self", val(self)}});
    }
  s.add({special_floats(), val(0), rand_ints({special_floats().numel()}, 0, 4), special_floats(), val("amax")});
  s.error(Code::value, {"median", "amin"}, {randn({3}), val(0), i64({1}, {0}), randn({1}), val("median")});
}
void scatter_elements_samples(SampleSink& s) {
  for (const char* how : {"none", "add", "mul", "max", "min"})
    s.add({randn({4, 5}), rand_ints({3, 5}, -4, 4), randn({3, 5}, 1), val(0), val(how)});
  s.add({randn({2, 5}), i64({2, 2}, {1, -1, 0, 4}), randn({2, 2}, 1), val(-1)});
  s.error(Code::index, {"scatter_elements", "index -6"}, {randn({1, 5}), i64({1, 1}, {-6}), randn({1, 1}), val(1)});
  s.error(Code::value, {"avg"}, {randn({3}), i64({1}, {0}), randn({1}), val(0), val("avg")});
}
void index_add_samples(SampleSink& s) {
  s.add({randn({5, 3}), val(0), i64({4}, {0, 4, 0, 0}), randn({4, 3}, 1)});
  s.add({randn({2, 5, 3}), val(1), i64({2}, {1, 1}), randn({2, 2, 3}, 1)}, {{"alpha", val(2)}});
  s.add({randn({3}), val(0), i64({}, {2}), randn({1}, 1)});
  s.add({randn({3}), val(0), i64({0}, {}), randn({0}, 1)});
  s.add({randn({20, 3000}), val(0), rand_ints({50}, 0, 20), randn({50, 3000}, 1)});
  s.error(Code::index, {"index_add", "index 5"}, {randn({5, 3}), val(0), i64({1}, {5}), randn({1, 3})});
  s.error(Code::shape, {"[2]", "[3, 2]"}, {randn({3, 2}), val(0), i64({2}, {0, 1}), randn({2})});
}
void index_copy_samples(SampleSink& s) {
  s.add({randn({5, 3}), val(0), i64({3}, {4, 0, 4}), randn({3, 3}, 1)});
  s.add({strided(randn({4, 6})), val(-1), i64({2}, {5, 1}), randn({4, 2}, 1)});
  s.add({randn({}), val(0), i64({1}, {0}), randn({}, 1)});
  s.error(Code::index, {"index -1"}, {randn({5, 3}), val(0), i64({1}, {-1}), randn({1, 3})});
}
void index_fill_samples(SampleSink& s) {
  s.add({randn({5, 3}), val(0), i64({2}, {-1, 0}), val(1)});
  s.add({randn({5, 3}), val(1), i64({}, {2}), val(0)});
  s.add({randn({}), val(0), i64({1}, {0}), val(1)});
  s.error(Code::index, {"index_fill", "index 3"}, {randn({5, 3}), val(1), i64({1}, {3}), val(1)});
}
void index_fill_tensor_samples(SampleSink& s) {
  s.add({randn({5, 3}), val(0), i64({2}, {4, 0}), randn({}, 3)});
  s.add_as_is({randn({5, 3}), val(0), i64({2}, {4, 0}), Tensor::scalar<int64_t>(7)});
  s.error(Code::shape, {"value"}, {randn({5, 3}), val(0), i64({1}, {4}), randn({1})});
}

}  // namespace nbx
