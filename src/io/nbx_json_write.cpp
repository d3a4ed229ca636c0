// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/nbx_json.h"
#include "io/nbx_json_value.h"
#include "io/safetensors.h"

namespace nbx {
namespace {

using Json = nlohmann::json;

constexpr int64_t kInside = 256;  // bytes of a constant that still goes into the JSON

class Writer {
 public:
  Json graph(const Graph& g, bool is_body) {
    const std::vector<std::string> uids = name_ops(g), ids = name_tensors(g, uids);
    Json out = {{"format", "tensor_dag"}, {"version", "0.1"}, {"component_name", g.name}, {"torch_dtype", dtype_of(g)}};
    out["symbolic_context"] = {{"symbols", symbols(g)}, {"expressions", Json::object()}};
    Json tensors = Json::object();
    std::set<int> read;
    for (const Node& node : g.nodes)
      for (const int id : reads(node)) read.insert(id);
    for (const std::vector<int>* list : {&g.inputs, &g.outputs}) read.insert(list->begin(), list->end());
    for (size_t t = 0; t < g.tensors.size(); ++t)
      // What no one reads and no op makes is left over from a pass.
      if (g.tensors[t].producer >= 0 || read.count(static_cast<int>(t))) tensors[ids[t]] = tensor(g.tensors[t], ids[t]);
    const auto role = [&](const std::vector<int>& list, const char* flag, const char* field) {
      Json names = Json::array();
      for (const int t : list) {
        Json& record = tensors[ids[static_cast<size_t>(t)]];
        record[flag] = true;
        record[field] = g.tensors[static_cast<size_t>(t)].name;
        names.push_back(ids[static_cast<size_t>(t)]);
      }
      return names;
    };
    out["input_tensor_ids"] = role(g.inputs, "is_input", "input_name");
    out["output_tensor_ids"] = role(g.outputs, "is_output", "output_name");
    out["tensors"] = std::move(tensors);
    Json ops = Json::object(), order = Json::array();
    for (size_t n = 0; n < g.nodes.size(); ++n) {
      ops[uids[n]] = op(g.nodes[n], uids[n], ids);
      order.push_back(uids[n]);
    }
    out["ops"] = std::move(ops);
    out["execution_order"] = std::move(order);
    if (is_body) return out;
    if (!g.source.empty()) out["source"] = g.source;
    if (!g.metadata.empty()) {
      out["metadata"] = Json::array();
      for (const auto& [key, text] : g.metadata) out["metadata"].push_back({key, text});
    }
    return out;
  }

  const NamedTensors& weights() const { return weights_; }

 private:
  static std::string dtype_of(const Graph& g) {
    for (const GraphTensor& t : g.tensors)
      if (t.is_parameter && is_floating(t.constant.dtype())) return name(t.constant.dtype());
    return "float32";
  }

  static std::vector<std::string> name_ops(const Graph& g) {
    std::map<std::string, int> counts;
    std::vector<std::string> uids;
    for (const Node& node : g.nodes) {
      const std::string kind = node.op->parsed.space + "." + node.op->parsed.name;
      uids.push_back(fmt::format("{}::{}", kind, counts[kind]++));
    }
    return uids;
  }

  std::vector<std::string> name_tensors(const Graph& g, const std::vector<std::string>& uids) {
    std::vector<std::string> ids(g.tensors.size());
    for (size_t n = 0; n < g.nodes.size(); ++n)
      for (size_t i = 0; i < g.nodes[n].outputs.size(); ++i)
        ids[static_cast<size_t>(g.nodes[n].outputs[i])] = fmt::format("{}::out_{}", uids[n], i);
    for (const int t : g.inputs) ids[static_cast<size_t>(t)] = "input::" + g.tensors[static_cast<size_t>(t)].name;
    std::set<std::string> used(ids.begin(), ids.end());
    for (size_t t = 0; t < g.tensors.size(); ++t) {
      if (!ids[t].empty()) continue;
      const GraphTensor& tensor = g.tensors[t];
      ids[t] = (tensor.is_parameter ? "param::" : "buffer::") + (is_stored(tensor) ? stored_name(tensor) : tensor.name);
      // Two tensors of a graph can be one weight.
      while (!used.insert(ids[t]).second) ids[t] += "'";
    }
    return ids;
  }

  // In the safetensors file; other constants are in the JSON.
  static bool is_stored(const GraphTensor& t) {
    return t.constant.defined() && t.constant.nbytes() > kInside && *info(t.constant.dtype()).safetensors != '\0';
  }

  // The name under which a constant is stored: its own, unless another constant of the file has it.
  std::string stored_name(const GraphTensor& t) {
    const Tensor& c = t.constant;
    const Key key{c.storage().get(), c.offset(), std::vector<int64_t>(c.shape().begin(), c.shape().end()),
                  std::vector<int64_t>(c.strides().begin(), c.strides().end()), c.dtype()};
    const auto known = stored_.find(key);
    if (known != stored_.end()) return known->second;
    std::string name = t.name;
    for (int again = 2; !names_.insert(name).second; ++again) name = fmt::format("{}#{}", t.name, again);
    stored_.emplace(key, name);
    return name;
  }

