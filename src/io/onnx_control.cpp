// SPDX-License-Identifier: Apache-2.0
// Nodes that the importer itself understands: constants, control flow, calls of model-local functions.
#include <algorithm>

#include "base/check.h"
#include "io/onnx_importer.h"
#include "io/quote.h"
#include "ops/registry.h"

namespace nbx {
namespace {

constexpr size_t kMaxCalls = 32;  // functions inside functions

Tensor constant_value(OnnxImporter& importer, const OnnxAttributes& attributes, const std::string& label) {
  require(attributes.size() == 1, Code::file, "has {} attributes; a constant has one, its value", attributes.size());
  const auto& [name, a] = *attributes.begin();
  const auto list = [](auto&& values, auto element) {
    using T = decltype(element);
    return Tensor::of<T>(Shape{static_cast<int64_t>(values.size())},
                         std::span<const T>(values.data(), static_cast<size_t>(values.size())));
  };
  if (name == "value") return importer.tensor(a->t(), "node " + quote(label) + " attribute 'value'");
  if (name == "value_float") return Tensor::scalar<float>(a->f());
  if (name == "value_int") return Tensor::scalar<int64_t>(a->i());
  if (name == "value_floats") return list(a->floats(), float{});
  if (name == "value_ints") return list(a->ints(), int64_t{});
  throw OnnxUnsupported{"attribute " + quote(name)};
}

int64_t integer(const OnnxAttributes& attributes, const char* name, std::optional<int64_t> otherwise) {
  const auto found = attributes.find(name);
  require(found != attributes.end() || otherwise, Code::file, "attribute '{}' is missing", name);
  return found == attributes.end() ? *otherwise : found->second->i();
}

Ints integers(const OnnxAttributes& attributes, const char* name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return {};
  return Ints(found->second->ints().begin(), found->second->ints().end());
}

TensorRefs refs(const std::vector<int>& ids) {
  TensorRefs out;
  for (const int id : ids) out.push_back(TensorRef{id});
  return out;
}

}  // namespace

OnnxImporter::Body OnnxImporter::body(OnnxScope& scope, const OnnxAttributes& attributes, const char* attribute,
                                      const std::string& label) {
  const auto found = attributes.find(attribute);
  require(found != attributes.end() && found->second->has_g(), Code::file, "attribute '{}' is missing or no graph",
          attribute);
  Body body;
  body.graph = std::make_shared<Graph>();
  OnnxScope inner(*body.graph);
  inner.outer = &scope;
  inner.opsets = scope.opsets;
  inner.arguments = scope.arguments;
  inner.prefix = onnx_prefix(label + "/" + attribute);
  graph(inner, found->second->g(), true);
  body.captures = std::move(inner.captures);
  return body;
}

std::vector<int> OnnxImporter::join_captures(const Graph& outer, std::vector<Body>& bodies) {
  std::vector<int> joined;
  for (const Body& body : bodies)
    for (const auto& [outside, input] : body.captures)
      if (std::find(joined.begin(), joined.end(), outside) == joined.end()) joined.push_back(outside);
  for (Body& body : bodies) {
    Graph& g = *body.graph;
    // Captures were added as they were met: first back to the formal inputs, then all in the joint order.
    std::vector<int> inputs;
    for (const int id : g.inputs)
      if (std::none_of(body.captures.begin(), body.captures.end(), [&](const auto& c) { return c.second == id; }))
        inputs.push_back(id);
    for (const int outside : joined) {
      const auto own =
          std::find_if(body.captures.begin(), body.captures.end(), [&](const auto& c) { return c.first == outside; });
      int id = own == body.captures.end() ? -1 : own->second;
      if (id < 0) {
        id = g.add_tensor(fmt::format("unused{}", g.tensors.size()));
        g.tensors[static_cast<size_t>(id)].type = outer.tensors[static_cast<size_t>(outside)].type;
      }
      inputs.push_back(id);
    }
    g.inputs = std::move(inputs);
  }
  return joined;
}

void OnnxImporter::control(OnnxScope& scope, const onnx::NodeProto& proto, const OnnxAttributes& attributes, int opset,
                           const std::string& label) {
  const std::string& op = proto.op_type();
  const bool standard = onnx_domain(proto.domain()).empty();
  const auto input = [&](int i) {
    return TensorRef{i < proto.input_size() && !proto.input(i).empty() ? resolve(scope, proto.input(i)) : -1};
  };
  const auto inputs = [&](int begin, int end) {
    TensorRefs out;
    for (int i = begin; i < end; ++i) {
      out.push_back(input(i));
      require(out.back().defined(), Code::file, "input {} is missing", i);
    }
    return out;
  };
  if (standard && op == "Constant") {
    require(proto.output_size() == 1 && !proto.output(0).empty(), Code::file, "has {} outputs; a constant has one",
            proto.output_size());
    const Tensor value = constant_value(*this, attributes, label);
    const int id =
        value.defined() ? scope.graph->add_constant(value, {}, value.numel() > 1) : scope.graph->add_tensor();
    return bind_onnx_output(*this, scope, proto, 0, id);
  }
  if (standard && op == "Identity") {
    require(input(0).defined() && proto.output_size() == 1, Code::file,
            "has {} inputs and {} outputs; it takes one and gives one", proto.input_size(), proto.output_size());
    return define(scope, proto.output(0), input(0).id, label);
  }
  if (!standard || (op != "If" && op != "Loop" && op != "Scan"))
    throw OnnxUnsupported{onnx_domain(proto.domain()).empty() ? fmt::format("opset {}", opset) : std::string()};

  std::vector<Body> bodies;
  std::vector<Value> args;
  std::vector<std::pair<std::string, Value>> keywords;
  int results = 0;
  if (op == "If") {
    require(input(0).defined(), Code::file, "input 0 is missing");
    bodies = {body(scope, attributes, "then_branch", label), body(scope, attributes, "else_branch", label)};
    const size_t then_count = bodies[0].graph->outputs.size(), else_count = bodies[1].graph->outputs.size();
    require(then_count == else_count, Code::file, "then_branch has {} outputs, else_branch {}", then_count, else_count);
    results = static_cast<int>(then_count);
    args = {input(0), refs(join_captures(*scope.graph, bodies))};
  } else if (op == "Loop") {
    bodies = {body(scope, attributes, "body", label)};
    const int states = std::max(proto.input_size() - 2, 0);
    results = static_cast<int>(bodies[0].graph->outputs.size()) - 1;
    const auto formal = static_cast<int>(bodies[0].graph->inputs.size() - bodies[0].captures.size());
    require(formal == states + 2, Code::file, "its body has {} inputs; with {} states it needs {}", formal, states,
            states + 2);
    require(results >= states, Code::file, "its body has {} outputs; with {} states it needs {} at least", results + 1,
            states, states + 1);
    const TensorRefs state = inputs(2, proto.input_size());
    args = {input(0), input(1), state, refs(join_captures(*scope.graph, bodies))};
  } else {
    // Before opset 9 a scan ran over a batch axis, too.
    if (opset < 9) throw OnnxUnsupported{fmt::format("opset {}", opset)};
    bodies = {body(scope, attributes, "body", label)};
    const int64_t scans = integer(attributes, "num_scan_inputs", {});
    require(scans > 0 && scans <= proto.input_size(), Code::file, "num_scan_inputs is {}, the node has {} inputs",
            scans, proto.input_size());
    const int states = proto.input_size() - static_cast<int>(scans);
    results = static_cast<int>(bodies[0].graph->outputs.size());
    const auto formal = static_cast<int>(bodies[0].graph->inputs.size() - bodies[0].captures.size());
    require(formal == proto.input_size(), Code::file, "its body has {} inputs, the node {}", formal,
            proto.input_size());
    require(results >= states, Code::file, "its body has {} outputs, fewer than its {} states", results, states);
    const TensorRefs state = inputs(0, states), scanned = inputs(states, proto.input_size());
    args = {state, scanned, refs(join_captures(*scope.graph, bodies))};
    for (const auto& [param, attribute] :
         {std::pair("input_axes", "scan_input_axes"), std::pair("input_directions", "scan_input_directions"),
          std::pair("output_axes", "scan_output_axes"), std::pair("output_directions", "scan_output_directions")})
      keywords.emplace_back(param, integers(attributes, attribute));
  }
  require(results >= proto.output_size(), Code::file, "has {} outputs, its body gives {}", proto.output_size(),
          results);
  const char* name = op == "If" ? "custom::if" : op == "Loop" ? "custom::loop" : "custom::scan";
  const std::vector<int> ids =
      scope.graph->add_node(require_op(name), std::move(args), std::move(keywords), results, label);
  Node& node = scope.graph->nodes.back();
  const size_t skipped = op == "Loop" ? 1 : 0;  // the condition that the body gives is no result
  for (size_t i = 0; i < ids.size(); ++i) {
    const Graph& g = *bodies[0].graph;
    scope.tensor(ids[i]).type.dtype = g.tensors[static_cast<size_t>(g.outputs[i + skipped])].type.dtype;
  }
  for (Body& b : bodies) node.bodies.push_back(std::move(b.graph));
  for (int i = 0; i < proto.output_size(); ++i)
    if (!proto.output(i).empty()) bind_onnx_output(*this, scope, proto, i, ids[static_cast<size_t>(i)]);
}

void OnnxImporter::call(OnnxScope& scope, const onnx::NodeProto& proto, const onnx::FunctionProto& function,
                        const OnnxAttributes& attributes, const std::string& label) {
  require(std::find(calling_.begin(), calling_.end(), &function) == calling_.end(), Code::file,
          "function {} calls itself", quote(function.name()));
  require(calling_.size() < kMaxCalls, Code::file, "functions are nested more than {} deep", kMaxCalls);
  require(proto.input_size() <= function.input_size(), Code::file, "has {} inputs, function {} takes {}",
          proto.input_size(), quote(function.name()), function.input_size());
  require(proto.output_size() <= function.output_size(), Code::file, "has {} outputs, function {} gives {}",
          proto.output_size(), quote(function.name()), function.output_size());

  OnnxAttributes arguments = attributes;
  for (const auto& fallback : function.attribute_proto()) arguments.emplace(fallback.name(), &fallback);
  OnnxOpsets opsets;
  read_opsets(function.opset_import(), opsets);
  for (const auto& [domain, version] : *scope.opsets) opsets.emplace(domain, version);

  OnnxScope inner(*scope.graph);
  inner.taken = scope.taken;
  inner.opsets = &opsets;
  inner.arguments = &arguments;
  inner.prefix = onnx_prefix(label);
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < proto.input_size() && !proto.input(i).empty();
    define(inner, function.input(i), given ? resolve(scope, proto.input(i)) : -1, "function " + quote(function.name()));
  }
  calling_.push_back(&function);
  try {
    nodes(inner, function.node());
  } catch (...) {
    calling_.pop_back();
    throw;
  }
  calling_.pop_back();
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    const auto made = inner.names.find(function.output(i));
    require(made != inner.names.end() && made->second >= 0, Code::file,
            "output {} of function {} is defined by nothing", quote(function.output(i)), quote(function.name()));
    bind_onnx_output(*this, scope, proto, i, made->second);
  }
}

}  // namespace nbx
