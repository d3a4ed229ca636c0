// SPDX-License-Identifier: Apache-2.0
#include "io/onnx.h"

#include <gtest/gtest.h>
#include <onnx-ml.pb.h>

#include <cstring>

#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

ModelProto model(int opset = 17) {
  ModelProto m;
  m.set_ir_version(8);
  m.add_opset_import()->set_version(opset);
  m.mutable_graph()->set_name("g");
  return m;
}

void add_value(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>* list, const std::string& name,
               std::vector<int64_t> dims, int dtype = TensorProto::FLOAT) {
  auto* info = list->Add();
  info->set_name(name);
  auto* type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(dtype);
  for (const int64_t d : dims) type->mutable_shape()->add_dim()->set_dim_value(d);
}

NodeProto* add_node(GraphProto* g, const std::string& op, std::vector<std::string> inputs,
                    std::vector<std::string> outputs, const std::string& name = {}) {
  NodeProto* n = g->add_node();
  n->set_op_type(op);
  n->set_name(name);
  for (const auto& i : inputs) n->add_input(i);
  for (const auto& o : outputs) n->add_output(o);
  return n;
}

AttributeProto* add_attribute(NodeProto* n, const std::string& name, AttributeProto::AttributeType type) {
  auto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(type);
  return a;
}

void set_raw(TensorProto* t, const std::string& name, std::vector<float> values, std::vector<int64_t> dims) {
  t->set_name(name);
  t->set_data_type(TensorProto::FLOAT);
  for (const int64_t d : dims) t->add_dims(d);
  t->set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

Graph import(const ModelProto& m, const std::string& folder = {}) {
  const std::string bytes = m.SerializeAsString();
  return import_onnx({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "m.onnx", folder);
}

// x → Relu → y
ModelProto relu() {
  ModelProto m = model();
  add_value(m.mutable_graph()->mutable_input(), "x", {2, 3});
  add_value(m.mutable_graph()->mutable_output(), "y", {2, 3});
  add_node(m.mutable_graph(), "Relu", {"x"}, {"y"}, "act");
  return m;
}

const GraphTensor& tensor(const Graph& g, int id) { return g.tensors[static_cast<size_t>(id)]; }
const GraphTensor* named(const Graph& g, const std::string& name) {
  for (const GraphTensor& t : g.tensors)
    if (t.name == name) return &t;
  return nullptr;
}

TEST(Onnx, AModelBecomesAGraphWithItsNamesAndTypes) {
  ModelProto m = relu();
  auto* entry = m.add_metadata_props();
  entry->set_key("labels");
  entry->set_value("a,b");
  const Graph g = import(m);
  ASSERT_EQ(g.inputs.size(), 1u);
  ASSERT_EQ(g.outputs.size(), 1u);
  EXPECT_EQ(tensor(g, g.inputs[0]).name, "x");
  EXPECT_EQ(to_string(tensor(g, g.inputs[0]).type), "float32[2, 3]");
  EXPECT_EQ(tensor(g, g.outputs[0]).name, "y");
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op->parsed.full_name(), "aten::relu");
  EXPECT_EQ(g.nodes[0].name, "act");
  EXPECT_EQ(g.metadata, (std::vector<std::pair<std::string, std::string>>{{"labels", "a,b"}}));
  EXPECT_EQ(g.source, "onnx, opset 17");
}

TEST(Onnx, DimsThatAreUnnamedOrZeroAreUnknownAndNamedOnesAreSymbols) {
  ModelProto m = relu();
  auto* shape = m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->clear_dim();
  shape->add_dim();
  shape->add_dim()->set_dim_value(0);
  shape->add_dim()->set_dim_param("batch");
  shape->add_dim()->set_dim_value(7);
  const Graph g = import(m);
  EXPECT_EQ(to_string(tensor(g, g.inputs[0]).type), "float32[?, ?, batch, 7]");
  ASSERT_EQ(g.symbols.count("batch"), 1u);
  EXPECT_EQ(g.symbols.at("batch").index, 2);
  m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(to_string(tensor(import(m), 0).type), "float32[...]");
}

TEST(Onnx, InitializersOfEveryFormHoldTheirValues) {
  struct Case {
    TensorProto proto;
    DType dtype;
    std::vector<double> values;
  };
  std::vector<Case> cases(8);
  const auto base = [](TensorProto& t, int type) {
    t.set_data_type(type);
    t.add_dims(2);
  };
  base(cases[0].proto, TensorProto::FLOAT);
  cases[0].proto.add_float_data(1.5f), cases[0].proto.add_float_data(-2);
  cases[0].dtype = DType::float32, cases[0].values = {1.5, -2};
  base(cases[1].proto, TensorProto::DOUBLE);
  cases[1].proto.add_double_data(0.1), cases[1].proto.add_double_data(3);
  cases[1].dtype = DType::float64, cases[1].values = {0.1, 3};
  base(cases[2].proto, TensorProto::INT64);
  cases[2].proto.add_int64_data(-1), cases[2].proto.add_int64_data(1ll << 40);
  cases[2].dtype = DType::int64, cases[2].values = {-1, 1099511627776.0};
  base(cases[3].proto, TensorProto::UINT8);
  cases[3].proto.add_int32_data(255), cases[3].proto.add_int32_data(0);
  cases[3].dtype = DType::uint8, cases[3].values = {255, 0};
  base(cases[4].proto, TensorProto::FLOAT16);
  cases[4].proto.add_int32_data(0x3c00), cases[4].proto.add_int32_data(0xc000);
  cases[4].dtype = DType::float16, cases[4].values = {1, -2};
  base(cases[5].proto, TensorProto::BOOL);
  cases[5].proto.add_int32_data(1), cases[5].proto.add_int32_data(0);
  cases[5].dtype = DType::bool_, cases[5].values = {1, 0};
  base(cases[6].proto, TensorProto::UINT64);
  cases[6].proto.add_uint64_data(7), cases[6].proto.add_uint64_data(1ull << 33);
  cases[6].dtype = DType::uint64, cases[6].values = {7, 8589934592.0};
  base(cases[7].proto, TensorProto::INT16);
  cases[7].proto.set_raw_data(std::string("\x01\x00\xff\xff", 4));
  cases[7].dtype = DType::int16, cases[7].values = {1, -1};

  ModelProto m = relu();
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].proto.set_name("w" + std::to_string(i));
    *m.mutable_graph()->add_initializer() = cases[i].proto;
  }
  const Graph g = import(m);
  for (size_t i = 0; i < cases.size(); ++i) {
    const GraphTensor* t = named(g, "w" + std::to_string(i));
    ASSERT_TRUE(t && t->constant.defined()) << i;
    EXPECT_EQ(t->constant.dtype(), cases[i].dtype) << i;
    EXPECT_EQ(t->constant.to_doubles(), cases[i].values) << i;
  }
}

