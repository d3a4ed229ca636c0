// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "io/nbx_json.h"
#include "io/nbx_json_value.h"
#include "io/quote.h"
#include "io/safetensors.h"
#include "ops/registry.h"

namespace nbx {
namespace {

using Json = nlohmann::json;

int64_t parse_number(std::string_view text, const std::string& where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size() && value >= 0, Code::file,
          "{}: {} is no number >= 0", where, quote(text));
  return value;
}

class Reader {
 public:
  Reader(const FileBytes& file, std::string weights) : file_(file), weights_path_(std::move(weights)) {}

  Graph read() {
    const Json json = parse_json(file_);
    Graph g = graph(json, "graph");
    if (!unsupported_.empty()) fail(Code::unsupported, "{}: not supported: {}", file_->path(), unsupported_);
    try {
      verify(g, "import");
    } catch (const Error& error) {
      fail(Code::file, "{}: {}", file_->path(), error.what());
    }
    return g;
  }

 private:
  // One graph object, a body included: what its ids mean.
  struct Region {
    Graph g;
    const Json* tensors = nullptr;
    std::unordered_map<std::string, int> ids;
    std::unordered_set<std::string> names;
    bool has_symbols = false;
  };

  [[noreturn]] void bad(const std::string& where, const std::string& what) const {
    fail(Code::file, "{}: {}: {}", file_->path(), where, one_line(what));
  }
  std::string at(const std::string& where) const { return file_->path() + ": " + where; }
  const Json& need(const Json& object, const char* field, Json::value_t type, const std::string& where) const {
    if (!object.is_object()) bad(where, shown(object) + " is no object");
    const auto it = object.find(field);
    if (it == object.end()) bad(where, fmt::format("field '{}' is missing", field));
    if (it->type() != type) bad(where + "." + field, shown(*it) + " is of a wrong type");
    return *it;
  }
  std::string text(const Json& object, const char* field, const std::string& where,
                   std::optional<std::string> otherwise) const {
    const auto it = object.find(field);
    if (otherwise && (it == object.end() || it->is_null())) return *otherwise;
    return need(object, field, Json::value_t::string, where).get<std::string>();
  }
  static bool flag(const Json& object, const char* field) {
    const auto it = object.find(field);
    return it != object.end() && it->is_boolean() && it->get<bool>();
  }
  std::vector<std::string> texts(const Json& object, const char* field, const std::string& where) const {
    std::vector<std::string> out;
    for (const Json& element : need(object, field, Json::value_t::array, where)) {
      if (!element.is_string()) bad(where + "." + field, shown(element) + " is no text");
      out.push_back(element.get<std::string>());
    }
    return out;
  }
  Shape shape_of(const Json& object, const std::string& where) const {
    Shape out;
    for (const Json& extent : need(object, "shape", Json::value_t::array, where)) {
      if (!extent.is_number_integer()) bad(where + ".shape", shown(extent) + " is no integer");
      const Sym value = symbol_from_json(extent, at(where + ".shape"));
      out.push_back(value->value);
    }
    return out;
  }

  Graph graph(const Json& json, const std::string& where) {
    Region r;
    const std::string format = text(json, "format", where, "tensor_dag"), version = text(json, "version", where, "0.1");
    if (format != "tensor_dag") bad(where + ".format", quote(format) + ", not 'tensor_dag'");
    if (version != "0.1") bad(where + ".version", quote(version) + "; version '0.1' is supported");
    r.g.name = text(json, "component_name", where, "");
    r.g.source = text(json, "source", where, "nbx json");
    r.tensors = &need(json, "tensors", Json::value_t::object, where);
    const std::vector<std::string> inputs = texts(json, "input_tensor_ids", where),
                                   outputs = texts(json, "output_tensor_ids", where);
    if (const auto it = json.find("symbolic_context"); it != json.end() && it->is_object())
      r.has_symbols = it->contains("symbols") && !it->at("symbols").empty();
    for (const std::string& id : inputs) add_input(r, id, where);
    for (auto it = r.tensors->begin(); it != r.tensors->end(); ++it) add_constant(r, it.key(), it.value(), where);
    read_symbols(r, json, where);
    read_ops(r, json, where);
    std::unordered_set<int> listed;
    const bool is_body = where != "graph";
    for (const std::string& id : outputs) {
      const auto known = r.ids.find(id);
      if (known == r.ids.end()) bad(where + ".output_tensor_ids", quote(id) + " is made by no op");
      int tensor = known->second;
      const std::string output_name = text(record(r, id, where), "output_name", where, "");
      if (!is_body && unsupported_.empty())
        tensor = named_output(r, tensor, output_name, !listed.insert(tensor).second);
      r.g.outputs.push_back(tensor);
    }
    if (const auto it = json.find("metadata"); it != json.end()) {
      if (!it->is_array()) bad(where + ".metadata", "is no list");
      for (const Json& pair : *it) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
          bad(where + ".metadata", shown(pair) + " is no pair of texts");
        r.g.metadata.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
      }
    }
    return std::move(r.g);
  }

