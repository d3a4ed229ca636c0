// SPDX-License-Identifier: Apache-2.0
// How the kernels of reduce, softmax, norm, pool and resample read and write: in blocks of a few arithmetic types,
// whatever the storage. Half types are widened to float32 block by block in L1, so one float kernel serves three
// dtypes.
#pragma once
#include <nbx/dtype.h>
#include <nbx/shape.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace nbx {

inline constexpr int64_t kBlock = 2048;  // elements; the scratch of a Source or Sink

// Real dtypes of any kind, read as A and written from A: float, double, int64_t or uint64_t. `step` counts elements.
template <class A>
using Widen = void (*)(const void* from, int64_t step, int64_t n, A* to);
template <class A>
using Narrow = void (*)(const A* from, int64_t n, int64_t step, void* to);
template <class A>
Widen<A> widen_from(DType dtype);  // error (dtype) for complex
template <class A>
Narrow<A> narrow_to(DType dtype);

// The type a kernel computes in: float for float32 and narrower, double, uint64_t for uint64, int64_t for the rest.
enum class Arithmetic { f32, f64, i64, u64 };
Arithmetic arithmetic_of(DType dtype, const char* op);

template <class A>
class Source {
 public:
  explicit Source(DType dtype)
      : dense_(sizeof(A) == 8 ? dtype == own() : dtype == DType::float32),
        itemsize_(itemsize(dtype)),
        widen_(widen_from<A>(dtype)) {}
  // Elements offset, offset + step, ...: in their own place when that will do, else in `scratch`.
  const A* read(const void* base, int64_t offset, int64_t step, int64_t n, A* scratch) const {
    const std::byte* from = static_cast<const std::byte*>(base) + offset * itemsize_;
    if (dense_ && step == 1) return reinterpret_cast<const A*>(from);
    widen_(from, step, n, scratch);
    return scratch;
  }
  void copy(const void* base, int64_t offset, int64_t step, int64_t n, A* to) const {
    widen_(static_cast<const std::byte*>(base) + offset * itemsize_, step, n, to);
  }
  bool direct() const { return dense_; }

 private:
  static DType own();
  bool dense_;
  int64_t itemsize_;
  Widen<A> widen_;
};

template <class A>
class Sink {
 public:
  explicit Sink(DType dtype) : dense_(dtype == own()), itemsize_(itemsize(dtype)), narrow_(narrow_to<A>(dtype)) {}
  // Where to compute n results that then go to `offset`; finish with write().
  A* place(void* base, int64_t offset, A* scratch) const {
    return dense_ ? reinterpret_cast<A*>(static_cast<std::byte*>(base) + offset * itemsize_) : scratch;
  }
  void write(const A* from, int64_t n, void* base, int64_t offset, int64_t step = 1) const {
    std::byte* to = static_cast<std::byte*>(base) + offset * itemsize_;
    if (reinterpret_cast<const std::byte*>(from) != to) narrow_(from, n, step, to);
  }
  bool direct() const { return dense_; }

 private:
  static DType own();
  bool dense_;
  int64_t itemsize_;
  Narrow<A> narrow_;
};

template <>
inline DType Source<float>::own() {
  return DType::float32;
}
template <>
inline DType Source<double>::own() {
  return DType::float64;
}
template <>
inline DType Source<int64_t>::own() {
  return DType::int64;
}
template <>
inline DType Source<uint64_t>::own() {
  return DType::uint64;
}
template <>
inline DType Sink<float>::own() {
  return DType::float32;
}
template <>
inline DType Sink<double>::own() {
  return DType::float64;
}
template <>
inline DType Sink<int64_t>::own() {
  return DType::int64;
}
template <>
inline DType Sink<uint64_t>::own() {
  return DType::uint64;
}

// f(A{}) in the arithmetic of the dtype.
template <class F>
auto in_arithmetic(Arithmetic kind, F f) {
  switch (kind) {
    case Arithmetic::f32:
      return f(float{});
    case Arithmetic::f64:
      return f(double{});
    case Arithmetic::u64:
      return f(uint64_t{});
    case Arithmetic::i64:
      break;
  }
  return f(int64_t{});
}
template <class F>
auto in_float_arithmetic(Arithmetic kind, F f) {
  return kind == Arithmetic::f32 ? f(float{}) : f(double{});
}

// The dims of a tensor as a nest of loops: where the i-th element in row-major order of `shape` lies.
struct Walk {
  int rank = 0;
  int64_t numel = 1;
  int64_t shape[kMaxRank];
  int64_t stride[kMaxRank];

  // Joins the dim to the last one when the two are one run.
  void add(int64_t extent, int64_t step) {
    numel *= extent;
    if (extent == 1) return;
    if (rank > 0 && stride[rank - 1] == extent * step) {
      shape[rank - 1] *= extent;
      stride[rank - 1] = step;
      return;
    }
    shape[rank] = extent;
    stride[rank++] = step;
  }
  int64_t offset(int64_t i) const {
    int64_t at = 0;
    for (int d = rank - 1; d > 0; --d) {
      at += i % shape[d] * stride[d];
      i /= shape[d];
    }
    return rank == 0 ? 0 : at + i * stride[0];
  }
  int64_t inner() const { return rank == 0 ? 1 : shape[rank - 1]; }
  int64_t step() const { return rank == 0 ? 1 : stride[rank - 1]; }
};

// Half conversions of dense rows, vectorised.
void widen_row(const float16_t* from, int64_t n, float* to);
void widen_row(const bfloat16_t* from, int64_t n, float* to);
void narrow_row(const float* from, int64_t n, float16_t* to);
void narrow_row(const float* from, int64_t n, bfloat16_t* to);

}  // namespace nbx
