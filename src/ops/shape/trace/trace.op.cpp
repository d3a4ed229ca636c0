// SPDX-License-Identifier: Apache-2.0
// The sum of a matrix's diagonal: bool and integers in int64, half types in float32 with one rounding.
#include <algorithm>
#include <complex>

#include "base/check.h"
#include "dtype/rules.h"
#include "ops/shape/views.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.rank() == 2, Code::shape, "trace: self must be a matrix, it is {}", to_string(x));
  return {Meta(op_dtypes("trace", x.dtype).result, Shape{})};
}

template <class A>
Bound summing(const Args& a, const Metas& outputs, DType wide) {
  const Meta& x = a.tensor("self");
  const CopyRun widen = copy_run(x.dtype, wide), narrow = copy_run(wide, outputs[0].dtype);
  const int64_t n = std::min(x.shape[0], x.shape[1]), step = (x.strides[0] + x.strides[1]) * itemsize(x.dtype);
  return [=](const Run& r) {
    A sum{};
    for (int64_t i = 0; i < n; ++i) {
      A v;
      widen(r.in<std::byte>(0) + i * step, 1, reinterpret_cast<std::byte*>(&v), 1, 1);
      sum += v;
    }
    narrow(reinterpret_cast<const std::byte*>(&sum), 1, r.out<std::byte>(0), 1, 1);
  };
}
Bound bind(const Args& a, const Metas& outputs) {
  const DType out = outputs[0].dtype;
  // The sums are unsigned: they may wrap, as ATen's.
  if (out == DType::int64) return summing<uint64_t>(a, outputs, DType::int64);
  if (is_complex(out)) return summing<std::complex<double>>(a, outputs, DType::complex128);
  if (out == DType::float64) return summing<double>(a, outputs, DType::float64);
  return summing<float>(a, outputs, DType::float32);
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& x) {
  double sum = 0;
  int64_t whole = 0;
  for (int64_t i = 0; i < std::min(x[0].dim(0), x[0].dim(1)); ++i) {
    const Tensor v = x[0].select(0, i).select(0, i);
    if (is_floating(v.dtype()))
      sum += v.item();
    else
      whole += v.item_int();
  }
  return {is_floating(a.tensor("self").dtype) ? Tensor::scalar(sum) : Tensor::scalar(whole)};
}

void samples(SampleSink& s) {
  s.add({randn({3, 4})});
  s.add({randn({70, 50})});
  s.add({strided(randn({5, 6}))});
  s.add({rand_ints({4, 4}, -100, 100, DType::int8)});
  s.add({randn({0, 3})});
  s.error(Code::shape, {"[3]"}, {randn({3})});
  s.error(Code::shape, {"[2, 2, 2]"}, {randn({2, 2, 2})});
}

Cost cost(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  const int64_t n = std::min(x.shape[0], x.shape[1]);
  return {n * itemsize(x.dtype), outputs[0].bytes(), 0, n};
}

}  // namespace

namespace decls {
Decls trace() {
  OpDecl op = movement_op("aten::trace(Tensor self) -> Tensor", infer, {cpu("diagonal_cpu", bind, /*strided=*/true)},
                          oracle, samples);
  op.cost = cost;
  op.tolerance = norm_wise(4e-7, 8e-4, 6e-3);
  op.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int64};
  return {op};
}
}  // namespace decls
}  // namespace nbx
