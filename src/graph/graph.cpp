// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <fmt/format.h>

#include <set>

#include "ops/registry.h"

namespace nbx {

std::string to_string(const TypeSpec& spec) {
  std::string out = spec.dtype ? name(*spec.dtype) : "?";
  if (!spec.dims) return out + "[...]";
  out += "[";
  for (size_t i = 0; i < spec.dims->size(); ++i) {
    const DimSpec& d = (*spec.dims)[i];
    if (i) out += ", ";
    out += d.fixed() ? fmt::format("{}", d.extent) : d.symbol.empty() ? "?" : d.symbol;
  }
  return out + "]";
}

int Graph::add_tensor(std::string tensor_name) {
  GraphTensor t;
  t.name = tensor_name.empty() ? fmt::format("t{}", tensors.size()) : std::move(tensor_name);
  tensors.push_back(std::move(t));
  return static_cast<int>(tensors.size()) - 1;
}

int Graph::add_input(std::string input_name, TypeSpec type) {
  const int id = add_tensor(std::move(input_name));
  tensors[static_cast<size_t>(id)].type = std::move(type);
  inputs.push_back(id);
  return id;
}

int Graph::add_constant(Tensor value, std::string constant_name, bool is_parameter) {
  const int id = add_tensor(std::move(constant_name));
  GraphTensor& t = tensors[static_cast<size_t>(id)];
  t.type.dtype = value.dtype();
  t.type.dims.emplace();
  for (const int64_t extent : value.shape()) t.type.dims->push_back({extent, {}});
  t.constant = std::move(value);
  t.is_parameter = is_parameter;
  return id;
}

std::vector<int> Graph::add_node(const OpDecl& op, std::vector<Value> args,
                                 std::vector<std::pair<std::string, Value>> keywords, int results,
                                 std::string node_name) {
  Node node;
  node.op = &op;
  node.values = bind_values(op.parsed, std::move(args), std::move(keywords));
  const int index = static_cast<int>(nodes.size());
  node.name = node_name.empty() ? fmt::format("{}.{}", op.parsed.name, index) : std::move(node_name);
  const auto& returns = op.parsed.returns;
  const bool list = returns.size() == 1 && returns[0].type == ParamType::tensors;
  require(!list || results >= 0, Code::internal, "nbx defect: {} returns a list; say how many results", op.schema);
  const size_t count = list ? static_cast<size_t>(results) : returns.size();
  for (size_t i = 0; i < count; ++i) {
    const int id = add_tensor();
    tensors[static_cast<size_t>(id)].producer = index;
    node.outputs.push_back(id);
  }
  nodes.push_back(std::move(node));
  return nodes.back().outputs;
}

TensorRef Graph::add(std::string_view op, std::vector<Value> args,
                     std::vector<std::pair<std::string, Value>> keywords) {
  return TensorRef{add_node(require_op(op), std::move(args), std::move(keywords), 1).at(0)};
}

int Graph::find_input(std::string_view input_name) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (tensors[static_cast<size_t>(inputs[i])].name == input_name) return static_cast<int>(i);
  return -1;
}

std::vector<int> reads(const Node& node) {
  std::vector<int> out;
  const auto add = [&](TensorRef r) {
    if (r.defined()) out.push_back(r.id);
  };
  for (const Value& v : node.values) {
    if (const auto* r = std::get_if<TensorRef>(&v)) add(*r);
    if (const auto* f = std::get_if<FromTensor>(&v)) add(f->source);
    if (const auto* list = std::get_if<TensorRefs>(&v))
      for (const TensorRef r : *list) add(r);
  }
  return out;
}

void remap(Node& node, const std::vector<int>& map) {
  const auto change = [&](TensorRef& r) {
    if (r.defined()) r.id = map[static_cast<size_t>(r.id)];
  };
  for (Value& v : node.values) {
    if (auto* r = std::get_if<TensorRef>(&v)) change(*r);
    if (auto* f = std::get_if<FromTensor>(&v)) change(f->source);
    if (auto* list = std::get_if<TensorRefs>(&v))
      for (TensorRef& r : *list) change(r);
  }
  for (int& id : node.outputs) id = map[static_cast<size_t>(id)];
}

