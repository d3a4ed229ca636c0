// SPDX-License-Identifier: Apache-2.0
#include "shape/broadcast.h"

#include <algorithm>

#include "base/check.h"

namespace nbx {
namespace {

// The extent at a place counted from the end; absent dims are 1.
int64_t from_end(const Shape& shape, size_t back) { return back < shape.size() ? shape[shape.size() - 1 - back] : 1; }

// The place (from the end) of the first mismatch, or -1.
int64_t mismatch(const Shape& a, const Shape& b) {
  for (size_t back = 0; back < std::min(a.size(), b.size()); ++back) {
    const int64_t x = from_end(a, back), y = from_end(b, back);
    if (x != y && x != 1 && y != 1) return static_cast<int64_t>(back);
  }
  return -1;
}

}  // namespace

std::optional<Shape> try_broadcast(const Shape& a, const Shape& b) {
  if (mismatch(a, b) >= 0) return std::nullopt;
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t back = 0; back < rank; ++back) {
    const int64_t x = from_end(a, back), y = from_end(b, back);
    out[rank - 1 - back] = x == 1 ? y : x;
  }
  return out;
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view what) {
  const std::optional<Shape> out = try_broadcast(a, b);
  if (out) return *out;
  const auto back = static_cast<size_t>(mismatch(a, b));
  fail(Code::shape, "{}: shapes {} and {} do not broadcast: {} against {} at dim -{}; extents must be equal or 1", what,
       to_string(a), to_string(b), from_end(a, back), from_end(b, back), back + 1);
}

Shape broadcast(std::initializer_list<Shape> shapes, std::string_view what) {
  Shape out;
  for (const Shape& shape : shapes) out = broadcast(out, shape, what);
  return out;
}

bool is_broadcastable(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (size_t back = 0; back < from.size(); ++back)
    if (from_end(from, back) != from_end(to, back) && from_end(from, back) != 1) return false;
  return true;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to, std::string_view what) {
  require(is_broadcastable(shape, to), Code::shape,
          "{}: shape {} cannot be broadcast to {}; dims are aligned at the end and must be equal or 1", what,
          to_string(shape), to_string(to));
  Strides out(to.size(), 0);
  const size_t added = to.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == to[added + d]) out[added + d] = strides[d];
  return out;
}

}  // namespace nbx
