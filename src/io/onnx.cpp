// SPDX-License-Identifier: Apache-2.0
#include "io/onnx.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <queue>

#include "base/check.h"
#include "io/onnx_importer.h"
#include "io/quote.h"
#include "ops/registry.h"

namespace nbx {
namespace {

constexpr int64_t kMaxNodes = 200'000;              // functions that call functions can grow without end
constexpr int64_t kMaxInlined = int64_t{64} << 20;  // bytes of nodes that calls repeat
constexpr int kNewestIr = onnx::IR_VERSION;
constexpr int kOldestIr = onnx::IR_VERSION_2017_11_3;  // the one of opset 7

std::string label_of(const OnnxScope& scope, const onnx::NodeProto& node, size_t index) {
  if (!node.name().empty()) return scope.prefix + node.name();
  if (node.output_size() > 0 && !node.output(0).empty()) return scope.prefix + node.output(0);
  return fmt::format("{}#{}", scope.prefix, index);
}

bool visible(const OnnxScope& scope, const std::string& name) {
  for (const OnnxScope* s = &scope; s; s = s->outer)
    if (s->names.count(name)) return true;
  return false;
}

// The order of execution: the file's own where that works, else the first node that can run, again and again.
std::vector<int> sorted(const std::vector<std::vector<int>>& needs, const std::function<void(int)>& cycle) {
  const auto count = static_cast<int>(needs.size());
  std::vector<int> waiting(needs.size(), 0), order;
  std::vector<std::vector<int>> readers(needs.size());
  for (int n = 0; n < count; ++n)
    for (const int from : needs[static_cast<size_t>(n)]) {
      ++waiting[static_cast<size_t>(n)];
      readers[static_cast<size_t>(from)].push_back(n);
    }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int n = 0; n < count; ++n)
    if (waiting[static_cast<size_t>(n)] == 0) ready.push(n);
  while (!ready.empty()) {
    const int n = ready.top();
    ready.pop();
    order.push_back(n);
    for (const int reader : readers[static_cast<size_t>(n)])
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  if (order.size() < needs.size())
    cycle(
        static_cast<int>(std::find_if(waiting.begin(), waiting.end(), [](int w) { return w > 0; }) - waiting.begin()));
  return order;
}

}  // namespace

std::string onnx_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

std::string onnx_prefix(const std::string& label) {
  constexpr size_t kLongest = 256;
  return (label.size() <= kLongest ? label : label.substr(0, kLongest) + "...") + "/";
}

void onnx_free_names(const onnx::NodeProto& node, std::vector<std::string>& out) {
  for (const std::string& name : node.input())
    if (!name.empty()) out.push_back(name);
  for (const auto& attribute : node.attribute()) {
    const auto inside = [&](const onnx::GraphProto& body) {
      std::unordered_set<std::string> defined;
      for (const auto& input : body.input()) defined.insert(input.name());
      for (const auto& initializer : body.initializer()) defined.insert(initializer.name());
      for (const auto& inner : body.node()) defined.insert(inner.output().begin(), inner.output().end());
      std::vector<std::string> read;
      for (const auto& inner : body.node()) onnx_free_names(inner, read);
      for (const auto& output : body.output()) read.push_back(output.name());
      for (std::string& name : read)
        if (!defined.count(name)) out.push_back(std::move(name));
    };
    if (attribute.has_g()) inside(attribute.g());
    for (const auto& body : attribute.graphs()) inside(body);
  }
}

int OnnxImporter::resolve(OnnxScope& scope, const std::string& name) {
  const auto known = scope.names.find(name);
  if (known != scope.names.end()) return known->second;
  if (!scope.outer) return -1;
  const int outside = resolve(*scope.outer, name);
  if (outside < 0) return -1;
  const GraphTensor& original = scope.outer->tensor(outside);
  int id = -1;
  if (original.constant.defined()) {
    id = scope.graph->add_constant(original.constant, name, original.is_parameter);
  } else {
    id = scope.graph->add_input(name, original.type);
    scope.captures.emplace_back(outside, id);
    if (const Tensor* value = constant(*scope.outer->graph, outside)) set_constant(*scope.graph, id, *value);
  }
  scope.taken->named.insert(id);
  scope.taken->used.insert(name);
  scope.names.emplace(name, id);
  return id;
}

void OnnxImporter::define(OnnxScope& scope, const std::string& name, int tensor, const std::string& node) {
  require(scope.names.emplace(name, tensor).second, Code::file, "{}: {} defines {}, which is defined already",
          file_.name(), node, quote(name));
}

const Tensor* OnnxImporter::constant(const Graph& graph, int tensor) const {
  if (tensor < 0) return nullptr;
  const GraphTensor& t = graph.tensors[static_cast<size_t>(tensor)];
  if (t.constant.defined()) return &t.constant;
  const auto folded = folded_.find({&graph, tensor});
  return folded == folded_.end() ? nullptr : &folded->second;
}

void OnnxImporter::unsupported(const std::string& op, const std::string& node, const std::string& what) {
  unsupported_[one_line(what.empty() ? op : op + ": " + what)].push_back(quote(node));
}

Tensor OnnxImporter::tensor(const onnx::TensorProto& proto, const std::string& what) {
  if (!dtype_of_onnx(proto.data_type())) {
    unsupported("dtype " + onnx_dtype_name(proto.data_type()), what, "");
    return {};
  }
  if (calling_.empty()) return read_tensor(file_, proto, what);
  Tensor& shared = shared_[&proto];
  if (!shared.defined()) shared = read_tensor(file_, proto, what);
  return shared;
}

TypeSpec OnnxImporter::type_of(const onnx::ValueInfoProto& info, bool with_dims) {
  TypeSpec spec;
  const onnx::TypeProto& type = info.type();
  if (!type.has_tensor_type()) {
    if (type.value_case() != onnx::TypeProto::VALUE_NOT_SET) unsupported("type that is no tensor", info.name(), "");
    return spec;
  }
  const int element = type.tensor_type().elem_type();
  spec.dtype = dtype_of_onnx(element);
  if (!spec.dtype && element != onnx::TensorProto::UNDEFINED)
    unsupported("dtype " + onnx_dtype_name(element), info.name(), "");
  if (!with_dims || !type.tensor_type().has_shape()) return spec;
  const auto& dims = type.tensor_type().shape().dim();
  require(dims.size() <= kMaxRank, Code::file, "{}: {} has {} dims; at most {} are supported", file_.name(),
          quote(info.name()), dims.size(), kMaxRank);
  spec.dims.emplace();
  for (const auto& dim : dims) {
    DimSpec d;
    if (dim.has_dim_value() && dim.dim_value() > 0) d.extent = dim.dim_value();
    if (dim.has_dim_param()) d.symbol = dim.dim_param();
    spec.dims->push_back(std::move(d));
  }
  return spec;
}

void OnnxImporter::read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& list,
                               OnnxOpsets& out) {
  for (const auto& entry : list) {
    const std::string domain = onnx_domain(entry.domain());
    require(entry.version() > 0 && entry.version() < (1 << 20), Code::file,
            "{}: opset_import of domain {} is version {}", file_.name(), quote(domain), entry.version());
    const auto version = static_cast<int>(entry.version());
    require(!domain.empty() || (version >= kOldestOpset && version <= kNewestOpset), Code::unsupported,
            "{}: opset {}; {} to {} are supported", file_.name(), version, kOldestOpset, kNewestOpset);
    const int known = out.emplace(domain, version).first->second;
    require(known == version, Code::file, "{}: opset_import gives domain {} two versions, {} and {}", file_.name(),
            quote(domain), known, version);
  }
}

