// SPDX-License-Identifier: Apache-2.0
// One node through its op's import function.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "io/onnx_importer.h"
#include "io/quote.h"
#include "ops/registry.h"

namespace nbx {
namespace {

using onnx::AttributeProto;

AttributeProto::AttributeType type_of(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type();
  // Files of early ir versions do not say.
  if (a.has_f()) return AttributeProto::FLOAT;
  if (a.has_i()) return AttributeProto::INT;
  if (a.has_s()) return AttributeProto::STRING;
  if (a.has_t()) return AttributeProto::TENSOR;
  if (a.has_g()) return AttributeProto::GRAPH;
  if (a.floats_size() > 0) return AttributeProto::FLOATS;
  if (a.ints_size() > 0) return AttributeProto::INTS;
  if (a.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

class NodeImport final : public Importing {
 public:
  NodeImport(OnnxImporter& importer, OnnxScope& scope, const onnx::NodeProto& proto, const OnnxAttributes& attributes,
             int opset, const std::string& label)
      : importer_(importer), scope_(scope), proto_(proto), attributes_(attributes), opset_(opset), label_(label) {
    for (const std::string& name : proto.input()) {
      inputs_.push_back(TensorRef{name.empty() ? -1 : importer.resolve(scope, name)});
      dtypes_.push_back(inputs_.back().defined() ? scope.tensor(inputs_.back().id).type.dtype : std::nullopt);
    }
  }

  const std::string& op_type() const override { return proto_.op_type(); }
  const std::string& node_name() const override { return label_; }
  int opset() const override { return opset_; }

  bool has(const std::string& attribute) const override {
    asked_.insert(attribute);
    return attributes_.count(attribute) > 0;
  }
  int64_t integer(const std::string& attribute, std::optional<int64_t> fallback) const override {
    const AttributeProto* a = get(attribute, AttributeProto::INT, fallback.has_value());
    return a ? a->i() : *fallback;
  }
  double number(const std::string& attribute, std::optional<double> fallback) const override {
    const AttributeProto* a = get(attribute, AttributeProto::FLOAT, fallback.has_value());
    return a ? static_cast<double>(a->f()) : *fallback;
  }
  std::string text(const std::string& attribute, std::optional<std::string> fallback) const override {
    const AttributeProto* a = get(attribute, AttributeProto::STRING, fallback.has_value());
    return a ? a->s() : *fallback;
  }
  Ints ints(const std::string& attribute, std::optional<Ints> fallback) const override {
    const AttributeProto* a = get(attribute, AttributeProto::INTS, fallback.has_value());
    return a ? Ints(a->ints().begin(), a->ints().end()) : *fallback;
  }
  Doubles numbers(const std::string& attribute, std::optional<Doubles> fallback) const override {
    const AttributeProto* a = get(attribute, AttributeProto::FLOATS, fallback.has_value());
    return a ? Doubles(a->floats().begin(), a->floats().end()) : *fallback;
  }
  std::vector<std::string> texts(const std::string& attribute) const override {
    const AttributeProto* a = get(attribute, AttributeProto::STRINGS, true);
    return a ? std::vector<std::string>(a->strings().begin(), a->strings().end()) : std::vector<std::string>();
  }
  Tensor tensor(const std::string& attribute) const override {
    const AttributeProto* a = get(attribute, AttributeProto::TENSOR, false);
    const std::string what = fmt::format("node {} attribute '{}'", quote(label_), attribute);
    Tensor value = importer_.tensor(a->t(), what);
    // Recorded by the importer under the dtype's own heading.
    if (!value.defined()) throw OnnxUnsupported{"its attribute '" + attribute + "'"};
    return value;
  }

  int inputs() const override { return static_cast<int>(inputs_.size()); }
  TensorRef input(int i) const override {
    return i >= 0 && i < inputs() ? inputs_[static_cast<size_t>(i)] : TensorRef{};
  }
  int outputs() const override { return proto_.output_size(); }
  bool wants_output(int i) const override { return i >= 0 && i < outputs() && !proto_.output(i).empty(); }
  const Tensor* constant(TensorRef tensor) const override { return importer_.constant(*scope_.graph, tensor.id); }
  std::optional<DType> dtype(TensorRef tensor) const override {
    return tensor.defined() ? scope_.tensor(tensor.id).type.dtype : std::nullopt;
  }

  std::vector<TensorRef> emit_all(const std::string& op, std::vector<Value> args,
                                  std::vector<std::pair<std::string, Value>> keywords) override {
    const OpDecl& decl = require_op(op);
    // Random nodes are numbered through the file: each has a stream of its own.
    if (decl.has(kRandom) && decl.parsed.find("draw") >= 0) keywords.emplace_back("draw", importer_.next_draw());
    const std::vector<int> ids = scope_.graph->add_node(decl, std::move(args), std::move(keywords), outputs(), label_);
    infer(scope_.graph->nodes.back());
    std::vector<TensorRef> out;
    for (const int id : ids) out.push_back(TensorRef{id});
    return out;
  }
  TensorRef constant_tensor(const Tensor& value) override { return TensorRef{scope_.graph->add_constant(value)}; }
  void output(int i, TensorRef tensor) override {
    require(tensor.defined(), Code::internal, "nbx defect: the import of {} gives no tensor for output {}", op_type(),
            i);
    if (!wants_output(i)) return;
    std::optional<DType>& dtype = scope_.tensor(tensor.id).type.dtype;
    if (!dtype) dtype = onnx_result_dtype(proto_, attributes_, dtypes_, i);
    bind_onnx_output(importer_, scope_, proto_, i, tensor.id);
  }
  void unsupported(const std::string& what) override { throw OnnxUnsupported{what}; }

  // An attribute that nobody asked for would have been ignored.
  void check_attributes() const {
    for (const auto& [name, attribute] : attributes_)
      if (!asked_.count(name)) throw OnnxUnsupported{"attribute " + quote(name)};
  }

  // A cast of a constant is a constant for whoever asks for values while importing; folding it is a pass's work.
  void note_constant() const {
    if (op_type() != "Cast" || !wants_output(0)) return;
    const Tensor* value = constant(input(0));
    const auto to = attributes_.find("to");
    if (!value || value->nbytes() > 4096 || to == attributes_.end()) return;
    const auto dtype = dtype_of_onnx(static_cast<int>(to->second->i()));
    const auto made = scope_.names.find(proto_.output(0));
    if (!dtype || itemsize(*dtype) == 1 || made == scope_.names.end()) return;
    importer_.set_constant(*scope_.graph, made->second, value->to(*dtype));
  }

 private:
  const AttributeProto* get(const std::string& name, AttributeProto::AttributeType type, bool optional) const {
    asked_.insert(name);
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) {
      require(optional, Code::file, "attribute '{}' is missing", name);
      return nullptr;
    }
    const AttributeProto::AttributeType given = type_of(*found->second);
    require(given == type || (given == AttributeProto::UNDEFINED && optional), Code::file,
            "attribute '{}' is of type {}, not {}", name, AttributeProto::AttributeType_Name(given),
            AttributeProto::AttributeType_Name(type));
    return given == type ? found->second : nullptr;
  }

  // Types of the results where the operands' are certain: what dtype() answers, and what bodies hand on.
  void infer(const Node& node) const {
    if (node.op->has(kControl)) return;
    for (const Value& value : node.values)
      if (std::holds_alternative<FromTensor>(value)) return;
    for (const int id : reads(node)) {
      const GraphTensor& t = scope_.tensor(id);
      if (!t.type.dtype || !t.type.dims) return;
      if (!std::all_of(t.type.dims->begin(), t.type.dims->end(), [](const DimSpec& d) { return d.fixed(); })) return;
      if (node.op->has(kDynamic) && !constant(TensorRef{id})) return;
    }
    const auto meta = [&](TensorRef ref) {
      const TypeSpec& type = scope_.tensor(ref.id).type;
      Shape shape;
      for (const DimSpec& d : *type.dims) shape.push_back(d.extent);
      Meta m(*type.dtype, shape);
      if (const Tensor* value = constant(ref)) m.known = *value;
      return m;
    };
    Metas results;
    try {
      results = node.op->infer(build_args(node.op->parsed, node.values, meta));
    } catch (const Error&) {
      return;  // said again, and better, when the graph is made ready for a run
    }
    for (size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) {
      TypeSpec& type = scope_.tensor(node.outputs[i]).type;
      type.dtype = results[i].dtype;
      type.dims.emplace();
      for (const int64_t extent : results[i].shape) type.dims->push_back({extent, {}});
    }
  }

  OnnxImporter& importer_;
  OnnxScope& scope_;
  const onnx::NodeProto& proto_;
  const OnnxAttributes& attributes_;
  int opset_;
  const std::string& label_;
  std::vector<TensorRef> inputs_;
  std::vector<std::optional<DType>> dtypes_;
  mutable std::set<std::string> asked_;
};

}  // namespace

OnnxAttributes onnx_attributes(const OnnxScope& scope, const onnx::NodeProto& proto, const std::string& where) {
  OnnxAttributes out;
  for (const AttributeProto& attribute : proto.attribute()) {
    const AttributeProto* value = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      require(scope.arguments, Code::file, "{}: attribute {} refers to attribute {} of a function, but is in none",
              where, quote(attribute.name()), quote(attribute.ref_attr_name()));
      const auto argument = scope.arguments->find(attribute.ref_attr_name());
      if (argument == scope.arguments->end()) continue;  // not given by the call: absent here, too
      value = argument->second;
    }
    require(!attribute.name().empty() && out.emplace(attribute.name(), value).second, Code::file,
            "{}: attribute {} is given twice or has no name", where, quote(attribute.name()));
  }
  return out;
}

void bind_onnx_output(OnnxImporter& importer, OnnxScope& scope, const onnx::NodeProto& proto, int index, int tensor) {
  const std::string& name = proto.output(index);
  importer.define(scope, name, tensor, "a node of type " + proto.op_type());
  GraphTensor& t = scope.tensor(tensor);
  if (!t.type.dtype) {
    const auto declared = scope.declared.find(name);
    if (declared != scope.declared.end()) t.type.dtype = declared->second;
  }
  if (scope.taken->named.count(tensor)) return;
  const std::string full = scope.outer ? name : scope.prefix + name;  // a body has a graph of its own
  if (!scope.taken->used.insert(full).second) return;
  t.name = full;
  scope.taken->named.insert(tensor);
}

void import_onnx_node(OnnxImporter& importer, OnnxScope& scope, const onnx::NodeProto& proto,
                      const OnnxAttributes& attributes, const OnnxImport& import, int opset, const std::string& label) {
  NodeImport node(importer, scope, proto, attributes, opset, label);
  import.import(node);
  for (int i = 0; i < proto.output_size(); ++i)
    require(proto.output(i).empty() || scope.names.count(proto.output(i)), Code::unsupported, "output {} ({})", i,
            quote(proto.output(i)));
  node.check_attributes();
  node.note_constant();
}

std::optional<DType> onnx_result_dtype(const onnx::NodeProto& proto, const OnnxAttributes& attributes,
                                       const std::vector<std::optional<DType>>& inputs, int index) {
  const std::string& op = proto.op_type();
  const auto one_of = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return op == name; });
  };
  const auto of_input = [&](size_t i) { return i < inputs.size() ? inputs[i] : std::nullopt; };
  const auto of_attribute = [&](const char* name, std::optional<DType> otherwise) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? otherwise : dtype_of_onnx(static_cast<int>(found->second->i()));
  };
  if (!onnx_domain(proto.domain()).empty()) return {};
  if (one_of({"Shape", "Size", "NonZero", "ArgMax", "ArgMin"})) return DType::int64;
  if (one_of(
          {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf"}))
    return DType::bool_;
  if (one_of({"Cast"})) return of_attribute("to", {});
  if (one_of({"CastLike", "Where"})) return of_input(1);
  if (one_of({"OneHot"})) return of_input(2);
  if (one_of({"ConvInteger", "MatMulInteger"})) return DType::int32;
  if (one_of({"RandomNormal", "RandomUniform"})) return of_attribute("dtype", DType::float32);
  if (one_of({"RandomNormalLike", "RandomUniformLike", "EyeLike", "Bernoulli"}))
    return of_attribute("dtype", of_input(0));
  if (one_of({"ConstantOfShape"})) {
    const auto value = attributes.find("value");
    return value == attributes.end() ? DType::float32 : dtype_of_onnx(value->second->t().data_type());
  }
  if (one_of({"TopK", "Unique", "MaxPool"}) && index > 0) return DType::int64;
  if (one_of({"Dropout"}) && index == 1) return DType::bool_;
  if (one_of({"DequantizeLinear"})) return of_input(1);
  if (one_of({"QuantizeLinear"})) return inputs.size() > 2 ? of_input(2) : DType::uint8;
  if (one_of({"DynamicQuantizeLinear"})) return index == 1 ? DType::float32 : DType::uint8;
  if (one_of({"QLinearMatMul", "QLinearConv"})) return of_input(7);
  if (one_of({"Multinomial", "BlackmanWindow", "HannWindow", "HammingWindow", "MelWeightMatrix", "StringNormalizer"}))
    return {};
  // Most operators keep the dtype of their first operand.
  return of_input(0);
}

}  // namespace nbx
