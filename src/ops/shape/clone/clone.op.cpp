// SPDX-License-Identifier: Apache-2.0
// Dense copies.
#include "ops/shape/views.h"

namespace nbx {
namespace {

Metas dense(const Args& a) {
  const Meta& x = a.tensor("self");
  if (x.contiguous()) return {view_of(x, a.operand("self"), x.shape, x.strides)};
  return {x.like()};
}
Metas clone(const Args& a) { return {a.tensor("self").like()}; }

std::vector<Tensor> oracle(const Args&, const std::vector<Tensor>& x) { return {x[0].clone()}; }

void samples(SampleSink& s) {
  s.add({randn({2, 3, 4})});
  s.add({randn({4, 6, 5}).permute({2, 0, 1})});
  s.add({randn({3, 50, 70}).transpose(1, 2)});           // tiles, with remainders
  s.add({randn({2, 3, 33, 40}).permute({0, 2, 3, 1})});  // channels last: a narrow inner dim
  s.add({randn({40, 3, 33}).permute({1, 2, 0})});
  s.add({randn({3, 1}).expand({3, 300})});
  s.add({randn({1, 7}).expand({5, 7})});
  s.add({randn({9, 8}).flip({0, 1})});
  s.add_as_is({randn({10}).unfold(0, 4, 1)});  // overlapping windows
  s.add({spaced(randn({11, 13}))});
  s.add({randn({})});
  s.add({randn({0, 3})});
  s.add({randn({90000})});  // more than one chunk
  s.add({randn({2, 45000}).transpose(0, 1)});
  s.add({rand_ints({3, 4}, -9, 9, DType::int16).transpose(0, 1)});
  s.add({randn({3, 20}).to(DType::complex128).transpose(0, 1)});
}

}  // namespace

namespace decls {
Decls clone() {
  return {
      view_op<dense>("aten::contiguous(Tensor self) -> Tensor", oracle, samples),
      movement_op("aten::clone(Tensor self) -> Tensor", nbx::clone,
                  {cpu("strided_copy_cpu", bind_view<nbx::clone>, true)}, oracle, samples),
  };
}
}  // namespace decls
}  // namespace nbx