void OnnxImporter::read_functions() {
  for (const auto& function : file_.model.functions()) {
    const FunctionKey key{onnx_domain(function.domain()), function.name(), function.overload()};
    require(functions_.emplace(key, &function).second, Code::file, "{}: function {} of domain {} is defined twice",
            file_.name(), quote(function.name()), quote(function.domain()));
  }
}

void OnnxImporter::add_inputs(OnnxScope& scope, const onnx::GraphProto& graph) {
  std::unordered_set<std::string> initialized;
  if (!scope.outer)
    for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  for (const auto& info : graph.input()) {
    require(!info.name().empty(), Code::file, "{}: graph {} has an input without a name", file_.name(),
            quote(graph.name()));
    if (initialized.count(info.name())) continue;  // a default that nobody may override
    const int id = scope.graph->add_input(info.name(), type_of(info, true));
    scope.taken->named.insert(id);
    scope.taken->used.insert(info.name());
    define(scope, info.name(), id, "the list of inputs");
  }
}

void OnnxImporter::add_initializers(OnnxScope& scope, const onnx::GraphProto& graph) {
  for (const auto& proto : graph.initializer()) {
    require(!proto.name().empty(), Code::file, "{}: graph {} has an initializer without a name", file_.name(),
            quote(graph.name()));
    const Tensor value = tensor(proto, "initializer " + quote(proto.name()));
    const int id =
        value.defined() ? scope.graph->add_constant(value, proto.name(), true) : scope.graph->add_tensor(proto.name());
    scope.taken->named.insert(id);
    scope.taken->used.insert(proto.name());
    define(scope, proto.name(), id, "the list of initializers");
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    unsupported("sparse initializer", sparse.values().name(), "");
    define(scope, sparse.values().name(), scope.graph->add_tensor(), "the list of sparse initializers");
  }
}

