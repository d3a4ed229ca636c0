// SPDX-License-Identifier: Apache-2.0
#include "ops/import_dtype.h"

#include <utility>

namespace nbx {

std::optional<DType> onnx_dtype(int64_t data_type) {
  constexpr std::pair<int64_t, DType> kTypes[] = {
      {1, DType::float32},      {2, DType::uint8},       {3, DType::int8},      {4, DType::uint16},
      {5, DType::int16},        {6, DType::int32},       {7, DType::int64},     {9, DType::bool_},
      {10, DType::float16},     {11, DType::float64},    {12, DType::uint32},   {13, DType::uint64},
      {14, DType::complex64},   {15, DType::complex128}, {16, DType::bfloat16}, {17, DType::float8_e4m3fn},
      {19, DType::float8_e5m2},
  };
  for (const auto& [number, dtype] : kTypes)
    if (number == data_type) return dtype;
  return std::nullopt;
}

}  // namespace nbx
