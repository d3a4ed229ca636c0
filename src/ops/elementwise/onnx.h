// SPDX-License-Identifier: Apache-2.0
// Imports that many ONNX nodes share.
#pragma once
#include "ops/import.h"

namespace nbx::pointwise {

// One input, no attributes: "Abs" is aten::abs.
void import_unary(Importing& node);
// Two inputs, no attributes (opset 7 on): "Add" is aten::add.Tensor, "Greater" aten::gt.Tensor.
void import_binary(Importing& node);
// Any number of inputs: "Sum" and "Max" as a chain of the two-operand op.
void import_variadic(Importing& node);

}  // namespace nbx::pointwise
