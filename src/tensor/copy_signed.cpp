// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy_runs.h"

namespace nbx::copy_runs {

CopyRun from_signed(DType from, DType target) {
  switch (from) {
    case DType::int8:
      return to<int8_t>(target);
    case DType::int16:
      return to<int16_t>(target);
    case DType::int32:
      return to<int32_t>(target);
    case DType::int64:
      return to<int64_t>(target);
    default:
      return nullptr;
  }
}

}  // namespace nbx::copy_runs
