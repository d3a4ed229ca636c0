// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/quote.h"

namespace nbx {
namespace {

using Json = nlohmann::json;
constexpr const char* kMetadata = "__metadata__";

std::string known_codes() {
  std::string text;
  for (int i = 0; i < kDTypes; ++i) {
    const std::string code = info(static_cast<DType>(i)).safetensors;
    if (!code.empty()) text += (text.empty() ? "" : ", ") + code;
  }
  return text;
}

std::optional<DType> dtype_of_code(std::string_view code) {
  for (int i = 0; i < kDTypes; ++i)
    if (code == info(static_cast<DType>(i)).safetensors && !code.empty()) return static_cast<DType>(i);
  return std::nullopt;
}

struct Entry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  Ints offsets;
};

// Reads the header event by event: the form is fixed, so anything deeper or else is refused where it stands, and the
// memory used is that of the result. A document tree would keep the last of two equal names and forget the first.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(const std::string& path, const Limits& limits) : path_(path), limits_(limits) {}

  std::vector<Entry> entries;
  Metadata metadata;

  bool null() override { return unexpected("null"); }
  bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
  bool number_float(double, const std::string& text) override { return unexpected("the number " + text); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool number_integer(int64_t value) override { return number(value); }
  bool number_unsigned(uint64_t value) override {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return unexpected(fmt::format("the number {} (more than 2^63)", value));
    return number(static_cast<int64_t>(value));
  }

  bool string(std::string& value) override {
    if (at_ == At::metadata) {
      metadata.back().second = value;
      return true;
    }
    if (at_ != At::dtype) return unexpected("the text " + quote(value));
    entries.back().dtype = dtype_of_code(value);
    require(entries.back().dtype.has_value(), Code::file, "{}: unknown dtype {}; the known ones are {}", where(),
            quote(value), known_codes());
    at_ = At::tensor;
    return true;
  }

  bool start_object(size_t) override {
    if (at_ == At::start) {
      at_ = At::top;
    } else if (at_ == At::top && key_ == kMetadata && in_value_) {
      at_ = At::metadata;
    } else if (at_ == At::top && in_value_) {
      at_ = At::tensor;
    } else {
      return unexpected("an object");
    }
    in_value_ = false;
    return true;
  }

  bool end_object() override {
    if (at_ == At::tensor) {
      const Entry& entry = entries.back();
      require(entry.dtype.has_value(), Code::file, "{}: field 'dtype' is missing", where());
      require(entry.shape.has_value(), Code::file, "{}: field 'shape' is missing", where());
      require(offsets_seen_, Code::file, "{}: field 'data_offsets' is missing", where());
    }
    at_ = at_ == At::top ? At::end : At::top;
    return true;
  }

  bool start_array(size_t) override {
    if (at_ == At::shape && !in_value_) {
      entries.back().shape.emplace();
    } else if (at_ == At::offsets && !in_value_) {
      offsets_seen_ = true;
    } else {
      return unexpected("an array");
    }
    in_value_ = true;
    return true;
  }

  bool end_array() override {
    if (at_ == At::offsets)
      require(entries.back().offsets.size() == 2, Code::file, "{}: field 'data_offsets' has {} numbers; it must have 2",
              where(), entries.back().offsets.size());
    in_value_ = false;
    at_ = At::tensor;
    return true;
  }

  bool key(std::string& text) override {
    if (at_ == At::top) return top_key(text);
    if (at_ == At::metadata) {
      require(std::none_of(metadata.begin(), metadata.end(), [&](const auto& pair) { return pair.first == text; }),
              Code::file, "{}: {} has the key {} twice", path_, kMetadata, quote(text));
      require(static_cast<int64_t>(metadata.size()) < kMetadataKeys, Code::file, "{}: {} has more than {} keys", path_,
              kMetadata, kMetadataKeys);
      metadata.emplace_back(text, "");
      return true;
    }
    Entry& entry = entries.back();
    bool twice = false;
    if (text == "dtype") {
      at_ = At::dtype;
      twice = entry.dtype.has_value();
    } else if (text == "shape") {
      at_ = At::shape;
      twice = entry.shape.has_value();
    } else if (text == "data_offsets") {
      at_ = At::offsets;
      twice = offsets_seen_;
    } else {
      fail(Code::file, "{}: unknown field {}; the known ones are dtype, shape, data_offsets", where(), quote(text));
    }
    require(!twice, Code::file, "{}: field {} is given twice", where(), quote(text));
    return true;
  }

  bool parse_error(size_t position, const std::string& token, const Json::exception&) override {
    fail(Code::file, "{}: the header is not valid JSON at byte {}, near {}", path_, position + 8, quote(token, 40));
  }

 private:
  static constexpr int64_t kMetadataKeys = 1024;  // looked through one by one
  enum class At { start, top, metadata, tensor, dtype, shape, offsets, end };

  std::string where() const { return fmt::format("{}: tensor {}", path_, quote(entries.back().name)); }

  bool unexpected(const std::string& what) const {
    switch (at_) {
      case At::start:
        fail(Code::file, "{}: the header is {}; it must be an object", path_, what);
      case At::top:
        fail(Code::file, "{}: {} is {}; it must be an object", path_, quote(key_), what);
      case At::metadata:
        fail(Code::file, "{}: {} has {} as a value; it must have texts", path_, kMetadata, what);
      case At::dtype:
        fail(Code::file, "{}: field 'dtype' is {}; it must be a text", where(), what);
      case At::shape:
        fail(Code::file, "{}: field 'shape' has {}; it must be an array of integers", where(), what);
      case At::offsets:
        fail(Code::file, "{}: field 'data_offsets' has {}; it must be two integers", where(), what);
      case At::tensor:
      case At::end:
        break;
    }
    fail(Code::file, "{}: the header has {} where none is expected", path_, what);
  }

  bool number(int64_t value) {
    if (at_ == At::shape && in_value_) {
      Shape& shape = *entries.back().shape;
      require(shape.size() < static_cast<size_t>(kMaxRank), Code::file, "{}: more than {} dims; no more are supported",
              where(), kMaxRank);
      shape.push_back(value);
      return true;
    }
    if (at_ == At::offsets && in_value_ && entries.back().offsets.size() < 2) {
      entries.back().offsets.push_back(value);
      return true;
    }
    return unexpected(fmt::format("the number {}", value));
  }

  bool top_key(const std::string& text) {
    key_ = text;
    in_value_ = true;
    if (text == kMetadata) {
      require(!metadata_seen_, Code::file, "{}: {} is given twice", path_, kMetadata);
      metadata_seen_ = true;
      return true;
    }
    require(static_cast<int64_t>(entries.size()) < limits_.tensors, Code::file,
            "{}: more than {} tensors; split the file", path_, limits_.tensors);
    entries.emplace_back();
    entries.back().name = text;
    offsets_seen_ = false;
    return true;
  }

  const std::string& path_;
  const Limits& limits_;
  At at_ = At::start;
  bool in_value_ = false;  // top: a key was read, its value follows; shape, offsets: inside the array
  bool offsets_seen_ = false;
  bool metadata_seen_ = false;
  std::string key_;
};

int64_t little_endian_64(const std::byte* p) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<uint64_t>(p[i]);
  return value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? std::numeric_limits<int64_t>::max()
                                                                            : static_cast<int64_t>(value);
}