void verify(const Graph& g, const std::string& after) {
  const auto bad = [&](const std::string& what) {
    fail(Code::internal, "graph '{}' is not sound after {}: {}", g.name, after, what);
  };
  const int count = static_cast<int>(g.tensors.size());
  std::vector<char> ready(g.tensors.size(), 0);
  for (const int id : g.inputs) {
    if (id < 0 || id >= count) bad(fmt::format("input id {} is out of range", id));
    if (ready[static_cast<size_t>(id)]) bad("input '" + g.tensors[static_cast<size_t>(id)].name + "' is listed twice");
    ready[static_cast<size_t>(id)] = 1;
  }
  for (size_t i = 0; i < g.tensors.size(); ++i)
    if (g.tensors[i].constant.defined()) ready[i] = 1;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    if (!node.op) bad(fmt::format("node {} has no op", n));
    if (node.values.size() != node.op->parsed.params.size())
      bad(fmt::format("node '{}' has {} values for {}", node.name, node.values.size(), node.op->schema));
    for (const int id : reads(node)) {
      if (id >= count) bad(fmt::format("node '{}' reads id {} of {}", node.name, id, count));
      if (!ready[static_cast<size_t>(id)])
        bad(fmt::format("node '{}' reads '{}' before it is made", node.name, g.tensors[static_cast<size_t>(id)].name));
    }
    for (const int id : node.outputs) {
      if (id < 0 || id >= count) bad(fmt::format("node '{}' writes id {} of {}", node.name, id, count));
      if (ready[static_cast<size_t>(id)])
        bad(fmt::format("'{}' is written twice, again by node '{}'", g.tensors[static_cast<size_t>(id)].name,
                        node.name));
      if (g.tensors[static_cast<size_t>(id)].producer != static_cast<int>(n))
        bad(fmt::format("'{}' names another producer than node '{}'", g.tensors[static_cast<size_t>(id)].name,
                        node.name));
      ready[static_cast<size_t>(id)] = 1;
    }
    if (!node.bodies.empty() && !node.op->has(kControl)) bad(fmt::format("node '{}' has a body", node.name));
    for (const auto& body : node.bodies) {
      if (!body) bad(fmt::format("node '{}' lacks a body", node.name));
      verify(*body, after);
    }
  }
  for (const int id : g.outputs)
    if (id < 0 || id >= count || !ready[static_cast<size_t>(id)]) bad(fmt::format("output id {} is not made", id));
}

namespace {

void print(const Graph& g, const std::string& indent, std::string& out) {
  const auto label = [&](int id) {
    const GraphTensor& t = g.tensors[static_cast<size_t>(id)];
    return fmt::format("%{} '{}'{}", id, t.name, t.constant.defined() ? " = " + describe(t.constant) : "");
  };
  for (const int id : g.inputs)
    out += fmt::format("{}input  {}: {}\n", indent, label(id), to_string(g.tensors[static_cast<size_t>(id)].type));
  std::set<int> shown;
  for (const Node& node : g.nodes) {
    for (const int id : reads(node))
      if (g.tensors[static_cast<size_t>(id)].constant.defined() && shown.insert(id).second)
        out += fmt::format("{}const  {}\n", indent, label(id));
    std::string results;
    for (const int id : node.outputs) results += fmt::format("{}%{}", results.empty() ? "" : ", ", id);
    std::string args;
    for (size_t i = 0; i < node.values.size(); ++i)
      args += fmt::format("{}{}={}", i ? ", " : "", node.op->parsed.params[i].name, to_string(node.values[i]));
    out += fmt::format("{}{} = {}({})  # {}\n", indent, results, node.op->parsed.full_name(), args, node.name);
    for (const auto& body : node.bodies) {
      out += indent + "  body {\n";
      print(*body, indent + "    ", out);
      out += indent + "  }\n";
    }
  }
  for (const int id : g.outputs) out += fmt::format("{}output {}\n", indent, label(id));
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string out = fmt::format("graph '{}' ({})\n", graph.name, graph.source);
  print(graph, "  ", out);
  return out;
}

}  // namespace nbx
