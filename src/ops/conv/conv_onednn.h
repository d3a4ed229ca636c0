// SPDX-License-Identifier: Apache-2.0
// The oneDNN candidate of this family; only in builds with oneDNN.
#pragma once
#include "ops/conv/problem.h"

namespace nbx {

Serves onednn_serves(const ConvProblem& p);
Bound bind_onednn(const ConvProblem& p);

}  // namespace nbx
