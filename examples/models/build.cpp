// SPDX-License-Identifier: Apache-2.0
#include "models/build.h"

#include "base/check.h"

namespace nbx::examples {

Build::Build(std::string name, const std::string& safetensors)
    : path_(safetensors), file_(read_safetensors(safetensors)) {
  graph.name = std::move(name);
  graph.source = "safetensors";
  graph.metadata = file_.metadata;
}

TensorRef Build::input(const std::string& name, DType dtype, std::vector<DimSpec> dims) {
  TypeSpec type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return TensorRef{graph.add_input(name, std::move(type))};
}

const Tensor& Build::find(const std::string& name) const {
  const Tensor* tensor = file_.tensors.find(name);
  require(tensor != nullptr, Code::file, "{}: no weight '{}'; the file has {}", path_, name, file_.tensors.names());
  return *tensor;
}

TensorRef Build::weight(const std::string& name, const Shape& shape) {
  const Tensor& tensor = find(name);
  require(tensor.shape() == shape && tensor.dtype() == DType::float32, Code::file,
          "{}: weight '{}' is {}; it must be {}", path_, name, describe(tensor), describe(DType::float32, shape));
  return TensorRef{graph.add_constant(tensor, name, /*is_parameter=*/true)};
}

void Build::output(const std::string& name, TensorRef tensor) {
  graph.tensors[static_cast<size_t>(tensor.id)].name = name;
  graph.outputs.push_back(tensor.id);
}

TensorRef Build::conv1d(TensorRef x, const std::string& layer, const Shape& shape, int64_t stride, int64_t padding,
                        bool bias) {
  const TensorRef w = weight(layer + ".weight", shape);
  const Value b = bias ? Value(weight(layer + ".bias", {shape[0]})) : Value(None{});
  return op("aten::convolution", {x, w, b, Ints{stride}, Ints{padding}, Ints{1}, false, Ints{0}, int64_t{1}});
}

TensorRef Build::linear(TensorRef x, const std::string& layer, int64_t outputs, int64_t inputs) {
  const TensorRef w = weight(layer + ".weight", {outputs, inputs}), b = weight(layer + ".bias", {outputs});
  return op("aten::linear", {x, w, b});
}

TensorRef Build::layer_norm(TensorRef x, const std::string& layer, int64_t size, double epsilon) {
  const TensorRef w = weight(layer + ".weight", {size}), b = weight(layer + ".bias", {size});
  return op("aten::layer_norm", {x, Ints{size}, w, b, epsilon});
}

Graph Build::finish() {
  verify(graph, "building " + graph.name);
  return std::move(graph);
}

}  // namespace nbx::examples
