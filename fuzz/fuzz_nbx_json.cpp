// SPDX-License-Identifier: Apache-2.0
// Any bytes as an nbx JSON graph: a graph, or an error with text. Nothing else.
#include <nbx/error.h>

#include <cstdlib>

#include "io/nbx_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    nbx::parse_nbx_json(nbx::MappedFile::in_memory("input.json", {reinterpret_cast<const char*>(data), size}), {});
  } catch (const nbx::Error& error) {
    const std::string text = error.what();
    if (error.code() == nbx::Code::internal || text.empty() || text.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
