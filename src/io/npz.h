// SPDX-License-Identifier: Apache-2.0
// NumPy's npz: a zip archive of npy members; the tensor "x" is the member "x.npy". Reading: stored members are views of
// the mapped file where their alignment allows it; deflated ones are unpacked once, into the tensor. Bounds against
// archives that claim or unpack to much: io/zip.h. Writing: stored, atomic, equal bytes for equal content.
#pragma once
#include <functional>
#include <string>

#include "io/limits.h"
#include "io/mapped_file.h"
#include "io/named_tensors.h"

namespace nbx {

// Told of each member before its data is unpacked. May throw; false: the data is not wanted, and the tensor that stands
// for it is empty.
using WantMember = std::function<bool(const std::string& name, DType dtype, const Shape& shape, size_t members)>;
NamedTensors read_npz(const std::string& path, const Limits& limits = {}, const WantMember& want = {});
NamedTensors parse_npz(const FileBytes& file, const Limits& limits = {}, const WantMember& want = {});
void write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace nbx
