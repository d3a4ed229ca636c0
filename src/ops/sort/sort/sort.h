// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/declare.h"

namespace nbx {

// A dense tensor seen as (outer, n, inner), ordered along n; the first k are kept.
struct SortSpec {
  int64_t outer = 1, n = 1, inner = 1, k = 1;
  bool descending = false;
  int value_output = 0, index_output = 1;  // -1: not wanted
  Shape out;
};
SortSpec sort_spec(const Args& args);
Bound bind_sort(const Args& args, const Metas& outputs);
int64_t sort_bytes(const Args& args);

}  // namespace nbx