  // A result that is an input or a constant, or is given twice, needs a tensor of its own to carry another name.
  static int named_output(Region& r, int tensor, const std::string& name, bool again) {
    const GraphTensor& t = r.g.tensors[static_cast<size_t>(tensor)];
    if (name.empty() || name == t.name || (again && r.names.count(name))) return tensor;
    if (t.producer >= 0 && !again && r.names.insert(name).second) {
      r.g.tensors[static_cast<size_t>(tensor)].name = name;
      return tensor;
    }
    const TypeSpec type = t.type;
    const int alias = r.g.add_node(require_op("aten::alias"), {TensorRef{tensor}}).at(0);
    GraphTensor& made = r.g.tensors[static_cast<size_t>(alias)];
    made.type = type;
    if (r.names.insert(name).second) made.name = name;
    return alias;
  }

  const Json& record(const Region& r, const std::string& id, const std::string& where) const {
    const auto it = r.tensors->find(id);
    if (it == r.tensors->end()) bad(where, "tensor " + quote(id) + " is not in 'tensors'");
    if (!it->is_object()) bad(where + ".tensors", quote(id) + " is no object");
    return *it;
  }

  // The name of a new tensor: the wanted one, or the id, unless they are taken.
  static std::string unique(Region& r, const std::string& wanted, const std::string& id) {
    for (const std::string& name : {wanted, id})
      if (!name.empty() && r.names.insert(name).second) return name;
    return {};
  }

  static std::string bare(const std::string& id) {
    for (const char* prefix : {"input::", "param::", "buffer::"})
      if (id.rfind(prefix, 0) == 0) return id.substr(std::strlen(prefix));
    return id;
  }

  TypeSpec type_of(const Region& r, const Json& json, const std::string& where, bool is_input) const {
    TypeSpec spec;
    if (const std::string dtype = text(json, "dtype", where, ""); !dtype.empty())
      spec.dtype = parse_dtype_of(dtype, where);
    const bool has_shape = json.contains("shape") && json["shape"].is_array();
    const Json* dims = nullptr;
    if (const auto it = json.find("symbolic_shape"); it != json.end() && it->is_object())
      if (const auto list = it->find("dims"); list != it->end() && list->is_array()) dims = &*list;
    Shape traced;
    if (has_shape) traced = shape_of(json, where);
    // Extents of the trace are facts only where nothing in the graph is symbolic.
    if (!dims && has_shape && (is_input || !r.has_symbols)) {
      spec.dims.emplace();
      for (const int64_t extent : traced) spec.dims->push_back({extent, {}});
    }
    if (!dims) return check(spec, where);
    if (has_shape && dims->size() != traced.size())
      bad(where, fmt::format("symbolic_shape has {} dims, shape {}", dims->size(), traced.size()));
    spec.dims.emplace();
    for (size_t i = 0; i < dims->size(); ++i) {
      DimSpec d;
      if (!(*dims)[i].is_null()) {
        const Sym extent = symbol_from_json((*dims)[i], at(where + ".symbolic_shape"));
        // A symbol that contradicts the trace says nothing.
        const bool contradicts = has_shape && extent->trace != 0 && extent->trace != traced[i];
        if (contradicts) d.extent = traced[i];
        if (!contradicts && extent->kind == SymExpr::Kind::constant) d.extent = extent->value;
        if (!contradicts && extent->kind == SymExpr::Kind::symbol) d.symbol = extent->symbol;
      }
      spec.dims->push_back(std::move(d));
    }
    return check(spec, where);
  }

