// SPDX-License-Identifier: Apache-2.0
#include "shape/strides.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/checked.h"

namespace nbx {

int64_t numel(const Shape& shape, int64_t itemsize) {
  int64_t count = itemsize;
  bool fits = true, empty = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    require(shape[d] >= 0, Code::shape, "shape {} has a negative extent {} at dim {}", to_string(shape), shape[d], d);
    empty = empty || shape[d] == 0;
    fits = fits && checked_mul(count, shape[d], count);
  }
  if (empty) return 0;
  require(fits, Code::shape, "shape {} with {} bytes an element needs more than 2^63 bytes", to_string(shape),
          itemsize);
  return count / itemsize;
}

std::string to_string(const Ints& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size(), 1);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    // An extent 0 counts as 1, as ATen: the strides of an empty tensor stay usable for expanding and comparing.
    if (!checked_mul(step, std::max<int64_t>(shape[d], 1), step)) {
      require(numel(shape) == 0, Code::shape, "shape {} has more than 2^63 elements", to_string(shape));
      step = std::numeric_limits<int64_t>::max();
    }
  }
  return strides;
}

void check_shape(const Shape& shape, std::string_view what) {
  require(shape.size() <= static_cast<size_t>(kMaxRank), Code::shape, "{}: {} has {} dims, at most {} are supported",
          what, to_string(shape), shape.size(), kMaxRank);
  for (size_t d = 0; d < shape.size(); ++d)
    require(shape[d] >= 0, Code::shape, "{}: {} has a negative extent {} at dim {}", what, to_string(shape), shape[d],
            d);
}

int64_t wrap_dim(int64_t dim, int64_t rank, std::string_view what) {
  const int64_t range = std::max<int64_t>(rank, 1);
  require(dim >= -range && dim < range, Code::index, "{}: dim {} is out of range for rank {}; it must be in [{}, {}]",
          what, dim, rank, -range, range - 1);
  return dim < 0 ? dim + range : dim;
}

Ints wrap_dims(const Ints& dims, int64_t rank, std::string_view what) {
  Ints wrapped;
  for (int64_t dim : dims) {
    const int64_t at = wrap_dim(dim, rank, what);
    require(std::find(wrapped.begin(), wrapped.end(), at) == wrapped.end(), Code::index,
            "{}: dim {} appears more than once in {} (rank {})", what, at, to_string(dims), rank);
    wrapped.push_back(at);
  }
  return wrapped;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  for (int64_t extent : shape)
    if (extent == 0) return true;
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

bool is_disjoint(const Shape& shape, const Strides& strides) {
  if (is_contiguous(shape, strides)) return true;
  struct Dim {
    int64_t extent, stride;
  };
  std::vector<Dim> dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (strides[d] == 0) return false;
    dims.push_back({shape[d], std::abs(strides[d])});
  }
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  int64_t span = 0;  // the largest offset that the smaller dims reach
  bool nested = true;
  for (const Dim& dim : dims) {
    nested = nested && dim.stride > span;
    span += (dim.extent - 1) * dim.stride;
  }
  if (nested) return true;
  if (numel(shape) > span + 1) return false;  // more elements than places

  std::vector<bool> taken(static_cast<size_t>(span) + 1);
  std::vector<int64_t> index(dims.size(), 0);
  for (int64_t at = 0;;) {
    if (taken[static_cast<size_t>(at)]) return false;
    taken[static_cast<size_t>(at)] = true;
    size_t d = 0;
    for (; d < dims.size(); ++d) {
      at += dims[d].stride;
      if (++index[d] < dims[d].extent) break;
      at -= dims[d].extent * dims[d].stride;
      index[d] = 0;
    }
    if (d == dims.size()) return true;
  }
}

std::optional<Extent> extent_of(const Shape& shape, const Strides& strides) {
  Extent extent;
  bool fits = true;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return std::nullopt;
    int64_t reach = 0;
    fits = fits && checked_mul(shape[d] - 1, strides[d], reach);
    int64_t& side = reach < 0 ? extent.low : extent.high;
    fits = fits && checked_add(side, reach, side);
  }
  require(fits, Code::shape, "shape {} with strides {} reaches past 2^63 elements", to_string(shape),
          to_string(strides));
  return extent;
}

Slice slice_of(int64_t extent, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const auto clamped = [extent](int64_t at) {
    if (at < 0) at = at < -extent ? 0 : at + extent;
    return std::min(at, extent);
  };
  const int64_t from = clamped(start.value_or(0));
  const int64_t to = std::max(from, clamped(end.value_or(extent)));
  return {from, ceil_div(to - from, step)};
}

Loops coalesce(const Shape& shape, const std::vector<Strides>& strides, bool reorder) {
  Loops loops;
  loops.numel = numel(shape);
  loops.strides.resize(strides.size());
  std::vector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) order.push_back(d);
  if (reorder && !strides.empty()) {
    const Strides& lead = strides.front();
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return std::abs(lead[a]) > std::abs(lead[b]); });
  }
  for (size_t d : order) {
    bool merges = !loops.shape.empty();
    for (size_t k = 0; merges && k < strides.size(); ++k) merges = loops.strides[k].back() == shape[d] * strides[k][d];
    if (merges) {
      loops.shape.back() *= shape[d];
      for (size_t k = 0; k < strides.size(); ++k) loops.strides[k].back() = strides[k][d];
    } else {
      loops.shape.push_back(shape[d]);
      for (size_t k = 0; k < strides.size(); ++k) loops.strides[k].push_back(strides[k][d]);
    }
  }
  return loops;
}

}  // namespace nbx