void OnnxImporter::add_symbols(Graph& graph) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto& dims = graph.tensors[static_cast<size_t>(graph.inputs[i])].type.dims;
    if (!dims) continue;
    for (size_t d = 0; d < dims->size(); ++d) {
      const std::string& name = (*dims)[d].symbol;
      if (name.empty() || graph.symbols.count(name)) continue;
      Symbol symbol;
      symbol.source = Symbol::Source::input_dim;
      symbol.input = static_cast<int>(i);
      symbol.index = static_cast<int64_t>(d);
      symbol.name = name;
      graph.symbols.emplace(name, std::move(symbol));
    }
  }
}

void OnnxImporter::graph(OnnxScope& scope, const onnx::GraphProto& proto, bool is_body) {
  scope.graph->name = proto.name();
  add_inputs(scope, proto);
  add_initializers(scope, proto);
  for (const auto& info : proto.value_info()) {
    if (!info.type().has_tensor_type()) continue;
    if (const auto dtype = dtype_of_onnx(info.type().tensor_type().elem_type()))
      scope.declared.emplace(info.name(), *dtype);
  }
  nodes(scope, proto.node());
  finish_outputs(scope, proto, is_body);
}

void OnnxImporter::nodes(OnnxScope& scope, const Nodes& list) {
  std::unordered_map<std::string, int> producers;
  for (int n = 0; n < list.size(); ++n)
    for (const std::string& name : list[n].output()) {
      if (name.empty()) continue;
      const bool fresh = !scope.names.count(name) && producers.emplace(name, n).second;
      require(fresh, Code::file, "{}: node {} defines {}, which is defined already", file_.name(),
              quote(label_of(scope, list[n], static_cast<size_t>(n))), quote(name));
    }
  std::vector<std::vector<int>> needs(static_cast<size_t>(list.size()));
  std::vector<std::string> read;
  for (int n = 0; n < list.size(); ++n) {
    read.clear();
    onnx_free_names(list[n], read);
    for (const std::string& name : read) {
      const auto producer = producers.find(name);
      if (producer != producers.end()) {
        needs[static_cast<size_t>(n)].push_back(producer->second);
      } else {
        require(visible(scope, name), Code::file, "{}: node {} ({}) reads {}, which nothing defines", file_.name(),
                quote(label_of(scope, list[n], static_cast<size_t>(n))), quote(list[n].op_type()), quote(name));
      }
    }
  }
  const auto cycle = [&](int n) {
    fail(Code::file, "{}: the graph has a cycle through or before node {} ({})", file_.name(),
         quote(label_of(scope, list[n], static_cast<size_t>(n))), quote(list[n].op_type()));
  };
  for (const int n : sorted(needs, cycle)) node(scope, list[n], static_cast<size_t>(n));
}

void OnnxImporter::placeholders(OnnxScope& scope, const onnx::NodeProto& proto, const std::string& label) {
  for (const std::string& name : proto.output())
    if (!name.empty() && !scope.names.count(name)) define(scope, name, scope.graph->add_tensor(), label);
}

void OnnxImporter::node(OnnxScope& scope, const onnx::NodeProto& proto, size_t index) {
  const std::string label = label_of(scope, proto, index);
  require(++count_ <= kMaxNodes, Code::file, "{}: more than {} nodes with functions inlined, at node {}", file_.name(),
          kMaxNodes, quote(label));
  if (!calling_.empty()) inlined_ += static_cast<int64_t>(proto.ByteSizeLong());
  require(inlined_ <= kMaxInlined, Code::file, "{}: the functions come to more than {} MB when inlined, at node {}",
          file_.name(), kMaxInlined >> 20, quote(label));
  const std::string domain = onnx_domain(proto.domain());
  const std::string op = (domain.empty() ? "" : domain + "::") + proto.op_type();
  const std::string where = fmt::format("{}: node {} ({})", file_.name(), quote(label), quote(op));
  try {
    const OnnxAttributes attributes = onnx_attributes(scope, proto, where);
    const auto function = functions_.find({domain, proto.op_type(), proto.overload()});
    if (function != functions_.end()) {
      call(scope, proto, *function->second, attributes, label);
    } else {
      const auto version = scope.opsets->find(domain);
      require(version != scope.opsets->end(), Code::file, "no opset_import names its domain {}", quote(domain));
      const int opset = version->second;
      if (const OnnxImport* import = find_import(domain, proto.op_type(), opset)) {
        import_onnx_node(*this, scope, proto, attributes, *import, opset, label);
      } else {
        control(scope, proto, attributes, opset, label);
      }
    }
  } catch (const OnnxUnsupported& problem) {
    unsupported(op, label, problem.what);
  } catch (const Error& error) {
    if (error.code() == Code::unsupported) {
      unsupported(op, label, error.what());
    } else {
      const std::string text = error.what();
      // Inside a body or function the message names the innermost node already.
      if (text.compare(0, file_.name().size() + 1, file_.name() + ":") == 0) throw;
      throw Error(Code::file, where + ": " + one_line(text));
    }
  }
  placeholders(scope, proto, where);
}

