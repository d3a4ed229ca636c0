// SPDX-License-Identifier: Apache-2.0
// NumPy's npy format, versions 1 to 3: one array. Reading maps the file; Fortran order gives a transposed view of it;
// big-endian data is swapped into a copy. Element types: bool, (u)int8..64, float16/32/64, complex64/128. NumPy has no
// bfloat16 of its own: what ml_dtypes writes for it, a two-byte void (V2), is read and written as bfloat16. The 8-bit
// floats have no such unique code and are refused (use safetensors), as are objects, text, dates and records.
// Errors (file) name the file and the field.
#pragma once
#include <string>

#include "io/limits.h"
#include "io/mapped_file.h"

namespace nbx {

Tensor read_npy(const std::string& path, const Limits& limits = {});
Tensor parse_npy(const FileBytes& file, const Limits& limits = {});
void write_npy(const std::string& path, const Tensor& tensor);  // version 1, C order, atomic

// The parts, for npz: members lie inside another file.
struct NpyHeader {
  DType dtype = DType::float32;
  bool swapped = false;  // big-endian
  bool fortran_order = false;
  Shape shape;
  int64_t data_begin = 0;  // from the start of the npy bytes
  int64_t data_bytes = 0;
};
// `available` may hold only the beginning of the member; `total` is its whole size, which the data must fill exactly.
NpyHeader parse_npy_header(const std::string& where, std::span<const std::byte> available, int64_t total,
                           const Limits& limits = {});
// Applies byte order and Fortran order to `flat`, the data as it lies in the file.
Tensor arrange_npy(const NpyHeader& header, const Tensor& flat);
std::string npy_header(const std::string& where, const Tensor& tensor);  // a multiple of 64 bytes

}  // namespace nbx
