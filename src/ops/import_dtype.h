// SPDX-License-Identifier: Apache-2.0
// ONNX's numbers for dtypes, for import functions of ops that have one as an attribute.
#pragma once
#include <nbx/dtype.h>

#include <cstdint>
#include <optional>

namespace nbx {

// TensorProto.DataType; nothing for strings, 4-bit types and whatever else has no DType.
std::optional<DType> onnx_dtype(int64_t data_type);

}  // namespace nbx
