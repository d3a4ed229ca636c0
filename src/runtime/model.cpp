// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nbx/session.h>

#include <set>

#include "graph/graph.h"
#include "graph/passes/pass.h"
#include "io/load_graph.h"

namespace nbx {

struct Model::Impl {
  Graph graph;
  std::vector<ValueInfo> inputs, outputs;
  int64_t parameter_bytes = 0;
  PackCache packs;
};

namespace {

ValueInfo value_info(const GraphTensor& t) {
  ValueInfo v;
  v.name = t.name;
  v.dtype = t.type.dtype;
  if (t.type.dims) {
    v.dims.emplace();
    for (const DimSpec& d : *t.type.dims) v.dims->push_back({d.extent, d.symbol});
  }
  return v;
}

void add_storages(const Graph& g, std::set<const Storage*>& seen, int64_t& bytes) {
  for (const GraphTensor& t : g.tensors)
    if (t.constant.defined() && seen.insert(t.constant.storage().get()).second) bytes += t.constant.nbytes();
  for (const Node& n : g.nodes)
    for (const auto& body : n.bodies) add_storages(*body, seen, bytes);
}

}  // namespace

std::string to_string(const ValueInfo& info) {
  std::string out = fmt::format("{}: {}", info.name, info.dtype ? nbx::name(*info.dtype) : "?");
  if (!info.dims) return out + "[...]";
  out += "[";
  for (size_t i = 0; i < info.dims->size(); ++i) {
    const auto& d = (*info.dims)[i];
    if (i) out += ", ";
    out += d.extent >= 0 ? fmt::format("{}", d.extent) : d.symbol.empty() ? "?" : d.symbol;
  }
  return out + "]";
}

Model::Model() : impl_(std::make_unique<Impl>()) {}
Model::~Model() = default;

std::shared_ptr<const Model> Model::load(const std::string& path) { return from_graph(load_graph(path)); }

std::shared_ptr<const Model> Model::from_graph(Graph graph) {
  verify(graph, "import");
  std::shared_ptr<Model> model(new Model());
  Impl& m = *model->impl_;
  m.graph = std::move(graph);
  for (const int id : m.graph.inputs) m.inputs.push_back(value_info(m.graph.tensors[static_cast<size_t>(id)]));
  for (const int id : m.graph.outputs) m.outputs.push_back(value_info(m.graph.tensors[static_cast<size_t>(id)]));
  run_load_passes(m.graph);
  std::set<const Storage*> seen;
  add_storages(m.graph, seen, m.parameter_bytes);
  return model;
}

const std::string& Model::name() const { return impl_->graph.name; }
const std::vector<ValueInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<ValueInfo>& Model::outputs() const { return impl_->outputs; }
const std::vector<std::pair<std::string, std::string>>& Model::metadata() const { return impl_->graph.metadata; }
int64_t Model::parameter_bytes() const { return impl_->parameter_bytes; }
const Graph& Model::graph() const { return impl_->graph; }
PackCache& Model::packs() const { return impl_->packs; }

}  // namespace nbx
