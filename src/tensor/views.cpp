// SPDX-License-Identifier: Apache-2.0
// Views: another handle on the same storage.
#include <nbx/tensor.h>

#include <limits>

#include "base/check.h"
#include "base/checked.h"
#include "shape/broadcast.h"
#include "shape/strides.h"
#include "shape/view_rule.h"

namespace nbx {
namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

// A dim that must exist: a 0-d tensor has none to slice.
int64_t real_dim(const Tensor& t, int64_t d, const char* what) {
  require(t.rank() > 0, Code::index, "{}: a 0-d tensor has no dim {}", what, d);
  return wrap_dim(d, t.rank(), what);
}

// A step between elements that are never both there may be as large as it likes.
int64_t stepped(int64_t stride, int64_t step) {
  int64_t out = 0;
  return checked_mul(stride, step, out) ? out : std::numeric_limits<int64_t>::max();
}

// The offset of the element `index` steps on. Where the tensor has no elements the product may be anything; ATen's is
// kept as long as it is a valid offset.
int64_t advanced(int64_t offset, int64_t index, int64_t stride) {
  int64_t moved = 0, out = 0;
  const bool valid = checked_mul(index, stride, moved) && checked_add(offset, moved, out) && out >= 0;
  return valid ? out : offset;
}

}  // namespace

Tensor Tensor::view(const Shape& shape) const {
  const Shape target = infer_shape(shape, numel_, "view");
  const std::optional<Strides> strides = view_strides(shape_, strides_, target);
  require(strides.has_value(), Code::shape, "view: {} with strides {} cannot be seen as {} without a copy; use reshape",
          describe(*this), to_string(strides_), to_string(target));
  return Tensor(storage_, dtype_, target, *strides, offset_);
}

Tensor Tensor::reshape(const Shape& shape) const {
  const Shape target = infer_shape(shape, numel_, "reshape");
  const std::optional<Strides> strides = view_strides(shape_, strides_, target);
  return strides ? Tensor(storage_, dtype_, target, *strides, offset_) : clone().view(target);
}

Tensor Tensor::permute(const Ints& dims) const {
  require(dims.size() == shape_.size(), Code::shape, "permute: {} dims {} for {}", dims.size(), to_string(dims),
          describe(*this));
  Shape shape;
  Strides strides;
  for (int64_t d : wrap_dims(dims, rank(), "permute")) {
    shape.push_back(shape_[at(d)]);
    strides.push_back(strides_[at(d)]);
  }
  return Tensor(storage_, dtype_, shape, strides, offset_);
}

Tensor Tensor::transpose(int64_t d0, int64_t d1) const {
  const int64_t a = wrap_dim(d0, rank(), "transpose"), b = wrap_dim(d1, rank(), "transpose");
  if (a == b) return *this;
  Shape shape = shape_;
  Strides strides = strides_;
  std::swap(shape[at(a)], shape[at(b)]);
  std::swap(strides[at(a)], strides[at(b)]);
  return Tensor(storage_, dtype_, shape, strides, offset_);
}

Tensor Tensor::squeeze(int64_t d) const {
  const int64_t dim = wrap_dim(d, rank(), "squeeze");
  if (rank() == 0 || shape_[at(dim)] != 1) return *this;
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(shape.begin() + dim);
  strides.erase(strides.begin() + dim);
  return Tensor(storage_, dtype_, shape, strides, offset_);
}

Tensor Tensor::unsqueeze(int64_t d) const {
  const int64_t dim = wrap_dim(d, rank() + 1, "unsqueeze");
  const int64_t stride = dim < rank() ? stepped(strides_[at(dim)], shape_[at(dim)]) : 1;
  Shape shape = shape_;
  Strides strides = strides_;
  shape.insert(shape.begin() + dim, 1);
  strides.insert(strides.begin() + dim, stride);
  return Tensor(storage_, dtype_, shape, strides, offset_);
}