TEST(Onnx, ARawBoolThatIsNeitherZeroNorOneIsTrue) {
  ModelProto m = relu();
  auto* t = m.mutable_graph()->add_initializer();
  t->set_name("w");
  t->set_data_type(TensorProto::BOOL);
  t->add_dims(3);
  t->set_raw_data(std::string("\x00\x01\x80", 3));
  const Graph g = import(m);
  const auto* bytes = static_cast<const uint8_t*>(named(g, "w")->constant.raw());
  EXPECT_EQ(bytes[2], 1);
  EXPECT_EQ(bytes[0], 0);
}

TEST(Onnx, AnInitializerThatIsAlsoAnInputIsAConstant) {
  ModelProto m = relu();
  add_value(m.mutable_graph()->mutable_input(), "w", {1});
  set_raw(m.mutable_graph()->add_initializer(), "w", {3}, {1});
  add_node(m.mutable_graph(), "Add", {"y", "w"}, {"z"});
  const Graph g = import(m);
  EXPECT_EQ(g.inputs.size(), 1u);
  EXPECT_EQ(named(g, "w")->constant.item(), 3);
}

TEST(Onnx, ConstantNodesOfEveryFormBecomeConstants) {
  ModelProto m = relu();
  GraphProto* g = m.mutable_graph();
  add_attribute(add_node(g, "Constant", {}, {"a"}), "value_float", AttributeProto::FLOAT)->set_f(2.5f);
  add_attribute(add_node(g, "Constant", {}, {"b"}), "value_int", AttributeProto::INT)->set_i(-4);
  auto* floats = add_attribute(add_node(g, "Constant", {}, {"c"}), "value_floats", AttributeProto::FLOATS);
  floats->add_floats(1), floats->add_floats(2);
  auto* ints = add_attribute(add_node(g, "Constant", {}, {"d"}), "value_ints", AttributeProto::INTS);
  ints->add_ints(5), ints->add_ints(6);
  set_raw(add_attribute(add_node(g, "Constant", {}, {"e"}), "value", AttributeProto::TENSOR)->mutable_t(), "", {7, 8},
          {2, 1});
  const Graph imported = import(m);
  EXPECT_EQ(describe(named(imported, "a")->constant), "float32[]");
  EXPECT_EQ(named(imported, "b")->constant.item_int(), -4);
  EXPECT_EQ(named(imported, "c")->constant.to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(named(imported, "d")->constant.to_ints(), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(describe(named(imported, "e")->constant), "float32[2, 1]");
}

TEST(Onnx, NodesInAnyOrderAreSortedAndACycleIsRefused) {
  ModelProto m = model();
  GraphProto* g = m.mutable_graph();
  add_value(g->mutable_input(), "x", {2});
  add_value(g->mutable_output(), "c", {2});
  add_node(g, "Relu", {"b"}, {"c"}, "third");
  add_node(g, "Relu", {"a"}, {"b"}, "second");
  add_node(g, "Relu", {"x"}, {"a"}, "first");
  const Graph sorted = import(m);
  ASSERT_EQ(sorted.nodes.size(), 3u);
  EXPECT_EQ(sorted.nodes[0].name, "first");
  EXPECT_EQ(sorted.nodes[2].name, "third");
  g->mutable_node(2)->set_input(0, "c");
  const std::string text = error_text(Code::file, [&] { import(m); });
  EXPECT_NAMES(text, "cycle");
  EXPECT_NAMES(text, "m.onnx");
}

TEST(Onnx, AnOutputThatIsAnInputOrAConstantKeepsItsOwnName) {
  ModelProto m = relu();
  GraphProto* g = m.mutable_graph();
  add_node(g, "Identity", {"x"}, {"same"});
  add_attribute(add_node(g, "Constant", {}, {"k"}), "value_int", AttributeProto::INT)->set_i(1);
  add_node(g, "Identity", {"k"}, {"one"});
  for (const char* name : {"same", "one"}) add_value(g->mutable_output(), name, {});
  const Graph imported = import(m);
  ASSERT_EQ(imported.outputs.size(), 3u);
  EXPECT_EQ(tensor(imported, imported.outputs[1]).name, "same");
  EXPECT_EQ(tensor(imported, imported.outputs[2]).name, "one");
}

TEST(Onnx, BodiesTakeWhatTheyCaptureAsInputsInOneOrder) {
  ModelProto m = model();
  GraphProto* g = m.mutable_graph();
  add_value(g->mutable_input(), "x", {2});
  add_value(g->mutable_input(), "u", {2});
  add_value(g->mutable_input(), "cond", {}, TensorProto::BOOL);
  add_value(g->mutable_output(), "y", {2});
  set_raw(g->add_initializer(), "w", {1, 2}, {2});
  NodeProto* node = add_node(g, "If", {"cond"}, {"y"}, "choose");
  GraphProto* yes = add_attribute(node, "then_branch", AttributeProto::GRAPH)->mutable_g();
  add_node(yes, "Add", {"x", "w"}, {"sum"});
  add_value(yes->mutable_output(), "sum", {2});
  GraphProto* no = add_attribute(node, "else_branch", AttributeProto::GRAPH)->mutable_g();
  NodeProto* inner = add_node(no, "If", {"cond"}, {"r"}, "again");
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphProto* body = add_attribute(inner, branch, AttributeProto::GRAPH)->mutable_g();
    add_node(body, "Mul", {"u", "x"}, {"p"});
    add_value(body->mutable_output(), "p", {2});
  }
  add_value(no->mutable_output(), "r", {2});

  const Graph imported = import(m);
  ASSERT_EQ(imported.nodes.size(), 1u);
  const Node& n = imported.nodes[0];
  EXPECT_EQ(n.op->parsed.full_name(), "custom::if");
  const auto& captures = std::get<TensorRefs>(n.values[1]);
  ASSERT_EQ(n.bodies.size(), 2u);
  // x for one branch; cond, u and x for the other, through two levels. The weight is a constant of the body.
  EXPECT_EQ(captures.size(), 3u);
  for (const auto& body : n.bodies) EXPECT_EQ(body->inputs.size(), captures.size());
  EXPECT_TRUE(named(*n.bodies[0], "w")->constant.defined());
  for (size_t i = 0; i < captures.size(); ++i) {
    const std::string& outside = tensor(imported, captures[i].id).name;
    const std::string& inside = tensor(*n.bodies[1], n.bodies[1]->inputs[i]).name;
    EXPECT_EQ(outside, inside);
  }
}

TEST(Onnx, ALoopNamesItsCounterConditionAndState) {
  ModelProto m = model();
  GraphProto* g = m.mutable_graph();
  add_value(g->mutable_input(), "x", {2});
  add_value(g->mutable_input(), "n", {}, TensorProto::INT64);
  add_value(g->mutable_output(), "last", {2});
  add_value(g->mutable_output(), "all", {});
  NodeProto* node = add_node(g, "Loop", {"n", "", "x"}, {"last", "all"}, "repeat");
  GraphProto* body = add_attribute(node, "body", AttributeProto::GRAPH)->mutable_g();
  add_value(body->mutable_input(), "i", {}, TensorProto::INT64);
  add_value(body->mutable_input(), "go", {}, TensorProto::BOOL);
  add_value(body->mutable_input(), "s", {2});
  add_node(body, "Add", {"s", "x"}, {"t"});
  for (const char* name : {"go", "t", "t"}) add_value(body->mutable_output(), name, {});
  const Graph imported = import(m);
  const Node& loop = imported.nodes.at(0);
  EXPECT_EQ(loop.op->parsed.full_name(), "custom::loop");
  EXPECT_TRUE(is_none(loop.values[1]));
  EXPECT_EQ(loop.bodies.at(0)->inputs.size(), 4u);  // i, go, s, and x from outside
  EXPECT_EQ(loop.outputs.size(), 2u);
  node->add_input("x");
  EXPECT_NAMES(error_text(Code::file, [&] { import(m); }), "needs 4");
}

ModelProto with_function(const std::string& inner_op) {
  ModelProto m = model();
  m.set_ir_version(9);
  GraphProto* g = m.mutable_graph();
  add_value(g->mutable_input(), "x", {2});
  add_value(g->mutable_output(), "y", {2});
  NodeProto* node = add_node(g, "twice", {"x"}, {"y"}, "call");
  node->set_domain("local");
  auto* domain = m.add_opset_import();
  domain->set_domain("local");
  domain->set_version(1);
  auto* f = m.add_functions();
  f->set_name("twice");
  f->set_domain("local");
  f->add_opset_import()->set_version(17);
  f->add_input("a");
  f->add_output("c");
  f->add_attribute("slope");
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
    NodeProto* n = f->add_node();
    n->set_op_type(inner_op);
    if (inner_op == "twice") n->set_domain("local");
    n->add_input(from);
    n->add_output(to);
    if (inner_op != "LeakyRelu") continue;
    auto* a = add_attribute(n, "alpha", AttributeProto::FLOAT);
    a->set_ref_attr_name("slope");
  }
  return m;
}

