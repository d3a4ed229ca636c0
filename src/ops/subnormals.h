// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nbx/tensor.h>

namespace nbx {

// The tensor with its float32 subnormals (below 1.18e-38) made zero; itself when it has none. Trained weights that a
// regulariser has pushed towards zero are full of them, and each costs an x86 core over a hundred cycles in a product
// (docs/decisions/0010-subnormal-weights.md).
Tensor without_subnormals(const Tensor& weight);

}  // namespace nbx
