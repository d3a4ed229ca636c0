// SPDX-License-Identifier: Apache-2.0
// Graph: an SSA DAG of registered ops over tensors. Shapes and ranks may be unknown until a run; dtypes too. Parameters
// are constants: tensors that may be views into a mapped file. Subgraphs (bodies of If, Loop, Scan) take what they
// capture from outside as explicit further inputs, so a graph never refers to another graph's tensors.
#pragma once
#include <nbx/tensor.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/declare.h"

namespace nbx {

// An extent of a declared input or output: a number, a named symbol, or unknown.
struct DimSpec {
  int64_t extent = -1;  // >= 0: fixed
  std::string symbol;   // same name = same extent
  bool fixed() const { return extent >= 0; }
};

// What a graph says about one of its inputs or outputs.
struct TypeSpec {
  std::optional<DType> dtype;
  std::optional<std::vector<DimSpec>> dims;  // unknown rank when absent
};
std::string to_string(const TypeSpec& spec);  // "float32[batch, 3, ?, 48]"

// nbx JSON §4.5: where a symbol's value comes from, and its bounds.
struct Symbol {
  enum class Source { none, input_dim, input_value } source = Source::none;
  int input = -1;        // position in Graph::inputs
  int64_t index = 0;     // dim, or element
  int64_t floordiv = 1;  // input_value: divided by this
  int64_t min = 0;
  int64_t max = INT64_MAX;
  int64_t trace = 0;
  std::string name;  // "batch"
};

struct GraphTensor {
  std::string name;           // unique in the graph; may be made up
  Tensor constant;            // defined: a parameter or a constant
  TypeSpec type;              // what is declared or inferred for certain
  int producer = -1;          // node index; -1: input or constant
  bool is_parameter = false;  // a weight of the model (nbx JSON "param::"), not an incidental constant
};

struct Graph;

struct Node {
  const OpDecl* op = nullptr;
  std::vector<Value> values;                         // one per schema parameter; TensorRef ids are graph tensors
  std::vector<int> outputs;                          // graph tensors
  std::string name;                                  // for messages and profiles
  std::vector<std::shared_ptr<const Graph>> bodies;  // kControl only; If: {then, else}
};

struct Graph {
  std::string name;
  std::vector<GraphTensor> tensors;
  std::vector<Node> nodes;  // topological
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::map<std::string, Symbol> symbols;
  std::vector<std::pair<std::string, std::string>> metadata;  // of the model file
  std::string source;                                         // "onnx, opset 15", "nbx json"

  int add_tensor(std::string tensor_name = {});
  int add_input(std::string input_name, TypeSpec type);
  int add_constant(Tensor value, std::string constant_name = {}, bool is_parameter = false);
  // Binds the arguments to the schema (error type), appends the node, makes its output tensors: as many as the schema
  // returns, or `results` when the schema returns Tensor[].
  std::vector<int> add_node(const OpDecl& op, std::vector<Value> args,
                            std::vector<std::pair<std::string, Value>> keywords = {}, int results = -1,
                            std::string node_name = {});
  // By op name; one result.
  TensorRef add(std::string_view op, std::vector<Value> args, std::vector<std::pair<std::string, Value>> keywords = {});
  int find_input(std::string_view input_name) const;  // position in `inputs`, -1
};

// All tensors a node reads, FromTensor sources included, in argument order (duplicates kept).
std::vector<int> reads(const Node& node);
// Rewrites every tensor id of the node's values through `map`.
void remap(Node& node, const std::vector<int>& map);

// Error (internal) unless: topological order, single assignment, ids in range, arguments fit schemas, bodies match.
// Run after every pass; importers run it on what they made and turn it into an error of the file.
void verify(const Graph& graph, const std::string& after);
std::string to_text(const Graph& graph);  // a listing: one node a line

}  // namespace nbx