  Json tensor(const GraphTensor& t, const std::string& id) {
    Json out = Json::object();
    if (t.name != id) out["name"] = t.name;
    if (t.constant.defined()) {
      const Tensor& c = t.constant;
      out["shape"] = std::vector<int64_t>(c.shape().begin(), c.shape().end());
      out["dtype"] = nbx::name(c.dtype());
      if (t.is_parameter) out["is_parameter"] = true;
      if (!is_stored(t)) {
        out["constant"] = true;
        out["constant_data"] = to_base64(c.to_bytes());
      } else {
        const std::string stored = stored_name(t);
        out["weight_name"] = stored;
        if (!weights_.contains(stored)) weights_.add(stored, c.contiguous());
      }
      return out;
    }
    if (t.type.dtype) out["dtype"] = nbx::name(*t.type.dtype);
    if (!t.type.dims) return out;
    Json dims = Json::array(), shape = Json::array();
    bool fixed = true;
    for (const DimSpec& d : *t.type.dims) {
      fixed = fixed && d.fixed();
      shape.push_back(d.extent);
      if (d.fixed()) {
        dims.push_back(d.extent);
      } else if (d.symbol.empty()) {
        dims.push_back(nullptr);
      } else {
        dims.push_back(d.symbol);
      }
    }
    if (fixed) out["shape"] = std::move(shape);
    out["symbolic_shape"] = {{"dims", std::move(dims)}};
    return out;
  }

  static Json symbols(const Graph& g) {
    Json out = Json::object();
    for (const auto& [id, s] : g.symbols) {
      Json record = {{"name", s.name}, {"trace_value", s.trace}};
      if (s.source != Symbol::Source::none) {
        const std::string& input = g.tensors[static_cast<size_t>(g.inputs.at(static_cast<size_t>(s.input)))].name;
        const bool dim = s.source == Symbol::Source::input_dim;
        record["source"] = fmt::format("input::{}::{}_{}{}", input, dim ? "dim" : "val", s.index,
                                       s.floordiv == 1 ? "" : fmt::format("_fd{}", s.floordiv));
      }
      Json bounds = Json::object();
      if (s.min > 0) bounds["min"] = s.min;
      if (s.max < INT64_MAX) bounds["max"] = s.max;
      record["constraints"] = std::move(bounds);
      out[id] = std::move(record);
    }
    return out;
  }

  Json op(const Node& node, const std::string& uid, const std::vector<std::string>& ids) {
    Json args = Json::array(), kwargs = Json::object(), operands = Json::array(), results = Json::array();
    for (size_t i = 0; i < node.values.size(); ++i) {
      const Param& param = node.op->parsed.params[i];
      Json value = value_to_json(node.values[i], ids);
      if (param.keyword_only) {
        kwargs[param.name] = std::move(value);
      } else {
        args.push_back(std::move(value));
      }
    }
    for (const int id : reads(node)) operands.push_back(ids[static_cast<size_t>(id)]);
    for (const int id : node.outputs) results.push_back(ids[static_cast<size_t>(id)]);
    Json out = {{"op_uid", uid},
                {"op_type", node.op->parsed.full_name()},
                {"input_tensor_ids", std::move(operands)},
                {"output_tensor_ids", std::move(results)},
                {"attributes", {{"args", std::move(args)}, {"kwargs", std::move(kwargs)}}}};
    if (!node.name.empty()) out["name"] = node.name;
    if (!node.bodies.empty()) {
      out["bodies"] = Json::array();
      for (const auto& body : node.bodies) out["bodies"].push_back(graph(*body, true));
    }
    return out;
  }

  using Key = std::tuple<const Storage*, int64_t, std::vector<int64_t>, std::vector<int64_t>, DType>;
  std::map<Key, std::string> stored_;
  std::set<std::string> names_;
  NamedTensors weights_;
};

}  // namespace

void write_nbx_json(const Graph& graph, const std::string& path) {
  const std::filesystem::path target(path);
  require(target.extension() == ".json", Code::value, "{}: an nbx graph is written to a file that ends in .json", path);
  Writer writer;
  std::string text;
  try {
    text = writer.graph(graph, false).dump(1);
  } catch (const Json::exception& error) {
    fail(Code::value, "{}: the graph holds text that is not UTF-8: {}", path, error.what());
  }
  // Weights first: a reader that finds the graph finds them, too.
  if (!writer.weights().empty())
    write_safetensors(std::filesystem::path(target).replace_extension(".safetensors").string(), writer.weights());
  write_file_atomically(path, text);
}

}  // namespace nbx
