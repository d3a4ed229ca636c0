// SPDX-License-Identifier: Apache-2.0
// Samples that many pointwise ops share.
#pragma once
#include "dtype/rules.h"
#include "ops/sample.h"

namespace nbx::pointwise {

// One tensor (and `rest`): layouts, tails, long ones, special values; integers and bool where the op takes them, else
// the error that names them.
void unary_samples(SampleSink& s, unsigned takes, double low = -4, double high = 4, SampleArgs rest = {});
// Two tensors: broadcasting both ways, 0-d tensors, mixed dtypes. `positive`: the second is never 0.
void binary_samples(SampleSink& s, unsigned takes, double low = -4, double high = 4, bool positive = false);

}  // namespace nbx::pointwise