  TypeSpec check(TypeSpec spec, const std::string& where) const {
    if (!spec.dims) return spec;
    if (spec.dims->size() > static_cast<size_t>(kMaxRank))
      bad(where + ".shape", fmt::format("{} dims; at most {} are supported", spec.dims->size(), kMaxRank));
    Shape fixed;
    for (const DimSpec& d : *spec.dims) {
      if (d.extent < -1) bad(where + ".shape", fmt::format("extent {} is negative", d.extent));
      fixed.push_back(d.fixed() ? d.extent : 1);
    }
    claimed_bytes(at(where), fixed, spec.dtype.value_or(DType::uint8));
    return spec;
  }

  DType parse_dtype_of(const std::string& text, const std::string& where) const {
    try {
      return parse_dtype(text);
    } catch (const Error& error) {
      bad(where + ".dtype", error.what());
    }
  }

  void add_input(Region& r, const std::string& id, const std::string& where) {
    const Json& json = record(r, id, where);
    const std::string here = fmt::format("{}.tensors[{}]", where, quote(id));
    if (r.ids.count(id)) bad(where + ".input_tensor_ids", quote(id) + " is listed twice");
    std::string name = unique(r, text(json, "input_name", here, bare(id)), id);
    if (name.empty()) bad(here, "another tensor has its name");
    r.ids.emplace(id, r.g.add_input(std::move(name), type_of(r, json, here, true)));
  }

  void add_constant(Region& r, const std::string& id, const Json& json, const std::string& where) {
    if (r.ids.count(id)) return;
    const std::string here = fmt::format("{}.tensors[{}]", where, quote(id));
    if (!json.is_object()) bad(here, shown(json) + " is no object");
    const bool parameter = flag(json, "is_parameter") || id.rfind("param::", 0) == 0;
    const bool inside = flag(json, "constant") || json.contains("constant_data");
    if (!parameter && !inside && !json.contains("weight_name") && id.rfind("buffer::", 0) != 0) return;
    if (flag(json, "pretransposed")) bad(here, "is marked pretransposed; store the weight as it was traced");
    const Tensor value = inside ? embedded(json, here) : stored(json, text(json, "weight_name", here, bare(id)), here);
    const std::string name = unique(r, text(json, "name", here, text(json, "weight_name", here, bare(id))), id);
    r.ids.emplace(id, r.g.add_constant(value, name, parameter));
  }

  Tensor embedded(const Json& json, const std::string& where) const {
    const DType dtype = parse_dtype_of(need(json, "dtype", Json::value_t::string, where).get<std::string>(), where);
    const Shape shape = shape_of(json, where);
    const int64_t bytes = claimed_bytes(at(where), shape, dtype);
    const std::string& digits = need(json, "constant_data", Json::value_t::string, where).get_ref<const std::string&>();
    const auto data = from_base64(digits);
    if (!data) bad(where + ".constant_data", quote(digits, 40) + " is not base64");
    if (static_cast<int64_t>(data->size()) != bytes)
      bad(where + ".constant_data",
          fmt::format("{} bytes, shape {} of {} needs {}", data->size(), to_string(shape), name(dtype), bytes));
    Tensor out = Tensor::empty(shape, dtype);
    auto* to = static_cast<uint8_t*>(out.raw_mutable());
    for (size_t i = 0; i < data->size(); ++i)
      to[i] = dtype == DType::bool_ ? (*data)[i] != std::byte{0} : static_cast<uint8_t>((*data)[i]);
    return out;
  }

