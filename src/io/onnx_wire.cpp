// SPDX-License-Identifier: Apache-2.0
#include "io/onnx_wire.h"

#include <onnx-ml.pb.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/lazy_text.h"

namespace nbx {
namespace {

enum class Kind : uint8_t {
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse,
  value_info,
  type,
  tensor_type,
  shape,
  dim,
  function,
  pair,
  opset,
  keep,    // copied as it is: numbers, strings
  opaque,  // a message copied as it is; short ones only
};

struct Rule {
  int field;
  Kind kind;
  const char* name;
};

// What is read, by message. A field that is not here is dropped. `bytes`: about what the parsed message costs.
struct Rules {
  const Rule* begin;
  size_t count;
  int64_t bytes;
};

#define NBX_FIELD(message, field) onnx::message::k##field##FieldNumber
constexpr Rule kModel[] = {
    {NBX_FIELD(ModelProto, IrVersion), Kind::keep, "ir_version"},
    {NBX_FIELD(ModelProto, OpsetImport), Kind::opset, "opset_import"},
    {NBX_FIELD(ModelProto, ProducerName), Kind::keep, "producer_name"},
    {NBX_FIELD(ModelProto, Graph), Kind::graph, "graph"},
    {NBX_FIELD(ModelProto, MetadataProps), Kind::pair, "metadata_props"},
    {NBX_FIELD(ModelProto, Functions), Kind::function, "functions"},
};
constexpr Rule kGraph[] = {
    {NBX_FIELD(GraphProto, Node), Kind::node, "node"},
    {NBX_FIELD(GraphProto, Name), Kind::keep, "name"},
    {NBX_FIELD(GraphProto, Initializer), Kind::tensor, "initializer"},
    {NBX_FIELD(GraphProto, SparseInitializer), Kind::sparse, "sparse_initializer"},
    {NBX_FIELD(GraphProto, Input), Kind::value_info, "input"},
    {NBX_FIELD(GraphProto, Output), Kind::value_info, "output"},
    {NBX_FIELD(GraphProto, ValueInfo), Kind::value_info, "value_info"},
};
constexpr Rule kNode[] = {
    {NBX_FIELD(NodeProto, Input), Kind::keep, "input"},
    {NBX_FIELD(NodeProto, Output), Kind::keep, "output"},
    {NBX_FIELD(NodeProto, Name), Kind::keep, "name"},
    {NBX_FIELD(NodeProto, OpType), Kind::keep, "op_type"},
    {NBX_FIELD(NodeProto, Domain), Kind::keep, "domain"},
    {NBX_FIELD(NodeProto, Overload), Kind::keep, "overload"},
    {NBX_FIELD(NodeProto, Attribute), Kind::attribute, "attribute"},
};
constexpr Rule kAttribute[] = {
    {NBX_FIELD(AttributeProto, Name), Kind::keep, "name"},
    {NBX_FIELD(AttributeProto, RefAttrName), Kind::keep, "ref_attr_name"},
    {NBX_FIELD(AttributeProto, Type), Kind::keep, "type"},
    {NBX_FIELD(AttributeProto, F), Kind::keep, "f"},
    {NBX_FIELD(AttributeProto, I), Kind::keep, "i"},
    {NBX_FIELD(AttributeProto, S), Kind::keep, "s"},
    {NBX_FIELD(AttributeProto, T), Kind::tensor, "t"},
    {NBX_FIELD(AttributeProto, G), Kind::graph, "g"},
    {NBX_FIELD(AttributeProto, SparseTensor), Kind::sparse, "sparse_tensor"},
    {NBX_FIELD(AttributeProto, Tp), Kind::opaque, "tp"},
    {NBX_FIELD(AttributeProto, Floats), Kind::keep, "floats"},
    {NBX_FIELD(AttributeProto, Ints), Kind::keep, "ints"},
    {NBX_FIELD(AttributeProto, Strings), Kind::keep, "strings"},
    {NBX_FIELD(AttributeProto, Tensors), Kind::tensor, "tensors"},
    {NBX_FIELD(AttributeProto, Graphs), Kind::graph, "graphs"},
};
constexpr Rule kTensor[] = {
    {NBX_FIELD(TensorProto, Dims), Kind::keep, "dims"},
    {NBX_FIELD(TensorProto, DataType), Kind::keep, "data_type"},
    {NBX_FIELD(TensorProto, FloatData), Kind::keep, "float_data"},
    {NBX_FIELD(TensorProto, Int32Data), Kind::keep, "int32_data"},
    {NBX_FIELD(TensorProto, StringData), Kind::keep, "string_data"},
    {NBX_FIELD(TensorProto, Int64Data), Kind::keep, "int64_data"},
    {NBX_FIELD(TensorProto, Name), Kind::keep, "name"},
    {NBX_FIELD(TensorProto, RawData), Kind::keep, "raw_data"},
    {NBX_FIELD(TensorProto, ExternalData), Kind::pair, "external_data"},
    {NBX_FIELD(TensorProto, DataLocation), Kind::keep, "data_location"},
    {NBX_FIELD(TensorProto, DoubleData), Kind::keep, "double_data"},
    {NBX_FIELD(TensorProto, Uint64Data), Kind::keep, "uint64_data"},
};
constexpr Rule kSparse[] = {
    {NBX_FIELD(SparseTensorProto, Values), Kind::tensor, "values"},
    {NBX_FIELD(SparseTensorProto, Indices), Kind::tensor, "indices"},
    {NBX_FIELD(SparseTensorProto, Dims), Kind::keep, "dims"},
};
constexpr Rule kValueInfo[] = {
    {NBX_FIELD(ValueInfoProto, Name), Kind::keep, "name"},
    {NBX_FIELD(ValueInfoProto, Type), Kind::type, "type"},
};
constexpr Rule kType[] = {
    {NBX_FIELD(TypeProto, TensorType), Kind::tensor_type, "tensor_type"},
    {NBX_FIELD(TypeProto, SequenceType), Kind::opaque, "sequence_type"},
    {NBX_FIELD(TypeProto, MapType), Kind::opaque, "map_type"},
    {NBX_FIELD(TypeProto, OptionalType), Kind::opaque, "optional_type"},
    {NBX_FIELD(TypeProto, SparseTensorType), Kind::tensor_type, "sparse_tensor_type"},
    {NBX_FIELD(TypeProto, OpaqueType), Kind::opaque, "opaque_type"},
};
constexpr Rule kTensorType[] = {
    {NBX_FIELD(TypeProto_Tensor, ElemType), Kind::keep, "elem_type"},
    {NBX_FIELD(TypeProto_Tensor, Shape), Kind::shape, "shape"},
};
constexpr Rule kShape[] = {{NBX_FIELD(TensorShapeProto, Dim), Kind::dim, "dim"}};
constexpr Rule kDim[] = {
    {NBX_FIELD(TensorShapeProto_Dimension, DimValue), Kind::keep, "dim_value"},
    {NBX_FIELD(TensorShapeProto_Dimension, DimParam), Kind::keep, "dim_param"},
};
constexpr Rule kFunction[] = {
    {NBX_FIELD(FunctionProto, Name), Kind::keep, "name"},
    {NBX_FIELD(FunctionProto, Input), Kind::keep, "input"},
    {NBX_FIELD(FunctionProto, Output), Kind::keep, "output"},
    {NBX_FIELD(FunctionProto, Attribute), Kind::keep, "attribute"},
    {NBX_FIELD(FunctionProto, AttributeProto), Kind::attribute, "attribute_proto"},
    {NBX_FIELD(FunctionProto, Node), Kind::node, "node"},
    {NBX_FIELD(FunctionProto, OpsetImport), Kind::opset, "opset_import"},
    {NBX_FIELD(FunctionProto, Domain), Kind::keep, "domain"},
    {NBX_FIELD(FunctionProto, Overload), Kind::keep, "overload"},
};
constexpr Rule kPair[] = {
    {NBX_FIELD(StringStringEntryProto, Key), Kind::keep, "key"},
    {NBX_FIELD(StringStringEntryProto, Value), Kind::keep, "value"},
};
constexpr Rule kOpset[] = {
    {NBX_FIELD(OperatorSetIdProto, Domain), Kind::keep, "domain"},
    {NBX_FIELD(OperatorSetIdProto, Version), Kind::keep, "version"},
};
#undef NBX_FIELD

template <size_t n>
constexpr Rules rules(const Rule (&list)[n], int64_t bytes) {
  return {list, n, bytes};
}

Rules rules_of(Kind kind) {
  switch (kind) {
    case Kind::model:
      return rules(kModel, sizeof(onnx::ModelProto));
    case Kind::graph:
      return rules(kGraph, sizeof(onnx::GraphProto) + 300);  // a Graph and a name table follow from it
    case Kind::node:
      return rules(kNode, sizeof(onnx::NodeProto) + 300);  // and a Node
    case Kind::attribute:
      return rules(kAttribute, sizeof(onnx::AttributeProto) + 40);
    case Kind::tensor:
      return rules(kTensor, sizeof(onnx::TensorProto) + 300);  // and a GraphTensor with its storage
    case Kind::sparse:
      return rules(kSparse, sizeof(onnx::SparseTensorProto) + 40);
    case Kind::value_info:
      return rules(kValueInfo, sizeof(onnx::ValueInfoProto) + 200);
    case Kind::type:
      return rules(kType, sizeof(onnx::TypeProto));
    case Kind::tensor_type:
      return rules(kTensorType, sizeof(onnx::TypeProto_Tensor));
    case Kind::shape:
      return rules(kShape, sizeof(onnx::TensorShapeProto));
    case Kind::dim:
      return rules(kDim, sizeof(onnx::TensorShapeProto_Dimension) + 48);
    case Kind::function:
      return rules(kFunction, sizeof(onnx::FunctionProto) + 100);
    case Kind::pair:
      return rules(kPair, sizeof(onnx::StringStringEntryProto) + 40);
    case Kind::opset:
      return rules(kOpset, sizeof(onnx::OperatorSetIdProto));
    case Kind::keep:
    case Kind::opaque:
      break;
  }
  return {nullptr, 0, 0};
}

constexpr int kMaxDepth = 64;                     // messages inside messages; a body of If is 3 levels
constexpr int64_t kMaxCost = int64_t{120} << 20;  // of the parsed form without weights: about 100,000 nodes
constexpr int64_t kMaxOpaque = 4096;

// Number of bytes of the varint at the start, 0 when there is none.
size_t read_varint(const std::byte* at, size_t left, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < left && i < 10; ++i) {
    const auto byte = static_cast<uint64_t>(at[i]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) return i + 1;
  }
  return 0;
}

void write_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

class Walk {
 public:
  Walk(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  void message(Kind kind, size_t begin, size_t end, std::string& out) {
    const Rules known = rules_of(kind);
    require(path_.size() < kMaxDepth, Code::file, "{}: {}: nested more than {} levels deep", name_, path(), kMaxDepth);
    spend(known.bytes);
    if (kind == Kind::tensor) return tensor(known, begin, end, out);
    std::vector<int> seen(known.count, 0);
    for (size_t at = begin; at < end;) {
      const Field field = next(at, end);
      const int r = find(known, field.number);
      if (r < 0) continue;
      path_.push_back({known.begin[r].name, seen[static_cast<size_t>(r)]++});
      copy(known.begin[r].kind, field, out);
      path_.pop_back();
    }
  }

 private:
  struct Field {
    int number = 0;
    int wire = 0;
    size_t begin = 0;    // with its tag
    size_t payload = 0;  // of a length-delimited one
    size_t end = 0;
  };
  struct Step {
    const char* field;
    int index;
  };

  static int find(const Rules& known, int number) {
    for (size_t i = 0; i < known.count; ++i)
      if (known.begin[i].field == number) return static_cast<int>(i);
    return -1;
  }

  // Where the walk is, as text: made when a message needs it, which is almost never.
  struct PathText {
    const Walk* walk;
    std::string operator()() const { return walk->path_text(); }
  };
  LazyText<PathText> path() const { return {{this}}; }
  std::string path_text() const {
    if (path_.empty()) return "model";
    std::string text;
    for (const Step& step : path_) text += fmt::format("{}{}[{}]", text.empty() ? "" : ".", step.field, step.index);
    return text;
  }

  void spend(int64_t bytes) {
    cost_ += bytes;
    require(cost_ <= kMaxCost, Code::file, "{}: {}: the graph needs more than {} MB without its weights", name_, path(),
            kMaxCost >> 20);
  }

  Field next(size_t& at, size_t end) {
    Field field;
    field.begin = at;
    uint64_t tag = 0;
    const size_t tag_bytes = read_varint(bytes_.data() + at, end - at, tag);
    require(tag_bytes > 0 && (tag >> 3) > 0 && (tag >> 3) < (1u << 29), Code::file,
            "{}: {}: no field tag at byte {}; this is no ONNX file, or it is damaged", name_, path(), at);
    at += tag_bytes;
    field.number = static_cast<int>(tag >> 3);
    field.wire = static_cast<int>(tag & 7);
    uint64_t length = 0;
    if (field.wire == 0) {
      length = read_varint(bytes_.data() + at, end - at, length);
      require(length > 0, Code::file, "{}: {}: field {} has no number at byte {}; the file is cut off or damaged",
              name_, path(), field.number, at);
      length = read_varint(bytes_.data() + at, end - at, tag);
    } else if (field.wire == 1) {
      length = 8;
    } else if (field.wire == 5) {
      length = 4;
    } else {
      require(field.wire == 2, Code::file,
              "{}: {}: field {} has wire type {} at byte {}; this is no ONNX file, or it is damaged", name_, path(),
              field.number, field.wire, at);
      const size_t used = read_varint(bytes_.data() + at, end - at, length);
      require(used > 0, Code::file, "{}: {}: field {} has no length at byte {}; the file is cut off or damaged", name_,
              path(), field.number, at);
      at += used;
      field.payload = at;
    }
    require(length <= end - at, Code::file,
            "{}: {}: field {} at byte {} claims {} bytes, {} are left; the file is cut off or damaged", name_, path(),
            field.number, field.begin, length, end - at);
    at += static_cast<size_t>(length);
    field.end = at;
    return field;
  }

  void append(const Field& field, std::string& out) {
    out.append(reinterpret_cast<const char*>(bytes_.data()) + field.begin, field.end - field.begin);
  }

  void copy(Kind kind, const Field& field, std::string& out) {
    if (kind == Kind::keep) {
      // A packed list of one-byte varints grows eightfold when parsed; a string costs its object.
      spend(field.wire == 2 ? 40 + 8 * static_cast<int64_t>(field.end - field.payload) : 8);
      return append(field, out);
    }
    require(field.wire == 2, Code::file, "{}: {}: is no message (wire type {}) at byte {}; the file is damaged", name_,
            path(), field.wire, field.begin);
    if (kind == Kind::opaque) {
      const auto length = static_cast<int64_t>(field.end - field.payload);
      require(length <= kMaxOpaque, Code::file, "{}: {}: a type of {} bytes; at most {} are read", name_, path(),
              length, kMaxOpaque);
      spend(64 * length);
      return append(field, out);
    }
    std::string inner;
    message(kind, field.payload, field.end, inner);
    write_varint(out, static_cast<uint64_t>(field.number) << 3 | 2);
    write_varint(out, inner.size());
    out += inner;
  }

  void tensor(const Rules& known, size_t begin, size_t end, std::string& out) {
    OnnxPayload payload;
    int chunks = 0;
    for (size_t at = begin; at < end;) {
      const Field field = next(at, end);
      if (!is_bytes(field)) continue;
      const bool raw = field.number == onnx::TensorProto::kRawDataFieldNumber;
      payload = {field.payload, field.end - field.payload, raw ? 0 : static_cast<uint64_t>(field.number)};
      ++chunks;
    }
    require(chunks <= 1, Code::file,
            "{}: {}: has {} fields with data (raw_data, float_data, double_data); one is allowed", name_, path(),
            chunks);
    const int64_t room = elements(begin, end);
    int pairs = 0;
    for (size_t at = begin; at < end;) {
      const Field field = next(at, end);
      const int r = find(known, field.number);
      if (r < 0 || is_bytes(field)) continue;
      path_.push_back({known.begin[r].name, pairs++});
      if (field.number == onnx::TensorProto::kInt32DataFieldNumber ||
          field.number == onnx::TensorProto::kInt64DataFieldNumber ||
          field.number == onnx::TensorProto::kUint64DataFieldNumber) {
        // Weights of integers: bounded by their shape and not by the graph's limit, as parsed they can take eightfold
        // room.
        const int64_t count = varints(field);
        require(count <= room, Code::file, "{}: {}: {} elements, the shape has {}", name_, path(), count, room);
        append(field, out);
      } else {
        copy(known.begin[r].kind, field, out);
      }
      path_.pop_back();
    }
    if (chunks == 0) return;
    write_varint(out, onnx::TensorProto::kRawDataFieldNumber << 3 | 2);
    write_varint(out, sizeof payload);
    out.append(reinterpret_cast<const char*>(&payload), sizeof payload);
  }

  // Numbers in a packed field, or the one of another.
  int64_t varints(const Field& field) const {
    if (field.wire != 2) return 1;
    return std::count_if(bytes_.begin() + static_cast<std::ptrdiff_t>(field.payload),
                         bytes_.begin() + static_cast<std::ptrdiff_t>(field.end),
                         [](std::byte b) { return (b & std::byte{0x80}) == std::byte{0}; });
  }

  // Of a tensor, by its dims; what does not fit into 63 bits counts as the most that does.
  int64_t elements(size_t begin, size_t end) {
    int64_t product = 1;
    const auto times = [&](uint64_t dim) {
      if (dim > static_cast<uint64_t>(INT64_MAX) ||
          __builtin_mul_overflow(product, static_cast<int64_t>(dim), &product))
        product = INT64_MAX;
    };
    for (size_t at = begin; at < end;) {
      const Field field = next(at, end);
      if (field.number != onnx::TensorProto::kDimsFieldNumber || (field.wire != 0 && field.wire != 2)) continue;
      uint64_t dim = 0;
      size_t from = field.wire == 2 ? field.payload : field.begin;
      if (field.wire == 0) from += read_varint(bytes_.data() + from, field.end - from, dim);
      while (from < field.end) {
        const size_t used = read_varint(bytes_.data() + from, field.end - from, dim);
        if (used == 0) break;
        from += used;
        times(dim);
      }
    }
    return product;
  }

  static bool is_bytes(const Field& field) {
    return field.wire == 2 && (field.number == onnx::TensorProto::kRawDataFieldNumber ||
                               field.number == onnx::TensorProto::kFloatDataFieldNumber ||
                               field.number == onnx::TensorProto::kDoubleDataFieldNumber);
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::vector<Step> path_;
  int64_t cost_ = 0;
};

}  // namespace

std::string onnx_skeleton(std::span<const std::byte> bytes, const std::string& name, bool tensor_only) {
  std::string out;
  Walk(bytes, name).message(tensor_only ? Kind::tensor : Kind::model, 0, bytes.size(), out);
  return out;
}

}  // namespace nbx
