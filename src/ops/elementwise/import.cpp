// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "ops/elementwise/onnx.h"

namespace nbx::pointwise {

void import_unary(Importing& node) {
  std::string op = node.op_type();
  std::transform(op.begin(), op.end(), op.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static const std::map<std::string, std::string> others = {
      {"not", "logical_not"}, {"bitwisenot", "bitwise_not"}, {"identity", "alias"}};
  const auto other = others.find(op);
  node.output(0, node.emit("aten::" + (other == others.end() ? op : other->second), {node.input(0)}));
}

void import_binary(Importing& node) {
  static const std::map<std::string, std::string> ops = {{"Add", "aten::add.Tensor"},
                                                         {"Sub", "aten::sub.Tensor"},
                                                         {"Mul", "aten::mul.Tensor"},
                                                         {"And", "aten::logical_and"},
                                                         {"Or", "aten::logical_or"},
                                                         {"Xor", "aten::logical_xor"},
                                                         {"Equal", "aten::eq.Tensor"},
                                                         {"Less", "aten::lt.Tensor"},
                                                         {"LessOrEqual", "aten::le.Tensor"},
                                                         {"Greater", "aten::gt.Tensor"},
                                                         {"GreaterOrEqual", "aten::ge.Tensor"},
                                                         {"BitwiseAnd", "aten::bitwise_and.Tensor"},
                                                         {"BitwiseOr", "aten::bitwise_or.Tensor"},
                                                         {"BitwiseXor", "aten::bitwise_xor.Tensor"},
                                                         {"Div", "custom::onnx_div"},
                                                         {"Pow", "custom::onnx_pow"},
                                                         {"PRelu", "custom::prelu_broadcast"}};
  node.output(0, node.emit(ops.at(node.op_type()), {node.input(0), node.input(1)}));
}

void import_variadic(Importing& node) {
  static const std::map<std::string, std::string> ops = {
      {"Sum", "aten::add.Tensor"}, {"Mean", "aten::add.Tensor"}, {"Max", "aten::maximum"}, {"Min", "aten::minimum"}};
  TensorRef all = node.input(0);
  for (int i = 1; i < node.inputs(); ++i) all = node.emit(ops.at(node.op_type()), {all, node.input(i)});
  if (node.op_type() == "Mean")
    all = node.emit("aten::div.Tensor", {all, static_cast<double>(node.inputs())});
  else if (node.inputs() == 1)
    all = node.emit("aten::alias", {all});
  node.output(0, all);
}

}  // namespace nbx::pointwise