  // By exact name, else by the one longest common end of names.
  const Tensor& find_weight(const std::string& name, const std::string& where) {
    if (!weights_) {
      if (weights_path_.empty())
        bad(where, "its weight " + quote(name) + " is in no file; there is no safetensors file for this graph");
      weights_ = read_safetensors(weights_path_).tensors;
    }
    if (const Tensor* exact = weights_->find(name)) return *exact;
    const Tensor* best = nullptr;
    size_t longest = 0;
    bool ambiguous = false;
    const auto ends_with = [](std::string_view whole, std::string_view end) {
      return whole.size() > end.size() && whole.substr(whole.size() - end.size()) == end &&
             whole[whole.size() - end.size() - 1] == '.';
    };
    for (const auto& [other, tensor] : *weights_) {
      if (!ends_with(other, name) && !ends_with(name, other)) continue;
      const size_t common = std::min(other.size(), name.size());
      if (common < longest) continue;
      ambiguous = common == longest;
      longest = common;
      best = &tensor;
    }
    if (!best)
      bad(where, fmt::format("weight {} is not in {}, which has {}", quote(name), weights_path_, weights_->names(6)));
    if (ambiguous) bad(where, fmt::format("weight {} matches several names in {} equally", quote(name), weights_path_));
    return *best;
  }

  Tensor stored(const Json& json, const std::string& weight, const std::string& where) {
    Tensor value = find_weight(weight, where);
    if (json.contains("shape"))
      if (const Shape shape = shape_of(json, where); shape != value.shape())
        bad(where + ".shape",
            fmt::format("{}; the stored weight {} is {}", to_string(shape), quote(weight), describe(value)));
    const std::string wanted = text(json, "dtype", where, name(value.dtype()));
    const DType dtype = parse_dtype_of(wanted, where);
    if (dtype == value.dtype()) return value;
    if (!is_floating(dtype) || !is_floating(value.dtype()))
      bad(where + ".dtype", fmt::format("{}; the stored weight {} is {}", wanted, quote(weight), describe(value)));
    return value.to(dtype);
  }

  void read_symbols(Region& r, const Json& json, const std::string& where) {
    const auto context = json.find("symbolic_context");
    if (context == json.end() || context->is_null()) return;
    if (!context->is_object()) bad(where + ".symbolic_context", "is no object");
    const auto symbols = context->find("symbols");
    if (symbols == context->end()) return;
    if (!symbols->is_object()) bad(where + ".symbolic_context.symbols", "is no object");
    for (auto it = symbols->begin(); it != symbols->end(); ++it)
      r.g.symbols.emplace(it.key(), symbol(r, it.value(), fmt::format("{}.symbols[{}]", where, quote(it.key()))));
  }

  Symbol symbol(const Region& r, const Json& json, const std::string& where) const {
    if (!json.is_object()) bad(where, shown(json) + " is no object");
    Symbol s;
    s.name = text(json, "name", where, "");
    const auto number = [&](const Json& object, const char* field, int64_t otherwise) {
      const auto it = object.find(field);
      return it == object.end() || it->is_null() ? otherwise : symbol_from_json(*it, at(where + "." + field))->value;
    };
    s.trace = number(json, "trace_value", 0);
    if (const auto bounds = json.find("constraints"); bounds != json.end() && bounds->is_object()) {
      s.min = number(*bounds, "min", s.min);
      s.max = number(*bounds, "max", s.max);
    }
    const auto source = json.find("source");
    if (source == json.end() || source->is_null()) return s;
    std::string input;
    if (source->is_object()) {
      input = text(*source, "tensor_id", where + ".source", {});
      s.source = Symbol::Source::input_dim;
      s.index = number(*source, "dim", 0);
      const auto known = r.ids.find(input);
      const int id = known == r.ids.end() ? -1 : known->second;
      const auto place = std::find(r.g.inputs.begin(), r.g.inputs.end(), id);
      if (place == r.g.inputs.end()) bad(where + ".source", quote(input) + " is no input");
      s.input = static_cast<int>(place - r.g.inputs.begin());
      return checked(r, s, where);
    }
    const std::string whole = text(json, "source", where, {});
    const size_t split = whole.rfind("::");
    if (whole.rfind("input::", 0) != 0 || split < 7) bad(where + ".source", quote(whole) + " names no input");
    input = whole.substr(7, split - 7);
    std::string_view part = std::string_view(whole).substr(split + 2);
    const bool dim = part.substr(0, 4) == "dim_";
    if (!dim && part.substr(0, 4) != "val_") bad(where + ".source", quote(whole) + " ends in neither dim_N nor val_N");
    part.remove_prefix(4);
    if (const size_t fd = part.find("_fd"); !dim && fd != std::string_view::npos) {
      s.floordiv = parse_number(part.substr(fd + 3), at(where + ".source"));
      if (s.floordiv == 0) bad(where + ".source", quote(whole) + " divides by 0");
      part = part.substr(0, fd);
    }
    s.source = dim ? Symbol::Source::input_dim : Symbol::Source::input_value;
    s.index = parse_number(part, at(where + ".source"));
    s.input = r.g.find_input(input);
    if (s.input < 0) bad(where + ".source", quote(input) + " is no input");
    return checked(r, s, where);
  }

