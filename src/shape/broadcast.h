// SPDX-License-Identifier: Apache-2.0
// Broadcasting: shapes are aligned at their last dims; an extent of 1 stretches with stride 0.
#pragma once
#include <nbx/shape.h>

#include <initializer_list>
#include <optional>
#include <string_view>

namespace nbx {

// nullopt when they do not fit.
std::optional<Shape> try_broadcast(const Shape& a, const Shape& b);
// Error (shape) naming `what`, both shapes and the dim.
Shape broadcast(const Shape& a, const Shape& b, std::string_view what);
Shape broadcast(std::initializer_list<Shape> shapes, std::string_view what);

// Can a tensor of shape `from` be read as one of shape `to`?
bool is_broadcastable(const Shape& from, const Shape& to);
// Strides that read a tensor (shape, strides) as one of shape `to`; error (shape) naming `what` when impossible.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to, std::string_view what);

}  // namespace nbx
