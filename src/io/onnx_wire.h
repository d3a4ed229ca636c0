// SPDX-License-Identifier: Apache-2.0
// A first walk over an ONNX file's protobuf bytes, before protobuf parses anything: it checks that every length fits,
// sets limits on nesting and on what the parsed form will cost in memory, and takes the tensors' bytes out, so that
// weights are never copied into messages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace nbx {

// Stands in TensorProto.raw_data of the skeleton for the bytes that are in the file.
struct OnnxPayload {
  uint64_t offset = 0;  // in the file
  uint64_t length = 0;
  uint64_t typed =
      0;  // number of the field when it is float_data or double_data, whose packed form is little-endian bytes, too
};

// The same ModelProto with payloads for weights and without what nbx does not read (documentation, training).
// Error (file) naming `name`, the field's path and the position; `tensor_only`: the bytes are one TensorProto, not a
// model.
std::string onnx_skeleton(std::span<const std::byte> bytes, const std::string& name, bool tensor_only = false);

}  // namespace nbx
