// SPDX-License-Identifier: Apache-2.0
// The safetensors format: u64 little-endian header length, JSON header, data.
//   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
// Reading maps the file; tensors are read-only views of it (copies where the data is not aligned to its dtype). Order
// is that of the header. Refused with an error (file) naming file and tensor: a header longer than 100 MB or than the
// file, text that is not this form of JSON, unknown dtypes, unknown fields, names or fields given twice, extents or
// offsets that are negative or no integers, begin > end, bytes that differ from shape x item size, overlaps, holes, and
// data that ends before or after the file does.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "io/limits.h"
#include "io/mapped_file.h"
#include "io/named_tensors.h"

namespace nbx {

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Safetensors {
  NamedTensors tensors;
  Metadata metadata;  // __metadata__, in its order
};

Safetensors read_safetensors(const std::string& path, const Limits& limits = {});
Safetensors parse_safetensors(const FileBytes& file, const Limits& limits = {});

// Atomic. The header keeps the order given; the data goes by descending item size, so that every tensor is aligned.
// Errors: the name "__metadata__" (value), a dtype that the format has no code for (dtype).
void write_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});

}  // namespace nbx
