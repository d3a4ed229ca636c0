// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy_runs.h"

namespace nbx::copy_runs {

CopyRun from_float(DType from, DType target) {
  switch (from) {
    case DType::float32:
      return to<float>(target);
    case DType::float64:
      return to<double>(target);
    case DType::complex64:
      return to<std::complex<float>>(target);
    case DType::complex128:
      return to<std::complex<double>>(target);
    default:
      return nullptr;
  }
}

}  // namespace nbx::copy_runs
