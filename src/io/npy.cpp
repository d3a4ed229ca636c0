// SPDX-License-Identifier: Apache-2.0
#include "io/npy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/quote.h"

namespace nbx {
namespace {

struct Type {
  char kind;
  int size;
  DType dtype;
};
constexpr Type kTypes[] = {
    {'b', 1, DType::bool_},     {'i', 1, DType::int8},        {'i', 2, DType::int16},    {'i', 4, DType::int32},
    {'i', 8, DType::int64},     {'u', 1, DType::uint8},       {'u', 2, DType::uint16},   {'u', 4, DType::uint32},
    {'u', 8, DType::uint64},    {'f', 2, DType::float16},     {'f', 4, DType::float32},  {'f', 8, DType::float64},
    {'c', 8, DType::complex64}, {'c', 16, DType::complex128}, {'V', 2, DType::bfloat16},
};

// The header is a Python dictionary literal of a fixed form; this reads that form and nothing else of Python.
class HeaderReader {
 public:
  HeaderReader(const std::string& where, std::string_view text) : where_(where), text_(text) {}

  void read(NpyHeader& out) {
    expect('{');
    while (!take('}')) {
      const std::string key = quoted_text("a key");
      expect(':');
      if (key == "descr") {
        once(seen_descr_, key);
        descr(out);
      } else if (key == "fortran_order") {
        once(seen_order_, key);
        out.fortran_order = truth();
      } else if (key == "shape") {
        once(seen_shape_, key);
        out.shape = tuple();
      } else {
        fail(Code::file, "{}: the npy header has the unknown field {}; the known ones are descr, fortran_order, shape",
             where_, quote(key));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    require(at_ == text_.size(), Code::file, "{}: the npy header goes on after its end, at {}", where_, rest());
    require(seen_descr_ && seen_order_ && seen_shape_, Code::file, "{}: the npy header lacks the field {}", where_,
            !seen_descr_   ? "descr"
            : !seen_order_ ? "fortran_order"
                           : "shape");
  }

 private:
  void once(bool& seen, const std::string& key) const {
    require(!seen, Code::file, "{}: the npy header has the field {} twice", where_, quote(key));
    seen = true;
  }
  std::string rest() const { return at_ < text_.size() ? quote(text_.substr(at_), 24) : "its end"; }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char wanted) {
    skip();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    require(take(wanted), Code::file, "{}: the npy header has no '{}' at {}", where_, wanted, rest());
  }
  bool word(std::string_view wanted) {
    skip();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  bool truth() {
    if (word("True")) return true;
    require(word("False"), Code::file, "{}: fortran_order of the npy header is neither True nor False, at {}", where_,
            rest());
    return false;
  }
  std::string quoted_text(const char* what) {
    skip();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    require(mark == '\'' || mark == '"', Code::file, "{}: the npy header has no {} in quotes at {}", where_, what,
            rest());
    const size_t end = text_.find(mark, at_ + 1);
    require(end != std::string_view::npos, Code::file, "{}: a text of the npy header does not end: {}", where_, rest());
    const std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  void descr(NpyHeader& out) {
    skip();
    require(at_ >= text_.size() || (text_[at_] != '[' && text_[at_] != '('), Code::file,
            "{}: the array has records ('descr' is {}); save its fields as arrays", where_, rest());
    const std::string code = quoted_text("'descr'");
    const bool marked = !code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos;
    const std::string_view bare = std::string_view(code).substr(marked ? 1 : 0);
    std::optional<DType> dtype;
    for (const Type& type : kTypes)
      if (bare == fmt::format("{}{}", type.kind, type.size)) dtype = type.dtype;
    if (bare == "?") dtype = DType::bool_;
    require(dtype.has_value(), Code::file,
            "{}: the dtype {} is not supported; known are b1, i1..i8, u1..u8, f2, f4, f8, c8, c16 and V2 (bfloat16){}",
            where_, quote(code),
            bare.substr(0, 1) == "O" ? "; an array of objects is a pickle and is never loaded" : "");
    out.dtype = *dtype;
    out.swapped = code[0] == '>' && itemsize(*dtype) > 1;
  }

  Shape tuple() {
    expect('(');
    Shape shape;
    bool comma = true;
    while (!take(')')) {
      require(comma, Code::file, "{}: 'shape' of the npy header has no ',' at {}", where_, rest());
      shape.push_back(integer());
      require(shape.size() <= static_cast<size_t>(kMaxRank), Code::file, "{}: more than {} dims; no more are supported",
              where_, kMaxRank);
      comma = take(',');
    }
    // (3) is a number in Python, not a shape.
    require(shape.size() != 1 || comma, Code::file, "{}: 'shape' of the npy header is no tuple: ({})", where_,
            shape[0]);
    return shape;
  }

  int64_t integer() {
    skip();
    const size_t begin = at_;
    int64_t value = 0;
    bool fits = true;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
             !__builtin_add_overflow(value, text_[at_] - '0', &value);
    require(at_ > begin, Code::file, "{}: 'shape' of the npy header has no extent >= 0 at {}", where_, rest());
    require(fits, Code::file, "{}: 'shape' of the npy header has the extent {}, more than 2^63", where_,
            text_.substr(begin, std::min<size_t>(at_ - begin, 40)));
    word("L");  // written by Python 2
    return value;
  }

  const std::string& where_;
  std::string_view text_;
  size_t at_ = 0;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
};

Tensor swapped_copy(const Tensor& flat) {
  Tensor out = flat.clone();
  const size_t size = static_cast<size_t>(itemsize(out.dtype()) / (is_complex(out.dtype()) ? 2 : 1));
  auto* bytes = static_cast<std::byte*>(out.raw_mutable());
  for (int64_t i = 0; i < out.nbytes(); i += static_cast<int64_t>(size)) std::reverse(bytes + i, bytes + i + size);
  return out;
}

}  // namespace

NpyHeader parse_npy_header(const std::string& where, std::span<const std::byte> available, int64_t total,
                           const Limits& limits) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(available[i]); };
  require(available.size() >= 10 && std::memcmp(available.data(), "\x93NUMPY", 6) == 0, Code::file,
          "{}: this is no npy array (it does not begin with \\x93NUMPY)", where);
  const uint32_t version = byte(6);
  require(version >= 1 && version <= 3, Code::file, "{}: npy version {}.{}; 1 to 3 are known", where, version, byte(7));
  const size_t begin = version == 1 ? 10 : 12;
  require(available.size() >= begin, Code::file, "{}: {} bytes; the file is cut short", where, total);
  uint32_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  require(length <= limits.npy_header_bytes, Code::file, "{}: the npy header length is {}, at most {} is allowed",
          where, length, limits.npy_header_bytes);
  require(length <= available.size() - begin, Code::file,
          "{}: the npy header length is {}, {} bytes are there; the file is "
          "cut short",
          where, length, available.size() - begin);

