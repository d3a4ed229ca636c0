// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace nbx {

// y = sum of w[k] rows[k], over n elements; taps >= 1.
void weighted_rows(const float* const* rows, const float* w, int64_t taps, float* y, int64_t n);
void weighted_rows(const double* const* rows, const double* w, int64_t taps, double* y, int64_t n);

}  // namespace nbx
