// SPDX-License-Identifier: Apache-2.0
#include "io/nbx_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/nbx_json_value.h"
#include "ops/registry.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

const std::string kExample = R"({"format":"tensor_dag","version":"0.1","component_name":"mlp","torch_dtype":"float32",
 "symbolic_context":{"symbols":{"s0":{"name":"batch","trace_value":2,"source":"input::x::dim_0","constraints":{"min":1}}},"expressions":{}},
 "input_tensor_ids":["input::x"],"output_tensor_ids":["aten.relu::0::out_0"],
 "tensors":{
  "input::x":{"shape":[2,3],"dtype":"float32","is_input":true,"input_name":"x","symbolic_shape":{"dims":[{"type":"symbol","id":"s0","trace":2},3],"concrete":[2,3]}},
  "param::b":{"shape":[3],"dtype":"torch.float32","is_parameter":true,"weight_name":"b","constant":true,"constant_data":"AACAPwAAAEAAAEBA"},
  "aten.add::0::out_0":{"shape":[2,3],"dtype":"float32"},
  "aten.relu::0::out_0":{"shape":[2,3],"dtype":"float32","is_output":true,"output_name":"y"}},
 "execution_order":["aten.add::0","aten.relu::0"],
 "ops":{
  "aten.add::0":{"op_uid":"aten.add::0","op_type":"aten::add.Tensor","input_tensor_ids":["input::x","param::b"],"output_tensor_ids":["aten.add::0::out_0"],
   "attributes":{"args":[{"type":"tensor","tensor_id":"input::x"},"param::b"],"kwargs":{"alpha":{"type":"scalar","value":2}}}},
  "aten.relu::0":{"op_uid":"aten.relu::0","op_type":"aten::relu","input_tensor_ids":["aten.add::0::out_0"],"output_tensor_ids":["aten.relu::0::out_0"],
   "attributes":{"args":[{"type":"tensor","tensor_id":"aten.add::0::out_0"}],"kwargs":{"device":{"type":"device","value":"cuda:0"}}}}}})";

Graph parse(const std::string& text) { return parse_nbx_json(MappedFile::in_memory("g.json", text), {}); }
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
const GraphTensor& tensor(const Graph& g, int id) { return g.tensors[static_cast<size_t>(id)]; }

