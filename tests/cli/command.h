// SPDX-License-Identifier: Apache-2.0
// Running the programs of this build as a user does, and small models for them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// A sanitizer's own memory would be counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NBX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NBX_SANITIZED 1
#endif
#endif
#ifndef NBX_SANITIZED
#define NBX_SANITIZED 0
#endif

namespace nbx::cli {

struct Result {
  int code = -1;  // exit code; 128 + signal when one ended it
  std::string out, err;
  long peak_kib = 0;  // largest resident size
};
// `program` in the build's bin folder. `interrupt_after_ms` >= 0: SIGINT then. A program that runs longer than a minute
// is ended, and the test fails.
Result run(const std::string& program, const std::vector<std::string>& arguments, int interrupt_after_ms = -1);

// ONNX messages, as bytes.
std::string field(int number, const std::string& bytes);  // length-delimited: message, string, packed
std::string field(int number, uint64_t value);            // varint
std::string onnx_node(const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, const std::string& attributes = "");
std::string onnx_ints(const std::string& name, const std::vector<int64_t>& values);  // initializer [n]
std::string onnx_scalar(const std::string& name, int64_t value);                     // initializer []
std::string onnx_floats(const std::string& name, const std::vector<float>& values);  // initializer [n]
// `dims` of -1: unknown. Types: 1 float32, 7 int64, 9 bool.
std::string onnx_value(const std::string& name, int type, const std::vector<int64_t>& dims);
struct OnnxGraph {
  std::vector<std::string> nodes, initializers, inputs, outputs;
  std::string bytes() const;  // GraphProto
};
std::string onnx_model(const OnnxGraph& graph, const std::string& functions = "");  // ModelProto, opset 21

}  // namespace nbx::cli