void OnnxImporter::finish_outputs(OnnxScope& scope, const onnx::GraphProto& proto, bool is_body) {
  Graph& g = *scope.graph;
  std::unordered_set<std::string> listed;
  for (const auto& info : proto.output()) {
    int id = resolve(scope, info.name());
    require(id >= 0, Code::file, "{}: output {} of graph {} is defined by nothing", file_.name(), quote(info.name()),
            quote(proto.name()));
    require(is_body || listed.insert(info.name()).second, Code::file, "{}: output {} is listed twice", file_.name(),
            quote(info.name()));
    // A result that is an input, a constant or another output needs a tensor of its own to carry the name.
    if (!is_body && scope.tensor(id).name != info.name() && unsupported_.empty()) {
      for (GraphTensor& other : g.tensors)
        if (other.name == info.name()) other.name += "/inner";
      const auto alias = g.add_node(require_op("aten::alias"), {TensorRef{id}}, {}, -1, info.name());
      const std::optional<DType> dtype = scope.tensor(id).type.dtype;
      id = alias.at(0);
      scope.tensor(id).name = info.name();
      scope.tensor(id).type.dtype = dtype;
    }
    const TypeSpec declared = type_of(info, true);
    TypeSpec& type = scope.tensor(id).type;
    if (!type.dtype) type.dtype = declared.dtype;
    if (!type.dims) type.dims = declared.dims;
    g.outputs.push_back(id);
  }
  // Names that were made up must not meet one of the file's.
  for (size_t id = 0; id < g.tensors.size(); ++id) {
    if (scope.taken->named.count(static_cast<int>(id))) continue;
    std::string& name = g.tensors[id].name;
    while (!scope.taken->used.insert(name).second) name += "_";
  }
}

Graph OnnxImporter::run() {
  const onnx::ModelProto& model = file_.model;
  require(model.ir_version() > 0, Code::file, "{}: ir_version is missing; this is no ONNX model, or it is damaged",
          file_.name());
  require(model.ir_version() >= kOldestIr && model.ir_version() <= kNewestIr, Code::unsupported,
          "{}: ir_version {}; {} to {} are supported", file_.name(), model.ir_version(), kOldestIr, kNewestIr);
  read_opsets(model.opset_import(), opsets_);
  require(!opsets_.empty(), Code::file, "{}: opset_import is missing", file_.name());
  read_functions();

  Graph g;
  OnnxScope scope(g);
  scope.opsets = &opsets_;
  graph(scope, model.graph(), false);
  if (!unsupported_.empty()) {
    std::string text;
    for (const auto& [what, nodes] : unsupported_) {
      std::string list;
      for (const std::string& n : nodes) list += (list.empty() ? "" : ", ") + n;
      text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", what, list);
    }
    fail(Code::unsupported, "{}: not supported: {}", file_.name(), text);
  }
  add_symbols(g);
  for (const auto& entry : model.metadata_props()) g.metadata.emplace_back(entry.key(), entry.value());
  const auto standard = opsets_.find("");
  g.source = standard == opsets_.end() ? "onnx" : fmt::format("onnx, opset {}", standard->second);
  try {
    verify(g, "import");
  } catch (const Error& error) {
    fail(Code::file, "{}: {}", file_.name(), error.what());
  }
  return g;
}

Graph import_onnx(const FileBytes& file, const std::string& directory) {
  OnnxFile onnx = parse_onnx(file, directory);
  return OnnxImporter(onnx).run();
}

Graph import_onnx(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return import_onnx(MappedFile::open(path), folder.empty() ? "." : folder.string());
}

Graph import_onnx(std::span<const std::byte> bytes, const std::string& name, const std::string& directory) {
  return import_onnx(MappedFile::in_memory(name, std::vector<std::byte>(bytes.begin(), bytes.end())), directory);
}

}  // namespace nbx