void check_entry(const std::string& path, const Entry& entry, int64_t available) {
  const std::string where = fmt::format("{}: tensor {}", path, quote(entry.name));
  const int64_t begin = entry.offsets[0], end = entry.offsets[1];
  require(begin >= 0 && begin <= end, Code::file, "{}: data_offsets [{}, {}] must be 0 <= begin <= end", where, begin,
          end);
  const int64_t bytes = claimed_bytes(where, *entry.shape, *entry.dtype);
  require(bytes == end - begin, Code::file, "{}: {} needs {} bytes, data_offsets [{}, {}] give {}", where,
          describe(*entry.dtype, *entry.shape), bytes, begin, end, end - begin);
  require(end <= available, Code::file,
          "{}: its data ends at byte {}, the file has {} bytes of data; the file is cut short", where, end, available);
}

// Every byte of the data belongs to exactly one tensor.
void check_cover(const std::string& path, const std::vector<Entry>& entries, int64_t available) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Ints &x = entries[a].offsets, &y = entries[b].offsets;
    return x[0] != y[0] ? x[0] < y[0] : x[1] < y[1];
  });
  int64_t covered = 0;
  const Entry* before = nullptr;
  for (size_t i : order) {
    const Entry& entry = entries[i];
    const int64_t begin = entry.offsets[0];
    require(begin >= covered, Code::file,
            "{}: tensor {} begins at byte {} of the data, inside tensor {} that ends at {}", path, quote(entry.name),
            begin, before == nullptr ? "" : quote(before->name), covered);
    require(begin == covered, Code::file, "{}: bytes {} to {} of the data, before tensor {}, belong to no tensor", path,
            covered, begin, quote(entry.name));
    covered = entry.offsets[1];
    before = &entry;
  }
  require(covered == available, Code::file, "{}: the tensors end at byte {} of the data, the file has {}", path,
          covered, available);
}

}  // namespace

