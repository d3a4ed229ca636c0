// SPDX-License-Identifier: Apache-2.0
// Shapes and strides. Extents are >= 0; strides count elements, not bytes, and may be 0 or negative.
#pragma once
#include <nbx/small_vector.h>

#include <cstdint>
#include <string>

namespace nbx {

using Ints = SmallVector<int64_t, 6>;
using Shape = Ints;
using Strides = Ints;
inline constexpr int kMaxRank = 25;

// Product of the extents; error (shape) when it, times `itemsize`, does not fit into 63 bits, or an extent is negative.
int64_t numel(const Shape& shape, int64_t itemsize = 1);
// "[2, 3]"
std::string to_string(const Ints& values);
// Row-major strides.
Strides contiguous_strides(const Shape& shape);

}  // namespace nbx
