// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/declare.h"

namespace nbx {

// Layer and RMS norm over the trailing dims of a dense tensor: `rows` rows of `n`.
struct LayerNormSpec {
  bool rms = false;
  bool saturates = false;  // float16 results stay finite
  bool saves = false;      // outputs 1 and 2: mean and 1 / sqrt(variance + eps)
  double eps = 1e-5;
  int64_t axis = 0;
  int64_t rows = 1, n = 1;
  int input = 0, weight = -1, bias = -1;  // operands
};
LayerNormSpec layer_norm_spec(const Args& args);
Bound bind_layer_norm(const Args& args, const Metas& outputs);
int64_t layer_norm_bytes(const Args& args);
std::vector<Tensor> layer_norm_oracle(const Args& args, const std::vector<Tensor>& operands);

}  // namespace nbx
