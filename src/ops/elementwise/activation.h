// SPDX-License-Identifier: Apache-2.0
// Which pointwise ops a GEMM or convolution can do as its epilogue.
#pragma once
#include <optional>

#include "backend/activation_spec.h"
#include "ops/declare.h"

namespace nbx {

// nullopt when there is no such activation, or a number of it is not known yet. relu, relu6, hardtanh, clamp (numbers
// or known 0-d tensors, both or one bound), sigmoid, silu, gelu, hardsigmoid, custom::hard_sigmoid, hardswish, tanh,
// leaky_relu.
std::optional<ActivationSpec> as_activation(const OpDecl& op, const Args& args);

// An offered epilogue (EpilogueOffer) of kind none without an addend says: result * alpha + beta.
inline bool offers_affine(const EpilogueOffer& e) {
  return e.addend == nullptr && e.activation.kind == ActivationKind::none;
}

}  // namespace nbx
