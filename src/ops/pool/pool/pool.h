// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ops/declare.h"

namespace nbx {

enum class PoolKind : uint8_t { max, average, lp };
enum class PoolIndices : uint8_t { none, plane, whole, whole_column_major };  // ATen's; ONNX's two storage orders

// One spatial dim: which input elements each output's window covers, clipped to the input.
struct PoolAxis {
  int64_t in = 1, out = 1, step = 1;  // step: the dilation
  std::vector<int64_t> first{0}, taps{1};
  std::vector<int64_t> cover{1};            // taps with the padding that counts
  int64_t kernel = 1, stride = 1, pad = 0;  // tap k of output o is o stride - pad + k step, when `regular`
  bool regular = false;
};

struct PoolSpec {
  PoolKind kind = PoolKind::max;
  PoolIndices indices = PoolIndices::none;
  bool count_padding = false;
  int64_t divisor = 0;  // 0: the window's own
  double p = 2;
  int64_t planes = 1;
  PoolAxis axes[3];  // the last `spatial` ones are used
  int spatial = 2;
  Shape out_shape;
};
PoolSpec pool_spec(const Args& args);
Bound bind_pool(const Args& args, const Metas& outputs);
std::vector<Tensor> pool_oracle(const Args& args, const std::vector<Tensor>& operands);

}  // namespace nbx