  NpyHeader out;
  HeaderReader(where, {reinterpret_cast<const char*>(available.data()) + begin, length}).read(out);
  out.data_begin = static_cast<int64_t>(begin + length);
  out.data_bytes = claimed_bytes(where, out.shape, out.dtype);
  const int64_t there = total - out.data_begin;
  require(out.data_bytes == there, Code::file, "{}: {} needs {} bytes, {} follow the npy header; {}", where,
          describe(out.dtype, out.shape), out.data_bytes, there,
          there < out.data_bytes ? "the file is cut short" : "more than one array in a file is not supported");
  return out;
}

Tensor arrange_npy(const NpyHeader& header, const Tensor& flat) {
  Tensor out = header.swapped ? swapped_copy(flat) : flat;
  if (!header.fortran_order || header.shape.size() < 2) return out.view(header.shape);
  Shape reversed = header.shape;
  std::reverse(reversed.begin(), reversed.end());
  Ints dims;
  for (int64_t d = static_cast<int64_t>(reversed.size()) - 1; d >= 0; --d) dims.push_back(d);
  return out.view(reversed).permute(dims);
}

Tensor parse_npy(const FileBytes& file, const Limits& limits) {
  const NpyHeader header = parse_npy_header(file->path(), file->bytes(), file->size(), limits);
  const int64_t count = header.data_bytes / itemsize(header.dtype);
  return arrange_npy(header, file->tensor(header.data_begin, {count}, header.dtype));
}

Tensor read_npy(const std::string& path, const Limits& limits) { return parse_npy(MappedFile::open(path), limits); }

std::string npy_header(const std::string& where, const Tensor& tensor) {
  require(tensor.defined(), Code::value, "{}: the tensor to write is undefined", where);
  std::string code;
  for (const Type& type : kTypes)
    if (type.dtype == tensor.dtype()) code = fmt::format("{}{}{}", type.size == 1 ? '|' : '<', type.kind, type.size);
  require(!code.empty(), Code::dtype,
          "{}: {} cannot be written as npy: the format has no code for {}; write .safetensors", where, describe(tensor),
          name(tensor.dtype()));
  std::string shape;
  for (int64_t extent : tensor.shape()) shape += fmt::format("{}, ", extent);
  if (shape.size() > 2 && tensor.rank() > 1)
    shape.resize(shape.size() - 2);
  else if (!shape.empty())
    shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, shape);
  text.resize((10 + text.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xFF);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = npy_header(path, tensor);
  AtomicFile file(path);
  file.write(header);
  const Tensor dense = tensor.contiguous();
  if (dense.nbytes() > 0) file.write(dense.raw(), static_cast<size_t>(dense.nbytes()));
  file.commit();
}

}  // namespace nbx