Safetensors parse_safetensors(const FileBytes& file, const Limits& limits) {
  const std::string& path = file->path();
  require(file->size() >= 8, Code::file, "{}: {} bytes; a safetensors file has at least 8", path, file->size());
  const int64_t length = little_endian_64(file->data());
  require(length <= limits.header_bytes, Code::file,
          "{}: the header length is {}, at most {} is allowed; is this a safetensors file?", path, length,
          limits.header_bytes);
  require(length <= file->size() - 8, Code::file,
          "{}: the header length is {}, the file has {} bytes; the file is cut short", path, length, file->size());
  const char* header = reinterpret_cast<const char*>(file->data()) + 8;
  require(length >= 2 && header[0] == '{', Code::file,
          "{}: the header does not begin with '{{'; is this a safetensors file?", path);

  Reader reader(path, limits);
  Json::sax_parse(header, header + length, &reader);  // errors are thrown by the reader

  const int64_t data = 8 + length, available = file->size() - data;
  Safetensors out;
  for (const Entry& entry : reader.entries) check_entry(path, entry, available);
  check_cover(path, reader.entries, available);
  for (Entry& entry : reader.entries) {
    require(!out.tensors.contains(entry.name), Code::file, "{}: the tensor name {} is used twice", path,
            quote(entry.name));
    Tensor tensor = file->tensor(data + entry.offsets[0], *entry.shape, *entry.dtype);
    out.tensors.add(std::move(entry.name), std::move(tensor));
  }
  out.metadata = std::move(reader.metadata);
  return out;
}

Safetensors read_safetensors(const std::string& path, const Limits& limits) {
  return parse_safetensors(MappedFile::open(path), limits);
}

void write_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return itemsize(tensors[a].second.dtype()) > itemsize(tensors[b].second.dtype());
  });
  std::vector<int64_t> begins(tensors.size());
  int64_t end = 0;
  for (size_t i : order) {
    const auto& [name, tensor] = tensors[i];
    require(name != kMetadata, Code::value, "{}: a tensor cannot be named {} in a safetensors file", path, kMetadata);
    require(tensor.defined(), Code::value, "{}: tensor {} is undefined", path, quote(name));
    require(info(tensor.dtype()).safetensors[0] != '\0', Code::dtype,
            "{}: tensor {} is {}, which safetensors has no code for; write .npz, or view it as real", path, quote(name),
            describe(tensor));
    begins[i] = end;
    end += tensor.nbytes();
  }

  // Built as text: a JSON object would sort the names.
  const auto text = [&](const std::string& s) {
    try {
      return Json(s).dump();
    } catch (const Json::exception&) {
      fail(Code::value, "{}: the name {} is not UTF-8", path, quote(s));
    }
  };
  std::string header = "{";
  const auto comma = [&] { return header.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    header += fmt::format("\"{}\":{{", kMetadata);
    for (size_t i = 0; i < metadata.size(); ++i)
      header += fmt::format("{}{}:{}", i > 0 ? "," : "", text(metadata[i].first), text(metadata[i].second));
    header += "}";
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    std::string shape = to_string(tensor.shape());
    shape.erase(std::remove(shape.begin(), shape.end(), ' '), shape.end());
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", comma(), text(name),
                          info(tensor.dtype()).safetensors, shape, begins[i], begins[i] + tensor.nbytes());
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');

  AtomicFile file(path);
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(header.size() >> (8 * i));
  file.write(length, sizeof length);
  file.write(header);
  for (size_t i : order) {
    const Tensor dense = tensors[i].second.contiguous();
    if (dense.nbytes() > 0) file.write(dense.raw(), static_cast<size_t>(dense.nbytes()));
  }
  file.commit();
}

}  // namespace nbx
