// SPDX-License-Identifier: Apache-2.0
// Pure functions of shapes and strides: dims, slices, and the loops that visit a strided tensor.
#pragma once
#include <nbx/shape.h>

#include <optional>
#include <string_view>
#include <vector>

namespace nbx {

// Error (shape) for a negative extent or more than kMaxRank dims; `what` names the thing in the text.
void check_shape(const Shape& shape, std::string_view what);

// A dim in [-rank, rank) as one in [0, rank); a 0-d tensor accepts 0 and -1. Error (index) naming both.
int64_t wrap_dim(int64_t dim, int64_t rank, std::string_view what);
// All of them, without duplicates; an empty list stays empty.
Ints wrap_dims(const Ints& dims, int64_t rank, std::string_view what);

// Row-major order, dims of extent 1 ignored; no elements: contiguous.
bool is_contiguous(const Shape& shape, const Strides& strides);
// No two elements share a place. Exact; cheap for strides that nest, which all views but odd as_strided ones have.
bool is_disjoint(const Shape& shape, const Strides& strides);

// The lowest and highest element offset, relative to the first element; nullopt when there are no elements. Error
// (shape) when they do not fit into 63 bits.
struct Extent {
  int64_t low = 0;
  int64_t high = 0;
};
std::optional<Extent> extent_of(const Shape& shape, const Strides& strides);

// Python's slice of an axis of `extent`: clamped start, number of elements. step > 0.
struct Slice {
  int64_t start = 0;
  int64_t length = 0;
};
Slice slice_of(int64_t extent, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);

// The same elements visited with as few dims as possible: dims of extent 1 dropped, neighbours merged where every
// operand allows it. `reorder` sorts the dims by the first operand's strides, largest first, so that the inner loop
// walks it densely. All operands share the order, so element pairs stay pairs. No dims: one element (or none).
struct Loops {
  Shape shape;
  std::vector<Strides> strides;  // one an operand
  int64_t numel = 0;
};
Loops coalesce(const Shape& shape, const std::vector<Strides>& strides, bool reorder = true);

}  // namespace nbx
