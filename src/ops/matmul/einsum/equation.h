// SPDX-License-Identifier: Apache-2.0
// An einsum equation, bound to its operands.
#pragma once
#include <vector>

#include "ops/declare.h"

namespace nbx::einsum {

// Labels are numbered 0...: the dims under the ellipsis first, then letters as they come up.
struct Equation {
  DType dtype = DType::float32;
  std::vector<int64_t> extent;         // of each label
  std::vector<Strides> strides;        // [operand][label]; 0 where the operand lacks the label or is broadcast along it
  std::vector<std::vector<bool>> has;  // [operand][label]
  std::vector<int> out;                // labels of the result, in order
  std::vector<int> summed;             // the others

  Shape shape() const;     // of the result
  int64_t points() const;  // all index combinations
};

// ATen's rules: letters a-z and A-Z, spaces ignored, an ellipsis that may stand for other numbers of dims in each
// operand, extents of 1 broadcast, repeated letters take the diagonal; without "->" the result has the ellipsis and
// then the letters that occur once, in order. Errors (value, shape, dtype) name the equation and the operand.
Equation bind_equation(const Args& a);

}  // namespace nbx::einsum
