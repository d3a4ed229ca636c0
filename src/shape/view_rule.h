// SPDX-License-Identifier: Apache-2.0
// ATen's rule for reading a strided tensor in another shape without a copy.
#pragma once
#include <nbx/shape.h>

#include <optional>
#include <string_view>

namespace nbx {

// Strides of `to` over the same elements in the same row-major order; nullopt when none exist. The element counts are
// equal.
std::optional<Strides> view_strides(const Shape& from, const Strides& strides, const Shape& to);

// `wanted` with its -1, of which at most one is allowed, filled in for `elements` elements. Error (shape) naming
// `what`.
Shape infer_shape(const Shape& wanted, int64_t elements, std::string_view what);

}  // namespace nbx
