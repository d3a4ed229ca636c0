// SPDX-License-Identifier: Apache-2.0
#include "io/onnx_model.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "io/onnx.h"
#include "io/onnx_wire.h"
#include "io/quote.h"

namespace nbx {
namespace {

using onnx::TensorProto;
namespace fs = std::filesystem;

template <class Proto>
Proto parse(const FileBytes& file, bool tensor_only) {
  const std::string skeleton = onnx_skeleton(file->bytes(), file->path(), tensor_only);
  Proto proto;
  require(
      skeleton.size() < (size_t{1} << 31) && proto.ParseFromArray(skeleton.data(), static_cast<int>(skeleton.size())),
      Code::file, "{}: protobuf refuses the content; this is no ONNX file, or it is damaged", file->path());
  return proto;
}

// A byte that is neither 0 nor 1 would be no valid bool.
Tensor clean_bools(Tensor tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
  const auto count = static_cast<size_t>(tensor.numel());
  if (std::none_of(bytes, bytes + count, [](uint8_t b) { return b > 1; })) return tensor;
  Tensor clean = Tensor::empty(tensor.shape(), DType::bool_);
  auto* out = static_cast<uint8_t*>(clean.raw_mutable());
  for (size_t i = 0; i < count; ++i) out[i] = bytes[i] != 0;
  return clean;
}

Tensor from_file(const FileBytes& file, int64_t offset, const Shape& shape, DType dtype, int64_t bytes) {
  Tensor tensor = file->tensor(offset, shape, dtype);
  if (dtype == DType::bool_ && bytes > 0) tensor = clean_bools(std::move(tensor));
  const auto* at = static_cast<const std::byte*>(tensor.raw());
  const bool view = at >= file->data() && at < file->data() + file->size();
  if (!view) file->release(offset, bytes);
  return tensor;
}

template <class Out, class Field>
Tensor from_numbers(const Field& numbers, const Shape& shape, DType dtype, int64_t count, const std::string& where,
                    const char* field) {
  require(numbers.size() == count, Code::file, "{}: {} has {} elements, shape {} needs {}", where, field,
          numbers.size(), to_string(shape), count);
  Tensor tensor = Tensor::empty(shape, dtype);
  auto* out = static_cast<Out*>(tensor.raw_mutable());
  for (int i = 0; i < numbers.size(); ++i) {
    if constexpr (std::is_same_v<Out, bool>) {
      out[i] = numbers.Get(i) != 0;
    } else {
      out[i] = static_cast<Out>(numbers.Get(i));
    }
  }
  return tensor;
}

// Elements in the field that ONNX prescribes for the dtype. Empty fields with elements expected are refused by the
// counts.
Tensor typed(const TensorProto& t, const Shape& shape, DType dtype, int64_t numel, const std::string& where) {
  const auto ints32 = [&](auto out) {
    return from_numbers<decltype(out)>(t.int32_data(), shape, dtype, numel, where, "int32_data");
  };
  const auto unsigned64 = [&](auto out) {
    return from_numbers<decltype(out)>(t.uint64_data(), shape, dtype, numel, where, "uint64_data");
  };
  switch (dtype) {
    case DType::float32:
      return from_numbers<float>(t.float_data(), shape, dtype, numel, where, "float_data");
    case DType::float64:
      return from_numbers<double>(t.double_data(), shape, dtype, numel, where, "double_data");
    case DType::int64:
      return from_numbers<int64_t>(t.int64_data(), shape, dtype, numel, where, "int64_data");
    case DType::int32:
      return ints32(int32_t{});
    case DType::int16:
      return ints32(int16_t{});
    case DType::int8:
      return ints32(int8_t{});
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return ints32(uint16_t{});
    case DType::uint8:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return ints32(uint8_t{});
    case DType::bool_:
      return ints32(bool{});
    case DType::uint32:
      return unsigned64(uint32_t{});
    case DType::uint64:
      return unsigned64(uint64_t{});
    case DType::complex64: {
      const Tensor parts =
          from_numbers<float>(t.float_data(), Shape{2 * numel}, DType::float32, 2 * numel, where, "float_data");
      return Tensor::borrow(const_cast<void*>(parts.raw()), shape, dtype, parts.storage());
    }
    case DType::complex128: {
      const Tensor parts =
          from_numbers<double>(t.double_data(), Shape{2 * numel}, DType::float64, 2 * numel, where, "double_data");
      return Tensor::borrow(const_cast<void*>(parts.raw()), shape, dtype, parts.storage());
    }
    default:
      break;
  }
  fail(Code::file, "{}: no field holds elements of {}", where, name(dtype));
}

int64_t parse_count(const std::string& text, const std::string& where, const char* field) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size() && value >= 0, Code::file,
          "{}: {} is {}, not a number >= 0", where, field, quote(text));
  return value;
}

const FileBytes& external_file(OnnxFile& onnx, const std::string& location, const std::string& where) {
  const auto known = onnx.external.find(location);
  if (known != onnx.external.end()) return known->second;
  require(!onnx.directory.empty(), Code::file,
          "{}: its data is in the external file {}; a model in memory has no folder to look in", where,
          quote(location));
  const fs::path relative(location);
  const bool climbs = std::any_of(relative.begin(), relative.end(), [](const fs::path& part) { return part == ".."; });
  require(!location.empty() && location.find('\0') == std::string::npos && !relative.is_absolute() && !climbs,
          Code::file, "{}: external location {} is refused; it must name a file in the model's folder", where,
          quote(location));
  const fs::path whole = fs::path(onnx.directory) / relative;
  std::error_code error;
  // A link could still lead out of the folder.
  const fs::path folder = fs::canonical(onnx.directory, error);
  const fs::path target = error ? fs::path() : fs::canonical(whole, error);
  require(!error, Code::file, "{}: external file {} cannot be opened: {}", where, quote(location), error.message());
  const auto [folder_end, target_at] = std::mismatch(folder.begin(), folder.end(), target.begin(), target.end());
  require(folder_end == folder.end(), Code::file, "{}: external location {} leads out of the model's folder", where,
          quote(location));
  return onnx.external.emplace(location, MappedFile::open(target.string())).first->second;
}

