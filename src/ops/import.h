// SPDX-License-Identifier: Apache-2.0
// How an op says which ONNX nodes become it: the declaration's `imports`. An import function reads one node through
// Importing and emits ops of the registry. It must not ask for shapes or ranks (they may be unknown until the run):
// where ATen's form needs a rank, emit a custom op whose infer knows it. Values that ONNX passes as tensors (shapes,
// axes, pads) are handed on as FromTensor.
#pragma once
#include <nbx/tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ops/value.h"

namespace nbx {

class Importing {
 public:
  virtual ~Importing() = default;

  virtual const std::string& op_type() const = 0;
  virtual const std::string& node_name() const = 0;
  virtual int opset() const = 0;  // of the node's domain

  virtual bool has(const std::string& attribute) const = 0;
  virtual int64_t integer(const std::string& attribute, std::optional<int64_t> fallback = {}) const = 0;
  virtual double number(const std::string& attribute, std::optional<double> fallback = {}) const = 0;
  virtual std::string text(const std::string& attribute, std::optional<std::string> fallback = {}) const = 0;
  virtual Ints ints(const std::string& attribute, std::optional<Ints> fallback = {}) const = 0;
  virtual Doubles numbers(const std::string& attribute, std::optional<Doubles> fallback = {}) const = 0;
  virtual std::vector<std::string> texts(const std::string& attribute) const = 0;
  virtual Tensor tensor(const std::string& attribute) const = 0;  // TensorProto attribute

  virtual int inputs() const = 0;            // as listed, absent optional ones (empty names) included
  virtual TensorRef input(int i) const = 0;  // id -1 when absent or beyond the list
  bool has_input(int i) const { return input(i).defined(); }
  virtual int outputs() const = 0;
  virtual bool wants_output(int i) const = 0;  // listed with a name
  // Only what is certain without a run; may be unknown.
  virtual const Tensor* constant(TensorRef tensor) const = 0;
  virtual std::optional<DType> dtype(TensorRef tensor) const = 0;

  // Emits a registered op ("aten::relu") and returns its results.
  virtual std::vector<TensorRef> emit_all(const std::string& op, std::vector<Value> args,
                                          std::vector<std::pair<std::string, Value>> keywords = {}) = 0;
  TensorRef emit(const std::string& op, std::vector<Value> args,
                 std::vector<std::pair<std::string, Value>> keywords = {}) {
    return emit_all(op, std::move(args), std::move(keywords)).at(0);
  }
  virtual TensorRef constant_tensor(const Tensor& value) = 0;
  virtual void output(int i, TensorRef tensor) = 0;  // result i of the node

  // Recorded, and reported together with all others of the file.
  [[noreturn]] virtual void unsupported(const std::string& what) = 0;
};

struct OnnxImport {
  std::string op;
  void (*import)(Importing&) = nullptr;
  int since = 1;            // first opset this function is right for
  int until = 1 << 20;      // last one
  std::string domain = {};  // "" is ai.onnx
};

}  // namespace nbx
