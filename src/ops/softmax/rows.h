// SPDX-License-Identifier: Apache-2.0
// The vector loops of softmax, over blocks of floats. m: the row's maximum.
#pragma once
#include <cstdint>

namespace nbx {

double exp_shift_store(const float* x, float* y, int64_t n, float m);           // y = e^(x - m); their sum
void scale_in_place(float* y, int64_t n, float s);                              // y = y s
void exp_shift_scale(const float* x, float* y, int64_t n, float m, float s);    // y = e^(x - m) s
void shift_twice(const float* x, float* y, int64_t n, float m, float log_sum);  // y = (x - m) - log_sum
// The same for columns: m and s hold one value an element.
void exp_shift_scale_columns(const float* x, float* y, int64_t n, const float* m, const float* s);
void shift_twice_columns(const float* x, float* y, int64_t n, const float* m, const float* log_sum);

}  // namespace nbx
