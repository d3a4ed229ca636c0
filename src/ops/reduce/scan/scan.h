// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/declare.h"

namespace nbx {

enum class Scan : uint8_t { sum, prod, max, min, log_sum_exp };

// A scan of a dense tensor seen as (outer, n, inner).
struct ScanSpec {
  Scan kind = Scan::sum;
  bool indices = false;    // second output: where the extreme is
  bool exclusive = false;  // element i holds the total before it
  bool reverse = false;
  DType read = DType::float32, out = DType::float32;
  int64_t outer = 1, n = 1, inner = 1;
};
ScanSpec scan_spec(const Args& args);
Bound bind_scan(const Args& args, const Metas& outputs);

}  // namespace nbx
