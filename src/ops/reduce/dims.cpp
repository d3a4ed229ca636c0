// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/dims.h"

#include "base/check.h"
#include "shape/strides.h"

namespace nbx {

std::vector<bool> dim_mask(const Ints& dims, int64_t rank, std::string_view op) {
  std::vector<bool> over(static_cast<size_t>(rank), false);
  for (const int64_t d : dims) {
    const int64_t at = wrap_dim(d, rank, op);
    if (rank == 0) continue;
    require(!over[static_cast<size_t>(at)], Code::index, "{}: dim {} appears twice in {}; name each dim once", op, at,
            to_string(dims));
    over[static_cast<size_t>(at)] = true;
  }
  return over;
}

std::vector<bool> all_dims(int64_t rank) { return std::vector<bool>(static_cast<size_t>(rank), true); }

Shape reduced_shape(const Shape& shape, const std::vector<bool>& over, bool keepdim) {
  Shape out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!over[d])
      out.push_back(shape[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

std::vector<std::vector<int64_t>> reduction_terms(const Shape& shape, const std::vector<bool>& over) {
  const Shape kept = reduced_shape(shape, over, true);
  const Strides strides = contiguous_strides(kept);
  std::vector<std::vector<int64_t>> terms(static_cast<size_t>(numel(kept)));
  const int64_t n = numel(shape);
  for (int64_t i = 0; i < n; ++i) {
    int64_t left = i, output = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      if (!over[d]) output += left % shape[d] * strides[d];
      left /= shape[d];
    }
    terms[static_cast<size_t>(output)].push_back(i);
  }
  return terms;
}

}  // namespace nbx
