// SPDX-License-Identifier: Apache-2.0
#include "ops/subnormals.h"

#include <cmath>

namespace nbx {

Tensor without_subnormals(const Tensor& weight) {
  if (weight.dtype() != DType::float32) return weight;
  const Tensor dense = weight.contiguous();
  const float* p = dense.data<float>();
  const int64_t n = dense.numel();
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) found += std::fpclassify(p[i]) == FP_SUBNORMAL;
  if (found == 0) return weight;
  Tensor out = dense.clone();
  float* q = out.mutable_data<float>();
  for (int64_t i = 0; i < n; ++i)
    if (std::fpclassify(q[i]) == FP_SUBNORMAL) q[i] = 0.0f;
  return out;
}

}  // namespace nbx