TEST(NbxJson, TheFormOfTheSpecificationIsRead) {
  const Graph g = parse(kExample);
  EXPECT_EQ(g.name, "mlp");
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].op->parsed.full_name(), "aten::add.Tensor");
  EXPECT_EQ(std::get<int64_t>(g.nodes[0].values[2]), 2);
  EXPECT_EQ(to_string(tensor(g, g.inputs.at(0)).type), "float32[s0, 3]");
  EXPECT_EQ(tensor(g, g.inputs[0]).name, "x");
  EXPECT_EQ(tensor(g, g.outputs.at(0)).name, "y");
  ASSERT_EQ(g.symbols.count("s0"), 1u);
  EXPECT_EQ(g.symbols.at("s0").min, 1);
  EXPECT_EQ(g.symbols.at("s0").name, "batch");
  const auto& b = std::get<TensorRef>(g.nodes[0].values[1]);
  EXPECT_EQ(tensor(g, b.id).constant.to_doubles(), (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(tensor(g, b.id).is_parameter);
}

// Every kind of argument, two bodies, weights inside and beside the file.
Graph rich_graph() {
  Graph g;
  g.name = "rich";
  g.source = "test";
  g.metadata = {{"k", "v"}, {"k2", "\xc3\xa9"}};
  const int x = g.add_input("x", {DType::float32, std::vector<DimSpec>{{-1, "n"}, {-1, ""}, {4, ""}}});
  const int c = g.add_input("c", {DType::bool_, std::vector<DimSpec>{}});
  const int anything = g.add_input("anything", {});
  Symbol n;
  n.source = Symbol::Source::input_dim;
  n.input = 0;
  n.name = "n";
  g.symbols["n"] = n;
  const int w = g.add_constant(Tensor::full({40, 5}, 0.5, DType::float32), "w", true);
  const int k = g.add_constant(Tensor::of<int64_t>({2}, {1, -1}), "k");
  const TensorRef sum = g.add("aten::add.Tensor", {TensorRef{x}, TensorRef{w}}, {{"alpha", 2.0}});
  const TensorRef joined = g.add("aten::cat", {TensorRefs{sum, TensorRef{x}}, int64_t{-1}});
  const TensorRef view = g.add("aten::view", {joined, FromTensor{TensorRef{k}}});
  auto size = std::make_shared<SymExpr>();
  size->kind = SymExpr::Kind::symbol;
  size->symbol = "n";
  auto two = std::make_shared<SymExpr>();
  two->value = two->trace = 2;
  auto product = std::make_shared<SymExpr>();
  product->kind = SymExpr::Kind::mul;
  product->args = {size, two};
  const TensorRef shaped = g.add("aten::view", {view, Syms{product, two}});
  const TensorRef clamped = g.add("aten::clamp", {shaped, -INFINITY, None{}});
  const TensorRef cast = g.add("aten::_to_copy", {clamped}, {{"dtype", DType::bfloat16}});
  auto body = std::make_shared<Graph>();
  const int inside = body->add_input("inside", {});
  const int bias = body->add_constant(g.tensors[static_cast<size_t>(w)].constant, "w", true);
  body->outputs = {body->add("aten::add.Tensor", {TensorRef{inside}, TensorRef{bias}}).id};
  const auto chosen = g.add_node(require_op("custom::if"), {TensorRef{c}, TensorRefs{cast}}, {}, 1, "choose");
  g.nodes.back().bodies = {body, body};
  g.tensors[static_cast<size_t>(chosen[0])].name = "y";
  g.outputs = {chosen[0], anything};
  return g;
}

TEST(NbxJson, WhatIsWrittenIsReadBackTheSame) {
  TempFolder folder;
  const Graph g = rich_graph();
  write_nbx_json(g, folder / "g.json");
  EXPECT_TRUE(std::filesystem::exists(folder / "g.safetensors"));
  const Graph back = read_nbx_json(folder / "g.json");
  EXPECT_EQ(back.nodes.size(), g.nodes.size());
  EXPECT_EQ(back.metadata, g.metadata);
  EXPECT_EQ(back.source, g.source);
  EXPECT_EQ(to_string(tensor(back, back.inputs[0]).type), "float32[n, ?, 4]");
  EXPECT_EQ(to_string(tensor(back, back.inputs[2]).type), "?[...]");
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    EXPECT_EQ(back.nodes[i].name, g.nodes[i].name);
    for (size_t v = 0; v < g.nodes[i].values.size(); ++v)
      EXPECT_EQ(back.nodes[i].values[v].index(), g.nodes[i].values[v].index()) << i << " " << v;
  }
  EXPECT_EQ(std::get<double>(back.nodes[4].values[1]), -INFINITY);
  EXPECT_EQ(to_string(back.nodes[3].values[1]), to_string(g.nodes[3].values[1]));
  // The weight that graph and bodies share is stored once.
  EXPECT_LT(std::filesystem::file_size(folder / "g.safetensors"), 1200u);
  const std::string first = TempFolder::read(folder / "g.json");
  write_nbx_json(back, folder / "again.json");
  EXPECT_EQ(TempFolder::read(folder / "again.json"), first);
  EXPECT_EQ(TempFolder::read(folder / "again.safetensors"), TempFolder::read(folder / "g.safetensors"));
}

TEST(NbxJson, DamageIsNamedByFieldAndValue) {
  const auto text = [](const std::string& from, const std::string& to) {
    return error_text(Code::file, [&] { parse(replaced(kExample, from, to)); });
  };
  EXPECT_NAMES(text("\"0.1\"", "\"7\""), "version");
  EXPECT_NAMES(text("[2,3],\"dtype\":\"float32\",\"is_input\"", "[-2,3],\"dtype\":\"float32\",\"is_input\""), "shape");
  EXPECT_NAMES(text("\"shape\":[3]", "\"shape\":[4]"), "12 bytes, shape [4] of float32 needs 16");
  EXPECT_NAMES(text("\"shape\":[3]", "\"shape\":[4611686018427387904,8]"), "2^63");
  EXPECT_NAMES(text("AACAPwAAAEAAAEBA", "AAC?PwAAAEAAAEBA"), "base64");
  EXPECT_NAMES(text("torch.float32", "torch.float33"), "float33");
  EXPECT_NAMES(text("\"execution_order\":[\"aten.add::0\",\"aten.relu::0\"]",
                    "\"execution_order\":[\"aten.relu::0\",\"aten.add::0\"]"),
               "before it is made");
  EXPECT_NAMES(text("\"execution_order\":[\"aten.add::0\"", "\"execution_order\":[\"aten.add::0\",\"aten.add::0\""),
               "twice");
  EXPECT_NAMES(text("\"execution_order\":[", "\"execution_order\":[\"gone\","), "'gone'");
  EXPECT_NAMES(text("\"output_tensor_ids\":[\"aten.relu::0::out_0\"],\n \"tensors\"",
                    "\"output_tensor_ids\":[\"nothing\"],\n \"tensors\""),
               "'nothing'");
  EXPECT_NAMES(text("\"component_name\"", "\"format\""), "twice");
  EXPECT_NAMES(text("\"type\":\"scalar\",\"value\":2", "\"type\":\"wrong\",\"value\":2"), "'wrong'");
  EXPECT_NAMES(text("input::x::dim_0", "input::x::dim_9"), "dim 9");
  EXPECT_NAMES(text("{\"format\"", "[{\"format\""), "JSON");
}

