// SPDX-License-Identifier: Apache-2.0
// Any bytes as a npz file.
#include "io/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  // Small bounds: what is looked for is a crash or an allocation that does not follow them.
  nbx::Limits limits;
  limits.unpacked_bytes = 1 << 24;
  limits.pixels = 1 << 22;
  limits.samples = 1 << 22;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& [name, tensor] : nbx::parse_npz(nbx::MappedFile::in_memory("fuzz", bytes), limits))
      tensor.to_bytes();
  } catch (const nbx::Error&) {
    // An error is the right answer to a malformed file.
  }
  return 0;
}