TEST(Onnx, LocalFunctionsAreInlinedWithTheirAttributes) {
  ModelProto m = with_function("LeakyRelu");
  add_attribute(m.mutable_graph()->mutable_node(0), "slope", AttributeProto::FLOAT)->set_f(0.25f);
  const Graph g = import(m);
  ASSERT_GE(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].op->parsed.full_name(), "aten::leaky_relu");
  EXPECT_EQ(std::get<double>(g.nodes[0].values[1]), 0.25);
  EXPECT_EQ(g.nodes[0].name, "call/b");
  EXPECT_EQ(tensor(g, g.outputs[0]).name, "y");
}

TEST(Onnx, AFunctionThatCallsItselfIsRefused) {
  EXPECT_NAMES(error_text(Code::file, [] { import(with_function("twice")); }), "calls itself");
}

TEST(Onnx, AllThatIsNotSupportedIsInOneError) {
  ModelProto m = relu();
  GraphProto* g = m.mutable_graph();
  add_node(g, "NoSuchOp", {"x"}, {"a"}, "first");
  add_node(g, "NoSuchOp", {"a"}, {"b"}, "second");
  add_attribute(add_node(g, "Relu", {"b"}, {"c"}, "odd"), "no_such_attribute", AttributeProto::INT);
  auto* text = g->add_initializer();
  text->set_name("labels");
  text->set_data_type(TensorProto::STRING);
  text->add_string_data("a");
  const std::string error = error_text(Code::unsupported, [&] { import(m); });
  for (const char* part : {"NoSuchOp", "'first'", "'second'", "'odd'", "no_such_attribute", "STRING", "labels"})
    EXPECT_NAMES(error, part);
}

