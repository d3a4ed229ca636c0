// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy_runs.h"

namespace nbx::copy_runs {

CopyRun from_narrow_float(DType from, DType target) {
  switch (from) {
    case DType::float16:
      return to<float16_t>(target);
    case DType::bfloat16:
      return to<bfloat16_t>(target);
    case DType::float8_e4m3fn:
      return to<float8_e4m3fn_t>(target);
    case DType::float8_e5m2:
      return to<float8_e5m2_t>(target);
    default:
      return nullptr;
  }
}

}  // namespace nbx::copy_runs
