// SPDX-License-Identifier: Apache-2.0
// The dims a reduction goes over, and the shape that is left.
#pragma once
#include <string_view>
#include <vector>

#include "ops/args.h"

namespace nbx {

// One flag a dim. Negative dims wrap; a dim named twice or out of range is an error (index) naming `op`.
std::vector<bool> dim_mask(const Ints& dims, int64_t rank, std::string_view op);
std::vector<bool> all_dims(int64_t rank);
Shape reduced_shape(const Shape& shape, const std::vector<bool>& over, bool keepdim);

// For oracles: where the terms of each output lie in a dense tensor, in row-major order.
std::vector<std::vector<int64_t>> reduction_terms(const Shape& shape, const std::vector<bool>& over);

}  // namespace nbx
