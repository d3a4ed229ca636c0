// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/cat/cat.h"

#include <nbx/error.h>

namespace nbx {

using List = std::vector<Tensor>;

void cat_samples(SampleSink& s) {
  s.add({List{randn({2, 3}), randn({4, 3})}});
  s.add({List{randn({2, 3}), randn({2, 1}), randn({2, 0}), randn({2, 5})}, val(-1)});
  s.add({List{randn({5})}});
  s.add({List{randn({0}), randn({2, 3}), randn({0})}, val(1)});  // [0] is skipped
  s.add({List{randn({0}), randn({0})}});
  s.add({List{strided(randn({4, 5})), randn({4, 2}).flip({0}), randn({1, 3}).expand({4, 3})}, val(1)});
  s.add({List{randn({3, 2, 300}), randn({3, 4, 300})}, val(1)});
  s.add({List{randn({2, 3}), rand_ints({2, 3}, -5, 5), rand_ints({1, 3}, 0, 2, DType::bool_)}});
  s.add_as_is({List{rand_ints({2, 2}, 0, 9, DType::uint8), rand_ints({2, 1}, -300, 300, DType::int16)}, val(1)});
  s.add_as_is({List{randn({2}).to(DType::float16), randn({2}).to(DType::bfloat16)}});
  s.add_as_is({List{randn({2}), randn({3}).to(DType::complex64)}});
  s.error(Code::value, {"cat", "empty"}, {List{}});
  s.error(Code::shape, {"tensor 1", "[3]"}, {List{randn({2, 3}), randn({3})}});
  s.error(Code::shape, {"dim 1", "[5, 0, 19]"}, {List{randn({5, 5, 20}), randn({5, 0, 19})}, val(1)});
  s.error(Code::index, {"cat", "2"}, {List{randn({2, 3})}, val(2)});
  s.error(Code::shape, {"stack"}, {List{randn({}), randn({})}});
}
void stack_samples(SampleSink& s) {
  s.add({List{randn({2, 3}), randn({2, 3}, 1)}});
  s.add({List{randn({2, 3}), randn({2, 3}, 1), randn({2, 3}, 2)}, val(-1)});
  s.add({List{randn({}), randn({}, 1)}});
  s.add({List{randn({0, 2}), randn({0, 2})}, val(1)});
  s.add({List{strided(randn({4, 5})), randn({1, 5}).expand({4, 5})}, val(1)});
  s.add({List{randn({3}), rand_ints({3}, -5, 5)}});
  s.error(Code::shape, {"tensor 1", "[3]"}, {List{randn({2}), randn({3})}});
  s.error(Code::value, {"stack"}, {List{}});
}

}  // namespace nbx