TEST(NbxJson, AllUnknownOpsAreInOneError) {
  std::string text = replaced(kExample, "aten::relu\"", "aten::no_such\"");
  text = replaced(text, "aten::add.Tensor", "custom::neither");
  const std::string error = error_text(Code::unsupported, [&] { parse(text); });
  for (const char* part : {"aten::no_such", "custom::neither", "aten.add::0", "aten.relu::0"})
    EXPECT_NAMES(error, part);
}

TEST(NbxJson, TruncatedAndDamagedTextGivesAGraphOrAnError) {
  const auto run = [](const std::string& text) {
    try {
      parse(text);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::internal) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return true;
    }
    return false;
  };
  for (size_t length = 0; length < kExample.size(); length += 3) EXPECT_TRUE(run(kExample.substr(0, length))) << length;
  for (size_t i = 0; i < kExample.size(); ++i)
    for (const int bit : {0, 4}) {
      std::string damaged = kExample;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      run(damaged);
    }
  EXPECT_TRUE(run(std::string(100'000, '[')));
}

TEST(NbxJson, AWeightIsFoundByNameOrByTheLongestEnd) {
  TempFolder folder;
  Graph g;
  const int x = g.add_input("x", {});
  const int w = g.add_constant(Tensor::full({100}, 3, DType::float32), "model.layer.weight", true);
  g.outputs = {g.add("aten::add.Tensor", {TensorRef{x}, TensorRef{w}}).id};
  write_nbx_json(g, folder / "g.json");
  std::string text = TempFolder::read(folder / "g.json");
  text = replaced(text, "\"weight_name\": \"model.layer.weight\"", "\"weight_name\": \"layer.weight\"");
  const Graph back = parse_nbx_json(MappedFile::in_memory("g.json", text), folder / "g.safetensors");
  EXPECT_EQ(tensor(back, std::get<TensorRef>(back.nodes[0].values[1]).id).constant.to_doubles()[99], 3);
  text = replaced(text, "\"weight_name\": \"layer.weight\"", "\"weight_name\": \"other.bias\"");
  EXPECT_NAMES(
      error_text(Code::file, [&] { parse_nbx_json(MappedFile::in_memory("g.json", text), folder / "g.safetensors"); }),
      "'other.bias'");
  EXPECT_NAMES(error_text(Code::file, [&] { parse_nbx_json(MappedFile::in_memory("g.json", text), {}); }),
               "in no file");
}

TEST(NbxJson, AFileOfManyTensorsIsReadInTimeThatGrowsWithItsLength) {
  std::string many = "\"tensors\":{";
  for (int i = 0; i < 200'000; ++i) many += "\"t" + std::to_string(i) + "\":{},";
  const Graph g =
      parse(replaced(kExample, "\"tensors\":{", many));  // quadratic: an hour; the test's time limit ends it
  EXPECT_EQ(g.nodes.size(), 2u);
}

TEST(NbxJson, Base64RoundTripsEveryLength) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes) << i;
    bytes.push_back(static_cast<std::byte>(i * 37));
  }
  EXPECT_EQ(to_base64({std::byte{'n'}, std::byte{'b'}}), "bmI=");
  EXPECT_FALSE(from_base64("a"));
  EXPECT_FALSE(from_base64("ab*="));
}

}  // namespace
}  // namespace nbx