  Symbol checked(const Region& r, const Symbol& s, const std::string& where) const {
    const auto& dims = r.g.tensors[static_cast<size_t>(r.g.inputs[static_cast<size_t>(s.input)])].type.dims;
    if (s.source == Symbol::Source::input_dim && dims && (s.index < 0 || s.index >= static_cast<int64_t>(dims->size())))
      bad(where + ".source", fmt::format("dim {} of an input with {} dims", s.index, dims->size()));
    return s;
  }

  void read_ops(Region& r, const Json& json, const std::string& where) {
    const auto it = json.find("ops");
    if (it == json.end()) bad(where, "field 'ops' is missing");
    if (!it->is_object() && !it->is_array()) bad(where + ".ops", "is neither an object nor a list");
    std::unordered_map<std::string, const Json*> ops;
    if (it->is_object())
      for (auto op = it->begin(); op != it->end(); ++op) ops.emplace(op.key(), &op.value());
    else
      for (const Json& op : *it)
        if (const std::string uid = text(op, "op_uid", where + ".ops", {}); !ops.emplace(uid, &op).second)
          bad(where + ".ops", quote(uid) + " is listed twice");
    std::unordered_set<std::string> done;
    for (const std::string& uid : texts(json, "execution_order", where)) {
      const auto op = ops.find(uid);
      if (op == ops.end()) bad(where + ".execution_order", quote(uid) + " is not in 'ops'");
      if (!done.insert(uid).second) bad(where + ".execution_order", quote(uid) + " is listed twice");
      read_op(r, *op->second, uid, fmt::format("{}.ops[{}]", where, quote(uid)));
    }
  }

