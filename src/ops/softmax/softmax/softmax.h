// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/declare.h"

namespace nbx {

enum class SoftmaxKind : uint8_t { plain, log, safe, hard };

// A dense tensor seen as (outer, n, inner), normalised over n.
struct SoftmaxSpec {
  SoftmaxKind kind = SoftmaxKind::plain;
  DType out = DType::float32;
  int64_t outer = 1, n = 1, inner = 1;
};
SoftmaxSpec softmax_spec(const Args& args);
Bound bind_softmax(const Args& args, const Metas& outputs);
std::vector<Tensor> softmax_oracle(const Args& args, const std::vector<Tensor>& operands);

}  // namespace nbx
