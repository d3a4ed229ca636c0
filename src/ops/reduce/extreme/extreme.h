// SPDX-License-Identifier: Apache-2.0
// Where the largest or smallest element is: max.dim, argmax, ONNX ArgMax; and aminmax.
#pragma once
#include "ops/declare.h"

namespace nbx {

struct ExtremeSpec {
  std::vector<bool> over;
  bool keepdim = false;
  bool largest = true;
  bool last = false;      // among equal elements: the last one
  int value_output = -1;  // where the values go
  int index_output = 0;
};
ExtremeSpec extreme_spec(const Args& args);
Bound bind_extreme(const Args& args, const Metas& outputs);
Bound bind_both_extremes(const Args& args, const Metas& outputs);
int64_t extreme_bytes(const Args& args);

}  // namespace nbx
