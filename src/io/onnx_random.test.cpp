// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <onnx-ml.pb.h>

#include "io/onnx.h"

namespace nbx {
namespace {

int64_t argument(const Node& node, const char* param) {
  return std::get<int64_t>(node.values[static_cast<size_t>(node.op->parsed.find(param))]);
}

TEST(OnnxImport, NumbersRandomNodesSoThatEachHasAStreamOfItsOwn) {
  onnx::ModelProto m;
  m.set_ir_version(8);
  m.add_opset_import()->set_version(17);
  m.mutable_graph()->set_name("g");
  for (const char* name : {"a", "b", "c"}) {
    onnx::NodeProto* n = m.mutable_graph()->add_node();
    n->set_op_type("RandomNormal");
    n->set_name("same");
    n->add_output(name);
    auto* shape = n->add_attribute();
    shape->set_name("shape");
    shape->set_type(onnx::AttributeProto::INTS);
    shape->add_ints(3);
    if (*name == 'c') {
      auto* seed = n->add_attribute();
      seed->set_name("seed");
      seed->set_type(onnx::AttributeProto::FLOAT);
      seed->set_f(42);
    }
    m.mutable_graph()->add_output()->set_name(name);
  }
  const std::string bytes = m.SerializeAsString();
  const Graph g = import_onnx(std::as_bytes(std::span<const char>(bytes.data(), bytes.size())), "m.onnx");
  ASSERT_EQ(g.nodes.size(), 3u);
  EXPECT_EQ(argument(g.nodes[0], "draw"), 0);
  EXPECT_EQ(argument(g.nodes[1], "draw"), 1);
  EXPECT_EQ(argument(g.nodes[0], "seed"), 0);
  EXPECT_EQ(argument(g.nodes[2], "seed"), 42);
}

}  // namespace
}  // namespace nbx
