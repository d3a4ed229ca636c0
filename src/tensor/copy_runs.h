// SPDX-License-Identifier: Apache-2.0
// Copy runs from one source type to every target. The sources are spread over several files: 289 pairs in one would be
// slow to build.
#pragma once
#include "tensor/convert.h"
#include "tensor/copy.h"

namespace nbx::copy_runs {

template <class From, class To>
void run(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t n) {
  const From* in = reinterpret_cast<const From*>(from);
  To* out = reinterpret_cast<To*>(to);
  if (from_stride == 1 && to_stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * to_stride] = convert<To>(in[i * from_stride]);
  }
}

// Null where there is no such conversion.
template <class From>
CopyRun to(DType target) {
  switch (target) {
    case DType::complex64:
      return run<From, std::complex<float>>;
    case DType::complex128:
      return run<From, std::complex<double>>;
    case DType::bool_:
      return run<From, bool>;
    default:
      break;
  }
  if constexpr (!is_std_complex<From>::value) {
    switch (target) {
      case DType::float16:
        return run<From, float16_t>;
      case DType::bfloat16:
        return run<From, bfloat16_t>;
      case DType::float32:
        return run<From, float>;
      case DType::float64:
        return run<From, double>;
      case DType::int8:
        return run<From, int8_t>;
      case DType::int16:
        return run<From, int16_t>;
      case DType::int32:
        return run<From, int32_t>;
      case DType::int64:
        return run<From, int64_t>;
      case DType::uint8:
        return run<From, uint8_t>;
      case DType::uint16:
        return run<From, uint16_t>;
      case DType::uint32:
        return run<From, uint32_t>;
      case DType::uint64:
        return run<From, uint64_t>;
      case DType::float8_e4m3fn:
        return run<From, float8_e4m3fn_t>;
      case DType::float8_e5m2:
        return run<From, float8_e5m2_t>;
      default:
        break;
    }
  }
  return nullptr;
}

CopyRun from_float(DType from, DType target);
CopyRun from_narrow_float(DType from, DType target);
CopyRun from_signed(DType from, DType target);
CopyRun from_unsigned(DType from, DType target);

}  // namespace nbx::copy_runs
