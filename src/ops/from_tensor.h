// SPDX-License-Identifier: Apache-2.0
// Arguments that a graph gives by a tensor (FromTensor), once the tensor's value is known.
#pragma once
#include "ops/declare.h"

namespace nbx {

// What a tensor holds, in the form the parameter takes. Error (shape, dtype) naming op, parameter and tensor.
Value value_from_tensor(const OpDecl& op, const Param& param, const Tensor& tensor);
// A one-element tensor as a number of its category.
Value number_of(const Tensor& tensor);

}  // namespace nbx
