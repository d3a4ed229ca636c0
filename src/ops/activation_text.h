// SPDX-License-Identifier: Apache-2.0
// The three parameters by which fused ops name an activation: str activation, float act_alpha, float act_beta.
#pragma once
#include "ops/args.h"

#include "backend/activation_spec.h"

namespace nbx {

const char* activation_name(ActivationKind kind);
// Error (value) naming the text and the known ones.
ActivationKind parse_activation(const std::string& text);
ActivationSpec activation_of(const Args& args);  // from the three parameters
// The float64 formula, for oracles and plain kernels.
double activate(const ActivationSpec& spec, double x);

}  // namespace nbx
