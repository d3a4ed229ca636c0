// SPDX-License-Identifier: Apache-2.0
// Tensor: a handle on shared storage: storage + element offset + shape + strides + dtype + device. Copying a handle
// shares the storage; views share it too. A handle never changes its shape or dtype. Host tensors only, so far.
#pragma once
#include <nbx/dtype.h>
#include <nbx/error.h>
#include <nbx/shape.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nbx {

enum class DeviceKind : uint8_t { cpu, null, cuda, opencl };
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  friend bool operator==(Device a, Device b) { return a.kind == b.kind && a.index == b.index; }
};
std::string to_string(Device device);  // "cpu", "cuda:0"

// Bytes with an owner: heap memory (64-byte aligned), a mapped file, or memory lent by the caller.
class Storage {
 public:
  static std::shared_ptr<Storage> allocate(int64_t bytes, Device device = {});
  // `owner` keeps the bytes alive; `writable` false makes every write through a tensor an error.
  static std::shared_ptr<Storage> borrow(void* data, int64_t bytes, std::shared_ptr<const void> owner, bool writable);
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }
  Device device() const { return device_; }
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

 private:
  Storage() = default;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  bool owned_ = false;
  bool writable_ = true;
  Device device_;
  std::shared_ptr<const void> owner_;
};

class Tensor {
 public:
  Tensor() = default;  // undefined
  Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, Strides strides,
         int64_t offset);  // bounds-checked

  static Tensor empty(const Shape& shape, DType dtype);  // uninitialised, contiguous
  static Tensor zeros(const Shape& shape, DType dtype);
  static Tensor full(const Shape& shape, double value, DType dtype);
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);  // copies; shape (values) error on a count mismatch
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, {value});
  }
  // Memory of the caller, not copied; `owner` may be null when the caller guarantees the lifetime.
  static Tensor borrow(void* data, const Shape& shape, DType dtype, std::shared_ptr<const void> owner = {},
                       bool writable = true);

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ ? storage_->device() : Device{}; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t dim(int64_t d) const;  // negative d counts from the end
  int64_t numel() const { return numel_; }
  int64_t nbytes() const { return numel_ * itemsize(dtype_); }
  bool is_contiguous() const { return contiguous_; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // Address of the first element of the view. The typed form checks the dtype; `data` for writing checks writability.
  const void* raw() const;
  void* raw_mutable() const;
  template <class T>
  const T* data() const {
    check_type(dtype_of<T>::value);
    return static_cast<const T*>(raw());
  }
  template <class T>
  T* mutable_data() const {
    check_type(dtype_of<T>::value);
    return static_cast<T*>(raw_mutable());
  }
  // The only element, converted. Error when numel != 1, naming the shape.
  double item() const;
  int64_t item_int() const;
  // All elements in row-major order, converted.
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_ints() const;
  // Row-major copy of the bytes.
  std::vector<std::byte> to_bytes() const;

  // Views (ATen's rules; no copy). Negative dims wrap. Errors name shape and argument.
  Tensor view(const Shape& shape) const;  // one -1 allowed; error when strides do not allow it
  Tensor permute(const Ints& dims) const;
  Tensor transpose(int64_t d0, int64_t d1) const;
  Tensor squeeze(int64_t d) const;
  Tensor unsqueeze(int64_t d) const;
  Tensor expand(const Shape& shape) const;
  Tensor slice(int64_t d, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step = 1) const;
  Tensor narrow(int64_t d, int64_t start, int64_t length) const;
  Tensor select(int64_t d, int64_t index) const;
  Tensor unfold(int64_t d, int64_t size, int64_t step) const;
  Tensor as_strided(const Shape& shape, const Strides& strides, int64_t offset) const;  // bounds-checked
  Tensor flip(const Ints& dims) const;                                                  // a negative-stride view

  // Copies.
  Tensor reshape(const Shape& shape) const;  // view when possible
  Tensor contiguous() const;                 // itself when contiguous already
  Tensor clone() const;                      // always fresh and dense
  Tensor to(DType dtype) const;              // itself when equal; ATen's conversions
  void copy_(const Tensor& source) const;    // broadcasts and converts; overlapping storage is handled

 private:
  void check_type(DType wanted) const;

  std::shared_ptr<Storage> storage_;
  Shape shape_;
  Strides strides_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  DType dtype_ = DType::float32;
  bool contiguous_ = true;
};

struct PrintOptions {
  int precision = 4;
  int64_t threshold = 1000;  // summarise above this many elements
  int64_t edge = 3;
  int width = 75;
};
std::string to_string(const Tensor& tensor, const PrintOptions& options = {});  // like NumPy
std::string describe(const Tensor& tensor);                                     // "float32[2, 3]"
std::string describe(DType dtype, const Shape& shape);
// Same dtype, shape and bits of every element.
bool same_bits(const Tensor& a, const Tensor& b);

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor out = empty(shape, dtype_of<T>::value);
  if (out.numel() != static_cast<int64_t>(values.size()))
    throw Error(Code::shape, "Tensor::of: " + std::to_string(values.size()) + " values for shape " + to_string(shape) +
                                 " of " + std::to_string(out.numel()) + " elements");
  if (!values.empty()) std::copy(values.begin(), values.end(), out.mutable_data<T>());
  return out;
}

}  // namespace nbx
