// SPDX-License-Identifier: Apache-2.0
#include <nbx/dtype.h>

#include "dtype/bits.h"

namespace nbx {

float to_float(float16_t v) { return bits::to_float(v); }
float to_float(float8_e4m3fn_t v) { return bits::to_float(v); }
float to_float(float8_e5m2_t v) { return bits::to_float(v); }
float16_t to_float16(float v) { return bits::to_float16(v); }
float16_t to_float16(double v) { return bits::to_float16(v); }
bfloat16_t to_bfloat16(float v) { return bits::to_bfloat16(v); }
bfloat16_t to_bfloat16(double v) { return bits::to_bfloat16(v); }
float8_e4m3fn_t to_float8_e4m3fn(float v) { return bits::to_float8_e4m3fn(v); }
float8_e5m2_t to_float8_e5m2(float v) { return bits::to_float8_e5m2(v); }

}  // namespace nbx
