// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/onednn.h"
#include "ops/matmul/product_onednn.h"

namespace nbx {

Serves onednn_serves(const Product& p) {
  if (p.dtype != DType::float32) return refuse("oneDNN serves float32 here");
  if (!p.b.known.defined() || p.b.rank() != 2) return refuse("the right operand must be one constant matrix");
  if (p.alpha != 1 || p.residual || p.m() == 0 || p.n() == 0 || p.k() == 0)
    return refuse("no factor, no residual, no empty extent");
  if (p.activation.kind != ActivationKind::none && p.activation.kind != ActivationKind::relu)
    return refuse("of the activations, relu alone");
  if (p.addend && !(p.beta == 1 && p.addend->numel() == p.n() && p.addend->rank() >= 1 && p.addend->dim(-1) == p.n() &&
                    p.addend->contiguous()))
    return refuse("an addend must be one value a column");
  if (!p.a.contiguous()) return refuse("the left operand must be dense");
  return yes;
}

Bound bind_onednn(const Product& p) {
  onednn::Matmul::Shape s;
  s.m = numel(p.batch) * p.m();
  s.n = p.n();
  s.k = p.k();
  s.a_row_stride = p.k();
  s.b_row_stride = p.b.strides[0];
  s.b_col_stride = p.b.strides[1];
  s.bias = p.addend.has_value();
  s.relu = p.activation.kind == ActivationKind::relu;
  // Odd strides (views, broadcasts) are beyond oneDNN's plain layouts.
  Tensor b = p.b.known;
  if (s.b_row_stride != 1 && s.b_col_stride != 1) {
    b = b.contiguous();
    s.b_row_stride = p.n();
    s.b_col_stride = 1;
  }
  const auto plan = std::make_shared<const onednn::Matmul>(s, b.data<float>());
  return [plan, ia = p.a_index, ib = p.addend_index](const Run& r) {
    plan->run(r.team, r.in<float>(ia), r.in<float>(ib), r.out<float>(0));
  };
}

}  // namespace nbx
