// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX file: a graph, or an error with text. Nothing else.
#include <nbx/error.h>

#include <cstdlib>

#include "io/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    nbx::import_onnx({reinterpret_cast<const std::byte*>(data), size}, "input.onnx");
  } catch (const nbx::Error& error) {
    const std::string text = error.what();
    // A defect of nbx must not be reachable from a file, and an error is one line.
    if (error.code() == nbx::Code::internal || text.empty() || text.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
