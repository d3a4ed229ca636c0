// SPDX-License-Identifier: Apache-2.0
#include "golden/archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/check.h"

namespace nbx {

namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kLongestName = 1 << 16;

// A stream of bytes, unpacked when the file is gzip's. Never more than `limit` of them.
class Stream {
 public:
  Stream(const std::string& path, int64_t limit)
      : path_(path), left_(limit), limit_(limit), file_(gzopen(path.c_str(), "rb")) {
    require(file_ != nullptr, Code::file, "{}: cannot be read", path);
  }
  ~Stream() { gzclose_r(file_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void read(void* out, int64_t bytes) {
    require(bytes <= left_, Code::file, "{}: unpacks to more than {} bytes", path_, limit_);
    left_ -= bytes;
    auto* to = static_cast<char*>(out);
    while (bytes > 0) {
      const int got = gzread(file_, to, static_cast<unsigned>(std::min<int64_t>(bytes, 1 << 20)));
      int status = Z_OK;
      const char* why = gzerror(file_, &status);
      require(got > 0 && status == Z_OK, Code::file, "{}: {}", path_,
              status != Z_OK ? why : "the archive ends in the middle");
      to += got;
      bytes -= got;
    }
  }
  void skip(int64_t bytes) {
    std::array<char, 1 << 14> sink;
    for (; bytes > 0; bytes -= std::min<int64_t>(bytes, static_cast<int64_t>(sink.size())))
      read(sink.data(), std::min<int64_t>(bytes, static_cast<int64_t>(sink.size())));
  }

 private:
  const std::string& path_;
  int64_t left_, limit_;
  gzFile file_;
};

using Header = std::array<unsigned char, kBlock>;

std::string text(const Header& h, size_t at, size_t length) {
  std::string s(reinterpret_cast<const char*>(h.data()) + at, length);
  return s.substr(0, s.find('\0'));
}

// Octal digits, or 63 bits big-endian behind a byte of 0x80.
int64_t number(const std::string& path, const Header& h, size_t at, size_t length) {
  uint64_t v = 0;
  bool good = true;
  if (h[at] & 0x80) {
    for (size_t i = 0; i < length; ++i) {
      good = good && v < (1ull << 55);
      v = v << 8 | (i == 0 ? h[at] & 0x7Fu : h[at + i]);
    }
  } else {
    for (const char c : text(h, at, length)) {
      if (c == ' ') continue;
      good = good && c >= '0' && c <= '7' && v < (1ull << 60);
      v = v << 3 | static_cast<uint64_t>(c - '0');
    }
  }
  require(good, Code::file, "{}: no tar archive, or a damaged one: a number of a header cannot be read", path);
  return static_cast<int64_t>(v);
}

void check_sum(const std::string& path, const Header& h) {
  int64_t sum = 0;
  for (size_t i = 0; i < h.size(); ++i) sum += i >= 148 && i < 156 ? ' ' : h[i];
  const int64_t said = number(path, h, 148, 8);
  require(sum == said, Code::file, "{}: no tar archive, or a damaged one: a header's sum is {}, it says {}", path, sum,
          said);
}

// "path" of pax records, each "LENGTH KEY=VALUE\n"; empty when there is none.
std::string pax_path(const std::string& records) {
  for (size_t at = 0; at < records.size();) {
    const size_t space = records.find(' ', at), line = records.find('\n', at);
    if (space == std::string::npos || line == std::string::npos || space > line) break;
    const std::string record = records.substr(space + 1, line - space - 1);
    if (record.rfind("path=", 0) == 0) return record.substr(5);
    at = line + 1;
  }
  return {};
}

std::string plain(const std::string& name) { return name.rfind("./", 0) == 0 ? name.substr(2) : name; }

}  // namespace

FileBytes read_tar_member(const std::string& path, const std::string& member, int64_t limit) {
  Stream in(path, limit);
  std::string long_name;
  for (;;) {
    Header h;
    in.read(h.data(), kBlock);
    require(h[0] != 0, Code::file, "{}: has no member '{}'", path, member);
    check_sum(path, h);
    const int64_t size = number(path, h, 124, 12);
    const int64_t padding = (kBlock - size % kBlock) % kBlock;
    const char type = static_cast<char>(h[156]);
    if (type == 'L' || type == 'x') {  // the name of the member that follows
      require(size <= kLongestName, Code::file, "{}: a name of {} bytes", path, size);
      std::string records(static_cast<size_t>(size), '\0');
      in.read(records.data(), size);
      in.skip(padding);
      const std::string found = type == 'L' ? records.substr(0, records.find('\0')) : pax_path(records);
      if (!found.empty()) long_name = found;
      continue;
    }
    std::string name = text(h, 0, 100);
    if (text(h, 257, 5) == "ustar" && h[263] == '0' && h[345] != 0)
      name = fmt::format("{}/{}", text(h, 345, 155), name);
    if (!long_name.empty()) name = std::exchange(long_name, {});
    if (plain(name) != plain(member)) {
      in.skip(size);
      in.skip(padding);
      continue;
    }
    require(type == '0' || type == '\0', Code::file, "{}: member '{}' is no regular file", path, member);
    require(size <= limit, Code::file, "{}: member '{}' claims {} bytes; {} are allowed", path, member, size, limit);
    // Grown as bytes come: the size is only a claim.
    std::vector<std::byte> bytes;
    while (static_cast<int64_t>(bytes.size()) < size) {
      const auto at = static_cast<int64_t>(bytes.size()), step = std::min<int64_t>(size - at, 16 << 20);
      bytes.resize(static_cast<size_t>(at + step));
      in.read(bytes.data() + at, step);
    }
    return MappedFile::in_memory(fmt::format("{}!{}", path, member), std::move(bytes));
  }
}

}  // namespace nbx
