// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ops/declare.h"

namespace nbx {

enum class NormalizeKind : uint8_t { l1, l2, mean_variance, response };

struct NormalizeSpec {
  NormalizeKind kind = NormalizeKind::l2;
  std::vector<bool> over;  // all but response
  // response: x / (bias + alpha / size * sum of squares over `size` neighbouring channels)^beta
  int64_t size = 1, channels = 1, space = 1;
  double alpha = 0, beta = 0, bias = 0;
};
NormalizeSpec normalize_spec(const Args& args);
Bound bind_normalize(const Args& args, const Metas& outputs);

}  // namespace nbx