Tensor external(OnnxFile& onnx, const TensorProto& t, const Shape& shape, DType dtype, int64_t bytes,
                const std::string& where) {
  std::string location;
  int64_t offset = 0, length = -1;
  for (const auto& entry : t.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_count(entry.value(), where, "external offset");
    if (entry.key() == "length") length = parse_count(entry.value(), where, "external length");
  }
  require(length < 0 || length == bytes, Code::file, "{}: external length is {}, shape {} of {} needs {}", where,
          length, to_string(shape), name(dtype), bytes);
  const FileBytes& file = external_file(onnx, location, where);
  require(offset <= file->size() && bytes <= file->size() - offset, Code::file,
          "{}: needs bytes {} to {} + {} of {}, which has {}", where, offset, offset, bytes, quote(location),
          file->size());
  return from_file(file, offset, shape, dtype, bytes);
}

}  // namespace

OnnxFile parse_onnx(FileBytes file, std::string directory) {
  OnnxFile onnx;
  onnx.file = std::move(file);
  onnx.directory = std::move(directory);
  require(onnx.file->size() > 0, Code::file, "{}: the file is empty", onnx.name());
  onnx.model = parse<onnx::ModelProto>(onnx.file, false);
  require(onnx.model.has_graph(), Code::file, "{}: has no graph; this is no ONNX model, or it is damaged", onnx.name());
  return onnx;
}

std::optional<DType> dtype_of_onnx(int data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return DType::float32;
    case TensorProto::UINT8:
      return DType::uint8;
    case TensorProto::INT8:
      return DType::int8;
    case TensorProto::UINT16:
      return DType::uint16;
    case TensorProto::INT16:
      return DType::int16;
    case TensorProto::INT32:
      return DType::int32;
    case TensorProto::INT64:
      return DType::int64;
    case TensorProto::BOOL:
      return DType::bool_;
    case TensorProto::FLOAT16:
      return DType::float16;
    case TensorProto::DOUBLE:
      return DType::float64;
    case TensorProto::UINT32:
      return DType::uint32;
    case TensorProto::UINT64:
      return DType::uint64;
    case TensorProto::COMPLEX64:
      return DType::complex64;
    case TensorProto::COMPLEX128:
      return DType::complex128;
    case TensorProto::BFLOAT16:
      return DType::bfloat16;
    case TensorProto::FLOAT8E4M3FN:
      return DType::float8_e4m3fn;
    case TensorProto::FLOAT8E5M2:
      return DType::float8_e5m2;
    default:
      return {};
  }
}

std::string onnx_dtype_name(int data_type) {
  if (TensorProto::DataType_IsValid(data_type))
    return TensorProto::DataType_Name(static_cast<TensorProto::DataType>(data_type));
  return fmt::format("data_type {}", data_type);
}

Tensor read_tensor(OnnxFile& onnx, const TensorProto& t, const std::string& what) {
  const std::string where = fmt::format("{}: {}", onnx.name(), what);
  const std::optional<DType> dtype = dtype_of_onnx(t.data_type());
  require(dtype.has_value(), Code::unsupported, "{}: dtype {}", where, onnx_dtype_name(t.data_type()));
  require(t.dims_size() <= kMaxRank, Code::file, "{}: {} dims; at most {} are supported", where, t.dims_size(),
          kMaxRank);
  const Shape shape(t.dims().begin(), t.dims().end());
  const int64_t bytes = claimed_bytes(where, shape, *dtype);
  if (t.data_location() == TensorProto::EXTERNAL) return external(onnx, t, shape, *dtype, bytes, where);
  if (!t.has_raw_data()) return typed(t, shape, *dtype, bytes / itemsize(*dtype), where);

  OnnxPayload payload;
  NBX_ASSERT(t.raw_data().size() == sizeof payload);
  std::memcpy(&payload, t.raw_data().data(), sizeof payload);
  const bool floats = *dtype == DType::float32 || *dtype == DType::complex64;
  const bool doubles = *dtype == DType::float64 || *dtype == DType::complex128;
  require(payload.typed == 0 || (payload.typed == TensorProto::kFloatDataFieldNumber && floats) ||
              (payload.typed == TensorProto::kDoubleDataFieldNumber && doubles),
          Code::file, "{}: elements of {} are in {}", where, name(*dtype),
          payload.typed == TensorProto::kFloatDataFieldNumber ? "float_data" : "double_data");
  require(static_cast<int64_t>(payload.length) == bytes, Code::file,
          "{}: has {} bytes of data, shape {} of {} needs {}", where, payload.length, to_string(shape), name(*dtype),
          bytes);
  return from_file(onnx.file, static_cast<int64_t>(payload.offset), shape, *dtype, bytes);
}

Tensor read_onnx_tensor(const std::string& path) {
  OnnxFile onnx;
  onnx.file = MappedFile::open(path);
  const auto tensor = parse<TensorProto>(onnx.file, true);
  return read_tensor(onnx, tensor, "tensor " + quote(tensor.name()));
}

}  // namespace nbx
