// SPDX-License-Identifier: Apache-2.0
// Strided copies with conversion.
#pragma once
#include <nbx/dtype.h>
#include <nbx/shape.h>

#include <cstddef>
#include <cstdint>

namespace nbx {

// `n` elements from `from` to `to`; strides count elements of their own type. The ranges do not overlap.
using CopyRun = void (*)(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t n);

// Conversions as ATen's, and where that is undefined: float to integer truncates toward zero, saturates and makes 0 of
// NaN; integers wrap; bool is != 0; real to complex has imaginary part 0. Error (dtype) for complex to real and
// complex32.
CopyRun copy_run(DType from, DType to);

// An element-wise copy between two layouts of one shape; the memory does not overlap.
void strided_copy(DType from_type, const std::byte* from, const Strides& from_strides, DType to_type, std::byte* to,
                  const Strides& to_strides, const Shape& shape);

}  // namespace nbx