TEST(Onnx, OpsetAndIrVersionOutsideTheRangeAreNamed) {
  EXPECT_NAMES(error_text(Code::unsupported, [] { import(model(6)); }), "opset 6; 7 to 28");
  EXPECT_NAMES(error_text(Code::unsupported, [] { import(model(29)); }), "opset 29");
  ModelProto m = relu();
  m.set_ir_version(99);
  EXPECT_NAMES(error_text(Code::unsupported, [&] { import(m); }), "ir_version 99");
}

TEST(Onnx, MalformedModelsAreRefusedWithTheNameOfWhatIsWrong) {
  const auto text = [](auto change) {
    ModelProto m = relu();
    change(m);
    return error_text(Code::file, [&] { import(m); });
  };
  EXPECT_NAMES(text([](ModelProto& m) { add_node(m.mutable_graph(), "Relu", {"x"}, {"y"}, "twin"); }),
               "'twin' defines 'y'");
  EXPECT_NAMES(text([](ModelProto& m) { add_value(m.mutable_graph()->mutable_input(), "x", {1}); }), "'x'");
  EXPECT_NAMES(text([](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "nowhere"); }),
               "'nowhere', which nothing defines");
  EXPECT_NAMES(text([](ModelProto& m) { add_value(m.mutable_graph()->mutable_output(), "z", {1}); }), "output 'z'");
  EXPECT_NAMES(text([](ModelProto& m) {
                 set_raw(m.mutable_graph()->add_initializer(), "w", {1, 2}, {3});
               }),
               "has 8 bytes of data");
  EXPECT_NAMES(text([](ModelProto& m) { set_raw(m.mutable_graph()->add_initializer(), "w", {1}, {-1}); }), "negative");
  EXPECT_NAMES(text([](ModelProto& m) {
                 set_raw(m.mutable_graph()->add_initializer(), "w", {1}, {int64_t{1} << 40, int64_t{1} << 40});
               }),
               "2^63");
  EXPECT_NAMES(text([](ModelProto& m) { set_raw(m.mutable_graph()->add_initializer(), "w", {1}, {2'500'000'000}); }),
               "10000000000");
  EXPECT_NAMES(text([](ModelProto& m) { m.clear_graph(); }), "no graph");
  EXPECT_NAMES(text([](ModelProto& m) { m.clear_opset_import(); }), "opset_import");
  EXPECT_NAMES(text([](ModelProto& m) {
                 AttributeProto* a = add_attribute(m.mutable_graph()->add_node(), "k", AttributeProto::INT);
                 a->set_i(1);
                 m.mutable_graph()->mutable_node(1)->set_op_type("Relu");
                 m.mutable_graph()->mutable_node(1)->add_input("x");
                 m.mutable_graph()->mutable_node(1)->add_output("o");
                 *m.mutable_graph()->mutable_node(1)->add_attribute() = *a;
               }),
               "given twice");
}

TEST(Onnx, MoreIntegersThanTheShapeHoldsAreRefusedBeforeTheyAreParsed) {
  ModelProto m = relu();
  auto* t = m.mutable_graph()->add_initializer();
  t->set_name("w");
  t->set_data_type(TensorProto::INT64);
  t->add_dims(2);
  t->add_dims(3);
  for (int i = 0; i < 7; ++i) t->add_int64_data(i - 3);
  EXPECT_NAMES(error_text(Code::file, [&] { import(m); }), "7 elements, the shape has 6");
  t->mutable_int64_data()->RemoveLast();
  EXPECT_EQ(named(import(m), "w")->constant.to_ints(), (std::vector<int64_t>{-3, -2, -1, 0, 1, 2}));
}

TEST(Onnx, ATruncatedFileIsRefusedAtEveryLength) {
  ModelProto m = relu();
  set_raw(m.mutable_graph()->add_initializer(), "w", std::vector<float>(16, 1.f), {16});
  const std::string bytes = m.SerializeAsString();
  int refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    try {
      import_onnx({reinterpret_cast<const std::byte*>(bytes.data()), length}, "cut.onnx");
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::internal) << error.what();
      ++refused;
    }
  }
  // A cut between two fields of the model can leave a model that is whole.
  EXPECT_GE(refused, static_cast<int>(bytes.size()) - 8);
}

TEST(Onnx, FlippedBitsGiveAGraphOrAnErrorOfTheFile) {
  ModelProto m = with_function("LeakyRelu");
  set_raw(m.mutable_graph()->add_initializer(), "w", std::vector<float>(4, 1.f), {2, 2});
  const std::string bytes = m.SerializeAsString();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      import_onnx({reinterpret_cast<const std::byte*>(damaged.data()), damaged.size()}, "bad.onnx");
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::internal) << "bit " << bit << ": " << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
}