Tensor Tensor::expand(const Shape& shape) const {
  require(shape.size() >= shape_.size(), Code::shape, "expand: {} has {} dims, more than the {} of {}", describe(*this),
          rank(), shape.size(), to_string(shape));
  Shape target = shape;
  const size_t added = shape.size() - shape_.size();
  for (size_t d = 0; d < target.size(); ++d) {
    if (target[d] != -1) continue;
    require(d >= added, Code::shape, "expand: -1 at dim {} of {} has no extent to keep in {}", d, to_string(shape),
            describe(*this));
    target[d] = shape_[d - added];
  }
  check_shape(target, "expand");
  Strides strides(target.size(), 0);
  for (size_t d = target.size(); d-- > 0;) {
    if (d < added) {  // a new dim of extent 1 has the stride that unsqueeze would give it
      if (target[d] == 1 && rank() > 0) strides[d] = stepped(strides[d + 1], target[d + 1]);
      continue;
    }
    const int64_t extent = shape_[d - added];
    require(extent == target[d] || extent == 1, Code::shape, "expand: {} to {}: extent {} of dim {} cannot become {}",
            describe(*this), to_string(shape), extent, d - added, target[d]);
    strides[d] = extent == target[d] ? strides_[d - added] : 0;
  }
  return Tensor(storage_, dtype_, target, strides, offset_);
}

Tensor Tensor::slice(int64_t d, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const {
  const int64_t dim = real_dim(*this, d, "slice");
  require(step > 0, Code::value, "slice: step {} of dim {} ({}) must be positive", step, d, describe(*this));
  const Slice part = slice_of(shape_[at(dim)], start, end, step);
  Shape shape = shape_;
  Strides strides = strides_;
  shape[at(dim)] = part.length;
  strides[at(dim)] = stepped(strides_[at(dim)], step);
  return Tensor(storage_, dtype_, shape, strides, advanced(offset_, part.start, strides_[at(dim)]));
}

Tensor Tensor::narrow(int64_t d, int64_t start, int64_t length) const {
  const int64_t dim = real_dim(*this, d, "narrow");
  const int64_t extent = shape_[at(dim)];
  require(start >= -extent && start <= extent, Code::index, "narrow: start {} is out of range for dim {} of {}", start,
          d, describe(*this));
  const int64_t from = start < 0 ? start + extent : start;
  require(length >= 0 && length <= extent - from, Code::index,
          "narrow: start {} and length {} do not fit into dim {} of {}, which has {}", start, length, d,
          describe(*this), extent);
  return slice(dim, from, from + length);
}

Tensor Tensor::select(int64_t d, int64_t index) const {
  const int64_t dim = real_dim(*this, d, "select");
  const int64_t extent = shape_[at(dim)];
  require(index >= -extent && index < extent, Code::index, "select: index {} is out of range for dim {} of {}", index,
          d, describe(*this));
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(shape.begin() + dim);
  strides.erase(strides.begin() + dim);
  const int64_t wrapped = index < 0 ? index + extent : index;
  return Tensor(storage_, dtype_, shape, strides, advanced(offset_, wrapped, strides_[at(dim)]));
}

Tensor Tensor::unfold(int64_t d, int64_t size, int64_t step) const {
  const int64_t dim = wrap_dim(d, rank(), "unfold");
  const int64_t extent = rank() == 0 ? 1 : shape_[at(dim)];
  const int64_t stride = rank() == 0 ? 1 : strides_[at(dim)];
  require(size >= 0 && size <= extent, Code::value, "unfold: window {} does not fit into dim {} of {}, which has {}",
          size, d, describe(*this), extent);
  require(step > 0, Code::value, "unfold: step {} of dim {} ({}) must be positive", step, d, describe(*this));
  Shape shape = shape_;
  Strides strides = strides_;
  if (rank() > 0) {
    shape[at(dim)] = (extent - size) / step + 1;
    strides[at(dim)] = stepped(stride, step);
  }
  shape.push_back(size);
  strides.push_back(stride);
  return Tensor(storage_, dtype_, shape, strides, offset_);
}

Tensor Tensor::as_strided(const Shape& shape, const Strides& strides, int64_t offset) const {
  return Tensor(storage_, dtype_, shape, strides, offset);
}

Tensor Tensor::flip(const Ints& dims) const {
  Strides strides = strides_;
  int64_t offset = offset_;
  if (rank() == 0) {
    wrap_dims(dims, 0, "flip");
    return *this;
  }
  for (int64_t d : wrap_dims(dims, rank(), "flip")) {
    if (numel_ > 0) offset += (shape_[at(d)] - 1) * strides_[at(d)];
    strides[at(d)] = -strides_[at(d)];
  }
  return Tensor(storage_, dtype_, shape_, strides, offset);
}

}  // namespace nbx
