// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy_runs.h"

namespace nbx::copy_runs {

CopyRun from_unsigned(DType from, DType target) {
  switch (from) {
    case DType::bool_:
      return to<StoredBool>(target);
    case DType::uint8:
      return to<uint8_t>(target);
    case DType::uint16:
      return to<uint16_t>(target);
    case DType::uint32:
      return to<uint32_t>(target);
    case DType::uint64:
      return to<uint64_t>(target);
    default:
      return nullptr;
  }
}

}  // namespace nbx::copy_runs
