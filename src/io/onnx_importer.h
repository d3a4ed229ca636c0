// SPDX-License-Identifier: Apache-2.0
// The state of one import: scopes of names, functions, and the list of what is not supported.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "io/onnx_model.h"
#include "ops/import.h"

namespace nbx {

using OnnxOpsets = std::map<std::string, int>;                              // domain → version; "ai.onnx" is ""
using OnnxAttributes = std::map<std::string, const onnx::AttributeProto*>;  // by name

// Names of a graph's tensors that come from the file; the others are made up.
struct OnnxNames {
  std::unordered_set<std::string> used;
  std::unordered_set<int> named;
};

// A region of names. A body's scope has a graph of its own and looks outwards; a function's scope writes into its
// caller's graph and sees nothing of the caller.
struct OnnxScope {
  Graph* graph = nullptr;
  std::shared_ptr<OnnxNames> taken;  // of the graph
  OnnxScope* outer = nullptr;        // what a body captures from
  const OnnxOpsets* opsets = nullptr;
  const OnnxAttributes* arguments = nullptr;   // of the function call: what ref_attr_name refers to
  std::string prefix;                          // of node names: the call, the body; of a function's tensors, too
  std::unordered_map<std::string, int> names;  // ONNX name → graph tensor
  std::vector<std::pair<int, int>> captures;   // tensor of outer->graph, input of this graph

  std::unordered_map<std::string, DType> declared;  // what value_info says: dtypes are believed, shapes are not

  explicit OnnxScope(Graph& g) : graph(&g), taken(std::make_shared<OnnxNames>()) {}
  GraphTensor& tensor(int id) const { return graph->tensors[static_cast<size_t>(id)]; }
};

// Thrown by Importing::unsupported, caught per node.
struct OnnxUnsupported {
  std::string what;
};

class OnnxImporter {
 public:
  explicit OnnxImporter(OnnxFile& file) : file_(file) {}
  Graph run();

  OnnxFile& file() { return file_; }

  // The tensor of that name, captured from outside when it is there; -1.
  int resolve(OnnxScope& scope, const std::string& name);
  void define(OnnxScope& scope, const std::string& name, int tensor, const std::string& node);
  // Values that are certain before a run, beside the graph's constants: casts of constants.
  const Tensor* constant(const Graph& graph, int tensor) const;
  void set_constant(const Graph& graph, int tensor, Tensor value) { folded_[{&graph, tensor}] = std::move(value); }

  int64_t next_draw() { return draws_++; }

  void unsupported(const std::string& op, const std::string& node, const std::string& what);
  // Reads a tensor; a dtype that nbx lacks is recorded, and an undefined tensor returned.
  Tensor tensor(const onnx::TensorProto& proto, const std::string& what);
  TypeSpec type_of(const onnx::ValueInfoProto& info, bool with_dims);

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  void read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& list, OnnxOpsets& out);
  void read_functions();
  void add_inputs(OnnxScope& scope, const onnx::GraphProto& graph);
  void add_initializers(OnnxScope& scope, const onnx::GraphProto& graph);
  void add_symbols(Graph& graph);
  // Fills the scope's graph: inputs, initialisers, nodes, outputs.
  void graph(OnnxScope& scope, const onnx::GraphProto& proto, bool is_body);
  void finish_outputs(OnnxScope& scope, const onnx::GraphProto& proto, bool is_body);
  void nodes(OnnxScope& scope, const Nodes& list);
  void node(OnnxScope& scope, const onnx::NodeProto& proto, size_t index);
  void placeholders(OnnxScope& scope, const onnx::NodeProto& proto, const std::string& label);

  // onnx_control.cpp
  void control(OnnxScope& scope, const onnx::NodeProto& proto, const OnnxAttributes& attributes, int opset,
               const std::string& label);
  struct Body {
    std::shared_ptr<Graph> graph;
    std::vector<std::pair<int, int>> captures;
  };
  Body body(OnnxScope& scope, const OnnxAttributes& attributes, const char* attribute, const std::string& label);
  // Gives all bodies the same further inputs; returns the tensors of the scope's graph that they are.
  static std::vector<int> join_captures(const Graph& outer, std::vector<Body>& bodies);
  void call(OnnxScope& scope, const onnx::NodeProto& proto, const onnx::FunctionProto& function,
            const OnnxAttributes& attributes, const std::string& label);

  OnnxFile& file_;
  OnnxOpsets opsets_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::vector<const onnx::FunctionProto*> calling_;  // the calls we are in
  std::map<std::pair<const Graph*, int>, Tensor> folded_;
  std::map<const void*, Tensor> shared_;  // constants of functions: read once, however often they are called
  std::map<std::string, std::vector<std::string>> unsupported_;  // what → nodes
  int64_t draws_ = 0;                                            // random nodes so far
  int64_t count_ = 0;                                            // nodes so far, inlined ones included
  int64_t inlined_ = 0;                                          // bytes of the inlined ones
};

// The attributes of a node, ref_attr_name resolved. Error (file) for one given twice.
OnnxAttributes onnx_attributes(const OnnxScope& scope, const onnx::NodeProto& proto, const std::string& where);
// Of what is inside a node; bounded, however long and nested names are.
std::string onnx_prefix(const std::string& label);
std::string onnx_domain(const std::string& domain);  // "ai.onnx" → ""
// Names that nodes read and that neither they, inputs nor initialisers define, bodies included.
void onnx_free_names(const onnx::NodeProto& node, std::vector<std::string>& out);
// Emits the ops of a node whose import is `import`.
void import_onnx_node(OnnxImporter& importer, OnnxScope& scope, const onnx::NodeProto& proto,
                      const OnnxAttributes& attributes, const OnnxImport& import, int opset, const std::string& label);
// Records a result under its ONNX name, which it takes on when its own is made up.
void bind_onnx_output(OnnxImporter& importer, OnnxScope& scope, const onnx::NodeProto& proto, int index, int tensor);
// The dtype of result `index` by the operator's own type rule, where that follows from the operands.
std::optional<DType> onnx_result_dtype(const onnx::NodeProto& proto, const OnnxAttributes& attributes,
                                       const std::vector<std::optional<DType>>& inputs, int index);

}  // namespace nbx
