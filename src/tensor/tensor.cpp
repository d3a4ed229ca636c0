// SPDX-License-Identifier: Apache-2.0
// Construction, host access and copies.
#include <nbx/tensor.h>

#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "dtype/promotion.h"
#include "shape/broadcast.h"
#include "shape/strides.h"
#include "tensor/convert.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

// Addresses that the elements of a tensor with elements occupy.
struct Span {
  const std::byte* begin;
  const std::byte* end;
};

Span span_of(const Tensor& t) {
  const Extent extent = *extent_of(t.shape(), t.strides());
  const auto* first = static_cast<const std::byte*>(t.raw());
  const int64_t item = itemsize(t.dtype());
  return {first + extent.low * item, first + (extent.high + 1) * item};
}

template <class T>
std::vector<T> converted(const Tensor& t) {
  require(!is_complex(t.dtype()), Code::dtype, "a {} tensor has no real elements to read; take real, imag or abs first",
          describe(t));
  std::vector<T> out(static_cast<size_t>(t.numel()));
  if (!out.empty())
    strided_copy(t.dtype(), static_cast<const std::byte*>(t.raw()), t.strides(), dtype_of<T>::value,
                 reinterpret_cast<std::byte*>(out.data()), contiguous_strides(t.shape()), t.shape());
  return out;
}

template <class T>
T only_element(const Tensor& t) {
  require(t.numel() == 1, Code::shape, "item: {} has {} elements, not one", describe(t), t.numel());
  return converted<T>(t).front();
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, Strides strides, int64_t offset)
    : storage_(std::move(storage)),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      offset_(offset),
      dtype_(dtype) {
  require(storage_ != nullptr, Code::type, "a tensor needs a storage");
  require(has_tensors(dtype), Code::dtype, "{} takes part in promotion only: no tensor of it can be made", name(dtype));
  check_shape(shape_, "tensor");
  require(shape_.size() == strides_.size(), Code::shape, "shape {} and strides {} differ in rank", to_string(shape_),
          to_string(strides_));
  numel_ = nbx::numel(shape_, itemsize(dtype));
  contiguous_ = nbx::is_contiguous(shape_, strides_);
  const int64_t places = storage_->bytes() / itemsize(dtype);
  require(offset >= 0, Code::index, "{} at element offset {}: it cannot be negative", describe(dtype, shape_), offset);
  const std::optional<Extent> extent = extent_of(shape_, strides_);
  if (!extent) return;
  int64_t last = 0;
  require(checked_add(offset, extent->high, last) && last < places && offset + extent->low >= 0, Code::index,
          "{} with strides {} at offset {} reaches elements {} to {}, the storage has {}", describe(dtype, shape_),
          to_string(strides_), offset, offset + extent->low, last, places);
}

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  check_shape(shape, "empty");
  const int64_t count = nbx::numel(shape, itemsize(dtype));
  return Tensor(Storage::allocate(count * itemsize(dtype)), dtype, shape, contiguous_strides(shape), 0);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor out = empty(shape, dtype);
  if (out.numel_ > 0) std::memset(out.raw_mutable(), 0, static_cast<size_t>(out.nbytes()));
  return out;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
  Tensor out = empty(shape, dtype);
  if (out.numel_ > 0)
    copy_run(DType::float64, dtype)(reinterpret_cast<const std::byte*>(&value), 0,
                                    static_cast<std::byte*>(out.raw_mutable()), 1, out.numel_);
  return out;
}

Tensor Tensor::borrow(void* data, const Shape& shape, DType dtype, std::shared_ptr<const void> owner, bool writable) {
  const int64_t bytes = nbx::numel(shape, itemsize(dtype)) * itemsize(dtype);
  return Tensor(Storage::borrow(data, bytes, std::move(owner), writable), dtype, shape, contiguous_strides(shape), 0);
}

int64_t Tensor::dim(int64_t d) const {
  if (d < -rank() || d >= rank()) fail(Code::index, "dim {} is out of range for {}", d, describe(*this));
  return shape_[static_cast<size_t>(d < 0 ? d + rank() : d)];
}

// The hot paths make no text unless it is needed.
const void* Tensor::raw() const {
  require(defined(), Code::type, "an undefined tensor has no elements");
  if (storage_->device().kind != DeviceKind::cpu)
    fail(Code::unsupported, "{} is on device {}: the host cannot read it", describe(*this),
         to_string(storage_->device()));
  return storage_->data() + offset_ * itemsize(dtype_);
}

void* Tensor::raw_mutable() const {
  const void* address = raw();
  if (!storage_->writable())
    fail(Code::value, "{} is read-only memory (a mapped file or lent bytes); clone it to write", describe(*this));
  return const_cast<void*>(address);
}

void Tensor::check_type(DType wanted) const {
  if (dtype_ != wanted)
    fail(Code::dtype, "{} is read as {}; convert it with to({})", describe(*this), name(wanted), name(wanted));
}

double Tensor::item() const { return only_element<double>(*this); }
int64_t Tensor::item_int() const { return only_element<int64_t>(*this); }
std::vector<double> Tensor::to_doubles() const { return converted<double>(*this); }
std::vector<int64_t> Tensor::to_ints() const { return converted<int64_t>(*this); }

std::vector<std::byte> Tensor::to_bytes() const {
  std::vector<std::byte> out(static_cast<size_t>(nbytes()));
  if (!out.empty())
    strided_copy(dtype_, static_cast<const std::byte*>(raw()), strides_, dtype_, out.data(), contiguous_strides(shape_),
                 shape_);
  return out;
}

Tensor Tensor::contiguous() const { return contiguous_ ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor out = empty(shape_, dtype_);
  out.copy_(*this);
  return out;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor out = empty(shape_, dtype);
  out.copy_(*this);
  return out;
}

void Tensor::copy_(const Tensor& source) const {
  copy_run(source.dtype_, dtype_);  // refuses the pair before anything else is looked at
  const Strides strides = broadcast_strides(source.shape_, source.strides_, shape_, "copy_");
  auto* to = static_cast<std::byte*>(raw_mutable());
  const auto* from = static_cast<const std::byte*>(source.raw());
  if (numel_ == 0) return;
  require(is_disjoint(shape_, strides_), Code::value,
          "copy_: the target {} with strides {} has elements that share memory; clone it to write", describe(*this),
          to_string(strides_));
  const Span a = span_of(*this), b = span_of(source);
  if (a.begin < b.end && b.begin < a.end) {
    if (from == to && dtype_ == source.dtype_ && strides == strides_) return;
    return copy_(source.clone());
  }
  strided_copy(source.dtype_, from, strides, dtype_, to, strides_, shape_);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.to_bytes() == b.to_bytes();
}

}  // namespace nbx
