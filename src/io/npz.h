// SPDX-License-Identifier: Apache-2.0
// NumPy's npz: a zip archive of npy members; the tensor "x" is the member "x.npy". Reading: stored members are views of
// the mapped file where their alignment allows it; deflated ones are unpacked once, into the tensor. Bounds against
// archives that claim or unpack to much: io/zip.h. Writing: stored, atomic, equal bytes for equal content.
#pragma once
#include <string>

#include "io/limits.h"
#include "io/mapped_file.h"
#include "io/named_tensors.h"

namespace nbx {

NamedTensors read_npz(const std::string& path, const Limits& limits = {});
NamedTensors parse_npz(const FileBytes& file, const Limits& limits = {});
void write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace nbx