  void read_op(Region& r, const Json& json, const std::string& uid, const std::string& where) {
    const std::string type = need(json, "op_type", Json::value_t::string, where).get<std::string>();
    const std::vector<std::string> results = texts(json, "output_tensor_ids", where);
    const OpDecl* op = find_op(type);
    if (!op) {
      unsupported_ += fmt::format("{}{} ({})", unsupported_.empty() ? "" : ", ", quote(type), quote(uid));
      for (const std::string& id : results) define(r, id, r.g.add_tensor(), where);
      return;
    }
    // An id of 'tensors' that no op has made yet is an error here: the order is wrong, or there is a cycle.
    const FindTensor find = [&](const std::string& id) -> std::optional<int> {
      const auto known = r.ids.find(id);
      if (known != r.ids.end()) return known->second;
      if (r.tensors->contains(id)) bad(where, "reads " + quote(id) + " before it is made");
      return std::nullopt;
    };
    const Json& attributes = need(json, "attributes", Json::value_t::object, where);
    std::vector<Value> args;
    std::vector<std::pair<std::string, Value>> kwargs;
    if (const auto list = attributes.find("args"); list != attributes.end()) {
      if (!list->is_array()) bad(where + ".attributes.args", "is no list");
      for (size_t i = 0; i < list->size(); ++i)
        args.push_back(value_from_json((*list)[i], find, at(fmt::format("{}.args[{}]", where, i))));
    }
    if (const auto map = attributes.find("kwargs"); map != attributes.end()) {
      if (!map->is_object()) bad(where + ".attributes.kwargs", "is no object");
      for (auto it = map->begin(); it != map->end(); ++it) {
        Value value = value_from_json(it.value(), find, at(fmt::format("{}.kwargs[{}]", where, quote(it.key()))));
        // Where a tensor lives and how it lies is ours to decide.
        const bool placement = it.key() == "device" || it.key() == "layout" || it.key() == "memory_format" ||
                               it.key() == "pin_memory" || it.key() == "non_blocking";
        if (placement && op->parsed.find(it.key()) < 0) continue;
        kwargs.emplace_back(it.key(), std::move(value));
      }
    }
    std::vector<std::shared_ptr<const Graph>> bodies;
    if (const auto list = json.find("bodies"); list != json.end()) {
      if (!list->is_array()) bad(where + ".bodies", "is no list");
      for (size_t i = 0; i < list->size(); ++i)
        bodies.push_back(std::make_shared<const Graph>(graph((*list)[i], fmt::format("{}.bodies[{}]", where, i))));
    }
    check_bodies(*op, bodies, where);
    std::vector<int> made;
    try {
      made = r.g.add_node(*op, std::move(args), std::move(kwargs), static_cast<int>(results.size()),
                          text(json, "name", where, uid));
    } catch (const Error& error) {
      bad(where, error.what());
    }
    r.g.nodes.back().bodies = std::move(bodies);
    check_counts(r.g.nodes.back(), results.size(), where);
    if (results.size() > made.size())
      bad(where, fmt::format("has {} outputs, {} gives {}", results.size(), type, made.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      define(r, results[i], made[i], where);
      describe_result(r, results[i], made[i], where);
    }
  }

  void check_bodies(const OpDecl& op, const std::vector<std::shared_ptr<const Graph>>& bodies,
                    const std::string& where) const {
    const size_t wanted = !op.has(kControl) ? 0 : op.parsed.name == "if" ? 2 : 1;
    if (bodies.size() != wanted)
      bad(where + ".bodies", fmt::format("{} bodies, {} has {}", bodies.size(), op.parsed.full_name(), wanted));
    if (wanted == 2 && bodies[0]->outputs.size() != bodies[1]->outputs.size())
      bad(where + ".bodies", fmt::format("{} and {} outputs; both branches give the same", bodies[0]->outputs.size(),
                                         bodies[1]->outputs.size()));
  }

  // What If, Loop and Scan hand to their bodies and take from them.
  void check_counts(const Node& node, size_t results, const std::string& where) const {
    if (node.bodies.empty()) return;
    const std::string& kind = node.op->parsed.name;
    size_t inputs = kind == "loop" ? 2 : 0, states = 0;
    for (size_t i = 0; i < node.values.size(); ++i) {
      const auto* list = std::get_if<TensorRefs>(&node.values[i]);
      if (list) inputs += list->size();
      if (list && node.op->parsed.params[i].name == "state") states = list->size();
    }
    const size_t skipped = kind == "loop" ? 1 : 0;
    for (const auto& body : node.bodies) {
      if (body->inputs.size() != inputs)
        bad(where + ".bodies", fmt::format("a body has {} inputs, it is given {}", body->inputs.size(), inputs));
      if (body->outputs.size() < states + skipped || body->outputs.size() != results + skipped)
        bad(where + ".bodies",
            fmt::format("a body has {} outputs, the op {} and {} states", body->outputs.size(), results, states));
    }
  }

  void describe_result(Region& r, const std::string& id, int tensor, const std::string& where) {
    const auto it = r.tensors->find(id);
    if (it == r.tensors->end() || !it->is_object()) return;
    GraphTensor& t = r.g.tensors[static_cast<size_t>(tensor)];
    const std::string here = fmt::format("{}.tensors[{}]", where, quote(id));
    const std::string name = unique(r, text(*it, "name", here, ""), id);
    if (!name.empty()) t.name = name;
    t.type = type_of(r, *it, here, false);
  }

  void define(Region& r, const std::string& id, int tensor, const std::string& where) const {
    if (!r.ids.emplace(id, tensor).second) bad(where + ".output_tensor_ids", quote(id) + " is defined already");
  }

  FileBytes file_;
  std::string weights_path_;
  std::optional<NamedTensors> weights_;
  std::string unsupported_;
};

}  // namespace

Graph parse_nbx_json(const FileBytes& file, const std::string& weights) { return Reader(file, weights).read(); }

Graph read_nbx_json(const std::string& path) {
  const std::filesystem::path weights = std::filesystem::path(path).replace_extension(".safetensors");
  std::error_code error;
  return parse_nbx_json(MappedFile::open(path),
                        std::filesystem::exists(weights, error) ? weights.string() : std::string());
}

}  // namespace nbx
