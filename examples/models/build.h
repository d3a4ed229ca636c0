// SPDX-License-Identifier: Apache-2.0
// Short forms for writing a network down as a graph: a layer is one line, weights go by their names in the file.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "io/safetensors.h"

namespace nbx::examples {

class Build {
 public:
  Build(std::string name, const std::string& safetensors);

  TensorRef input(const std::string& name, DType dtype, std::vector<DimSpec> dims);
  // The weight of this name as a parameter of the graph, checked against `shape`. Error (file) naming file, weight and
  // both.
  TensorRef weight(const std::string& name, const Shape& shape);
  const Tensor& find(const std::string& name) const;  // error (file) when the file has none
  TensorRef op(std::string_view name, std::vector<Value> args,
               std::vector<std::pair<std::string, Value>> keywords = {}) {
    return graph.add(name, std::move(args), std::move(keywords));
  }
  void output(const std::string& name, TensorRef tensor);

  // The layers that the models here are made of.
  TensorRef conv1d(TensorRef x, const std::string& layer, const Shape& shape, int64_t stride, int64_t padding,
                   bool bias = true);
  TensorRef linear(TensorRef x, const std::string& layer, int64_t outputs, int64_t inputs);
  TensorRef layer_norm(TensorRef x, const std::string& layer, int64_t size, double epsilon);

  Graph finish();  // verified

  Graph graph;

 private:
  std::string path_;
  Safetensors file_;
};

}  // namespace nbx::examples