TEST(Onnx, GraphsNestedWithoutEndAreRefused) {
  GraphProto g;
  g.set_name("deep");
  for (int i = 0; i < 60; ++i) {
    GraphProto outer;
    NodeProto* n = add_node(&outer, "If", {"c"}, {"o"});
    add_attribute(n, "then_branch", AttributeProto::GRAPH)->mutable_g()->Swap(&g);
    g.Swap(&outer);
  }
  ModelProto m = model();
  *m.mutable_graph() = g;
  EXPECT_NAMES(error_text(Code::file, [&] { import(m); }), "levels deep");
}

TEST(Onnx, ExternalDataIsReadFromTheFolderAndNowhereElse) {
  TempFolder folder;
  const std::vector<float> values{0, 1, 2, 3};
  folder.write("w.bin", {reinterpret_cast<const char*>(values.data()), 16});
  const auto with = [&](const std::string& location, const std::string& offset, const std::string& length) {
    ModelProto m = relu();
    auto* t = m.mutable_graph()->add_initializer();
    t->set_name("w");
    t->set_data_type(TensorProto::FLOAT);
    t->add_dims(2);
    t->set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair<std::string, std::string>("location", location), {"offset", offset}, {"length", length}}) {
      if (value.empty()) continue;
      auto* entry = t->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return m;
  };
  const std::string path = folder / "";
  EXPECT_EQ(named(import(with("w.bin", "4", "8"), path), "w")->constant.to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("w.bin", "12", ""), path); }), "which has 16");
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("w.bin", "0", "12"), path); }), "external length is 12");
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("w.bin", "-4", "8"), path); }), "'-4'");
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("../w.bin", "0", "8"), path); }), "refused");
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("/etc/passwd", "0", "8"), path); }), "refused");
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("none.bin", "0", "8"), path); }), "'none.bin'");
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("w.bin", "0", "8")); }), "no folder");
  std::filesystem::create_symlink("/etc/passwd", folder / "link.bin");
  EXPECT_NAMES(error_text(Code::file, [&] { import(with("link.bin", "0", "8"), path); }), "out of the model's folder");
}

TEST(Onnx, AFileIsReadWithoutCopyingWeightsThatAreAligned) {
  TempFolder folder;
  ModelProto m = relu();
  set_raw(m.mutable_graph()->add_initializer(), "w", std::vector<float>(1000, 2.f), {1000});
  // Padding in a field before the weights moves them to each alignment.
  int views = 0;
  for (int shift = 0; shift < 4; ++shift) {
    m.set_producer_name(std::string(static_cast<size_t>(shift) + 1, 'p'));
    const Graph g = import_onnx(folder.write("m" + std::to_string(shift) + ".onnx", m.SerializeAsString()));
    const Tensor& w = named(g, "w")->constant;
    EXPECT_EQ(w.to_doubles(), std::vector<double>(1000, 2.0));
    views += !w.storage()->writable();
  }
  EXPECT_EQ(views, 1);
}

}  // namespace
}  // namespace nbx
