// SPDX-License-Identifier: Apache-2.0
// The oneDNN candidate of this family; only in builds with oneDNN.
#pragma once
#include "ops/recurrent/problem.h"

namespace nbx {

Serves onednn_serves(const RecurrentProblem& p);
Bound bind_onednn(const RecurrentProblem& p);

}  // namespace nbx
