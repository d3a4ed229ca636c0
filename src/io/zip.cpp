// SPDX-License-Identifier: Apache-2.0
#include "io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/check.h"
#include "io/quote.h"

namespace nbx {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator = 0x07064b50;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the value is in the zip64 field
constexpr int64_t kMaxRatio = 1032;     // of deflate

// Little-endian fields; a read outside the file is an error that says what was looked for.
class Fields {
 public:
  explicit Fields(const FileBytes& file) : file_(file) {}
  uint64_t get(int64_t at, int bytes, const char* what) const {
    require(at >= 0 && at <= file_->size() - bytes, Code::file,
            "{}: the zip {} at byte {} lies outside the file ({} bytes)", file_->path(), what, at, file_->size());
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<uint64_t>(file_->data()[at + i]);
    return value;
  }
  int64_t get64(int64_t at, const char* what) const {
    const uint64_t value = get(at, 8, what);
    require(value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 2), Code::file,
            "{}: the zip {} at byte {} has the impossible value {}", file_->path(), what, at, value);
    return static_cast<int64_t>(value);
  }
  uint32_t u32(int64_t at, const char* what) const { return static_cast<uint32_t>(get(at, 4, what)); }
  int64_t u16(int64_t at, const char* what) const { return static_cast<int64_t>(get(at, 2, what)); }
  std::string_view text(int64_t at, int64_t bytes, const char* what) const {
    require(at >= 0 && at <= file_->size() - bytes, Code::file,
            "{}: the zip {} at byte {} lies outside the file ({} bytes)", file_->path(), what, at, file_->size());
    return {reinterpret_cast<const char*>(file_->data()) + at, static_cast<size_t>(bytes)};
  }

 private:
  const FileBytes& file_;
};

struct Directory {
  int64_t at = 0, bytes = 0, members = 0;
};

Directory find_directory(const FileBytes& file, const Fields& fields) {
  // The end record is 22 bytes and a comment of at most 65535, at the end of the file.
  const int64_t last = file->size() - 22;
  for (int64_t at = last; at >= 0 && at >= last - 65535; --at) {
    if (fields.u32(at, "end record") != kEnd || at + 22 + fields.u16(at + 20, "end record") != file->size()) continue;
    require(fields.u16(at + 4, "end record") == 0 || fields.u16(at + 4, "end record") == 0xFFFF, Code::file,
            "{}: a zip archive in parts is not supported", file->path());
    Directory out{fields.u32(at + 16, "end record"), fields.u32(at + 12, "end record"),
                  fields.u16(at + 10, "end record")};
    if (out.at == kIn64 || out.bytes == kIn64 || out.members == 0xFFFF) {
      require(fields.u32(at - 20, "zip64 locator") == kLocator, Code::file, "{}: the zip64 locator is missing",
              file->path());
      const int64_t end64 = fields.get64(at - 12, "zip64 locator");
      require(fields.u32(end64, "zip64 end record") == kEnd64, Code::file, "{}: the zip64 end record is missing",
              file->path());
      out = {fields.get64(end64 + 48, "zip64 end record"), fields.get64(end64 + 40, "zip64 end record"),
             fields.get64(end64 + 32, "zip64 end record")};
    }
    return out;
  }
  fail(Code::file, "{}: no zip directory at the end of the file; it is cut short or no npz file", file->path());
}

// Sizes of 0xFFFFFFFF stand in the extra field 1, in this order, only those that are needed.
void read_zip64(const FileBytes& file, const Fields& fields, int64_t at, int64_t end, ZipMember& member,
                int64_t& offset) {
  for (; at + 4 <= end; at += 4 + fields.u16(at + 2, "extra field")) {
    if (fields.u16(at, "extra field") != 1) continue;
    const int64_t stop = at + 4 + fields.u16(at + 2, "extra field");
    at += 4;
    for (int64_t* value : {&member.size, &member.packed, &offset}) {
      if (*value != kIn64) continue;
      require(at + 8 <= stop && stop <= end, Code::file, "{}: member {}: its zip64 field is too short", file->path(),
              quote(member.name));
      *value = fields.get64(at, "zip64 field");
      at += 8;
    }
    return;
  }
}

void check_member(const FileBytes& file, const Fields& fields, ZipMember& member, int64_t offset, int64_t directory) {
  const std::string where = fmt::format("{}: member {}", file->path(), quote(member.name));
  require(fields.u32(offset, "local header") == kLocal, Code::file, "{}: there is no local header at byte {}", where,
          offset);
  member.begin = offset + 30 + fields.u16(offset + 26, "local header") + fields.u16(offset + 28, "local header");
  require(member.begin <= directory && member.packed <= directory - member.begin, Code::file,
          "{}: its {} bytes from byte {} reach into the directory at byte {}", where, member.packed, member.begin,
          directory);
  if (!member.deflated) {
    require(member.packed == member.size, Code::file, "{}: stored, but {} bytes in the file and {} unpacked", where,
            member.packed, member.size);
  } else {
    require(member.size / kMaxRatio <= member.packed, Code::file, "{}: {} bytes cannot unpack to {}", where,
            member.packed, member.size);
  }
}

// One deflate stream, unpacked in order.
class Inflater {
 public:
  Inflater(const FileBytes& file, const ZipMember& member) : file_(file), member_(member) {
    NBX_ASSERT(inflateInit2(&stream_, -MAX_WBITS) == Z_OK);
    next_ = file->data() + member.begin;
    left_ = member.packed;
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` whole; error when the stream ends before.
  void read(std::byte* out, int64_t bytes) {
    while (bytes > 0) {
      const auto room = static_cast<uInt>(std::min<int64_t>(bytes, 1 << 30));
      stream_.next_out = reinterpret_cast<Bytef*>(out);
      stream_.avail_out = room;
      const int status = step();
      const int64_t got = room - stream_.avail_out;
      out += got;
      bytes -= got;
      require(status == Z_OK || (status == Z_STREAM_END && bytes == 0), Code::file,
              "{}: member {}: {} after {} of {} bytes", file_->path(), quote(member_.name),
              status == Z_STREAM_END ? "the deflate stream ends" : "bad deflate data", stream_.total_out, member_.size);
    }
  }
  void expect_end() {
    std::byte more;
    stream_.next_out = reinterpret_cast<Bytef*>(&more);
    stream_.avail_out = 1;
    const int status = ended_ ? Z_STREAM_END : step();
    require(status == Z_STREAM_END && stream_.avail_out == 1, Code::file,
            "{}: member {}: the deflate stream goes on after {} "
            "bytes",
            file_->path(), quote(member_.name), member_.size);
  }

 private:
  int step() {
    if (stream_.avail_in == 0) {
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(next_));
      stream_.avail_in = static_cast<uInt>(std::min<int64_t>(left_, 1 << 30));
      next_ += stream_.avail_in;
      left_ -= stream_.avail_in;
    }
    const uInt before_in = stream_.avail_in, before_out = stream_.avail_out;
    int status = inflate(&stream_, Z_NO_FLUSH);
    ended_ = status == Z_STREAM_END;
    // No progress and no end: the packed bytes are used up.
    if (status == Z_BUF_ERROR && left_ > 0) status = Z_OK;
    if (status == Z_OK && before_in == stream_.avail_in && before_out == stream_.avail_out && left_ == 0)
      status = Z_DATA_ERROR;
    return status;
  }

  const FileBytes& file_;
  const ZipMember& member_;
  z_stream stream_ = {};
  const std::byte* next_ = nullptr;
  int64_t left_ = 0;
  bool ended_ = false;
};

uint32_t crc_of(uint32_t crc, const void* data, int64_t bytes) {
  if (bytes == 0) return crc;  // zlib starts anew at a null address
  return static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), static_cast<z_size_t>(bytes)));
}

void check_crc(const FileBytes& file, const ZipMember& member, uint32_t crc) {
  require(crc == member.crc, Code::file,
          "{}: member {}: the checksum is {:08x}, the file says {:08x}; the file is damaged", file->path(),
          quote(member.name), crc, member.crc);
}

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}
uint64_t or_in64(int64_t value) { return static_cast<uint64_t>(value) >= kIn64 ? kIn64 : static_cast<uint64_t>(value); }

}  // namespace

std::vector<ZipMember> read_zip(const FileBytes& file, const Limits& limits) {
  const Fields fields(file);
  const Directory directory = find_directory(file, fields);
  require(directory.members <= limits.tensors, Code::file, "{}: {} members; at most {} are supported", file->path(),
          directory.members, limits.tensors);
  require(directory.at <= file->size() && directory.bytes <= file->size() - directory.at, Code::file,
          "{}: the zip directory at byte {} of {} bytes lies outside the file ({} bytes)", file->path(), directory.at,
          directory.bytes, file->size());

  std::vector<ZipMember> members;
  std::unordered_set<std::string> names;
  int64_t at = directory.at, unpacked = 0;
  for (int64_t i = 0; i < directory.members; ++i) {
    require(fields.u32(at, "directory entry") == kCentral, Code::file,
            "{}: entry {} of the zip directory, at byte {}, is damaged", file->path(), i, at);
    const int64_t name_bytes = fields.u16(at + 28, "directory entry"), extra = fields.u16(at + 30, "directory entry");
    ZipMember member;
    member.name = fields.text(at + 46, name_bytes, "member name");
    const std::string where = fmt::format("{}: member {}", file->path(), quote(member.name));
    require((fields.u16(at + 8, "directory entry") & 1) == 0, Code::file, "{}: encrypted members are not supported",
            where);
    const int64_t method = fields.u16(at + 10, "directory entry");
    require(method == 0 || method == 8, Code::file, "{}: packing method {}; stored (0) and deflated (8) are supported",
            where, method);
    member.deflated = method == 8;
    member.crc = fields.u32(at + 16, "directory entry");
    member.packed = fields.u32(at + 20, "directory entry");
    member.size = fields.u32(at + 24, "directory entry");
    int64_t offset = fields.u32(at + 42, "directory entry");
    const int64_t extra_at = at + 46 + name_bytes;
    require(extra_at + extra <= directory.at + directory.bytes, Code::file,
            "{}: its entry reaches past the zip directory", where);
    read_zip64(file, fields, extra_at, extra_at + extra, member, offset);
    check_member(file, fields, member, offset, directory.at);
    require(names.insert(member.name).second, Code::file, "{}: the name is used twice", where);
    if (member.deflated) unpacked += std::min(member.size, limits.unpacked_bytes + 1);
    require(unpacked <= limits.unpacked_bytes, Code::file,
            "{}: the compressed members unpack to more than {} bytes; save without compression", where,
            limits.unpacked_bytes);
    members.push_back(std::move(member));
    at = extra_at + extra + fields.u16(at + 32, "directory entry");
  }

  // Members that share bytes make an archive that unpacks to far more than its size.
  std::vector<const ZipMember*> order;
  for (const ZipMember& member : members) order.push_back(&member);
  std::sort(order.begin(), order.end(), [](const ZipMember* a, const ZipMember* b) { return a->begin < b->begin; });
  for (size_t i = 1; i < order.size(); ++i)
    require(order[i - 1]->begin + order[i - 1]->packed <= order[i]->begin - 30, Code::file,
            "{}: members {} and {} overlap", file->path(), quote(order[i - 1]->name), quote(order[i]->name));
  return members;
}

void unpack_begin(const FileBytes& file, const ZipMember& member, std::span<std::byte> out) {
  NBX_ASSERT(static_cast<int64_t>(out.size()) <= member.size);
  if (out.empty()) return;
  if (member.deflated) {
    Inflater(file, member).read(out.data(), static_cast<int64_t>(out.size()));
  } else {
    std::memcpy(out.data(), file->data() + member.begin, out.size());
  }
}

void unpack(const FileBytes& file, const ZipMember& member, int64_t skip, std::byte* out) {
  NBX_ASSERT(skip >= 0 && skip <= member.size);
  const int64_t rest = member.size - skip;
  if (!member.deflated) {
    check_stored(file, member);
    if (rest > 0) std::memcpy(out, file->data() + member.begin + skip, static_cast<size_t>(rest));
    return;
  }
  Inflater inflater(file, member);
  std::vector<std::byte> head(static_cast<size_t>(skip));
  inflater.read(head.data(), skip);
  inflater.read(out, rest);
  inflater.expect_end();
  check_crc(file, member, crc_of(crc_of(0, head.data(), skip), out, rest));
}

void check_stored(const FileBytes& file, const ZipMember& member) {
  NBX_ASSERT(!member.deflated);
  check_crc(file, member, crc_of(0, file->data() + member.begin, member.size));
}

ZipWriter::ZipWriter(std::string path) : file_(std::move(path)) {}

void ZipWriter::add(const std::string& name, std::string_view head, const void* data, size_t bytes) {
  const auto size = static_cast<int64_t>(head.size() + bytes);
  const uint32_t crc =
      crc_of(crc_of(0, head.data(), static_cast<int64_t>(head.size())), data, static_cast<int64_t>(bytes));
  written_.push_back({name, crc, size, file_.written()});
  const bool large = size >= kIn64;
  std::string local;
  put(local, kLocal, 4);
  put(local, large ? 45 : 20, 2);  // version needed
  put(local, 0x0800, 2);           // the name is UTF-8
  put(local, 0, 2);                // stored
  put(local, 0x00210000, 4);       // 1980-01-01 0:00
  put(local, crc, 4);
  put(local, or_in64(size), 4);
  put(local, or_in64(size), 4);
  put(local, name.size(), 2);
  put(local, large ? 20 : 0, 2);
  local += name;
  if (large) {
    put(local, 1, 2);
    put(local, 16, 2);
    put(local, static_cast<uint64_t>(size), 8);
    put(local, static_cast<uint64_t>(size), 8);
  }
  file_.write(local);
  file_.write(head);
  if (bytes > 0) file_.write(data, bytes);
}

void ZipWriter::commit() {
  const int64_t begin = file_.written();
  for (const Written& member : written_) {
    std::string extra;
    if (member.size >= kIn64) {
      put(extra, static_cast<uint64_t>(member.size), 8);
      put(extra, static_cast<uint64_t>(member.size), 8);
    }
    if (member.offset >= kIn64) put(extra, static_cast<uint64_t>(member.offset), 8);
    std::string entry;
    put(entry, kCentral, 4);
    put(entry, 45, 2);
    put(entry, extra.empty() ? 20 : 45, 2);
    put(entry, 0x0800, 2);
    put(entry, 0, 2);
    put(entry, 0x00210000, 4);
    put(entry, member.crc, 4);
    put(entry, or_in64(member.size), 4);
    put(entry, or_in64(member.size), 4);
    put(entry, member.name.size(), 2);
    put(entry, extra.empty() ? 0 : extra.size() + 4, 2);
    put(entry, 0, 2);  // comment
    put(entry, 0, 2);  // disk
    put(entry, 0, 2);  // attributes inside
    put(entry, 0, 4);  // attributes outside
    put(entry, or_in64(member.offset), 4);
    entry += member.name;
    if (!extra.empty()) {
      put(entry, 1, 2);
      put(entry, extra.size(), 2);
      entry += extra;
    }
    file_.write(entry);
  }
  const int64_t bytes = file_.written() - begin;
  const bool large = begin + bytes >= kIn64 || written_.size() >= 0xFFFF;
  std::string end;
  if (large) {
    put(end, kEnd64, 4);
    put(end, 44, 8);
    put(end, 45, 2);
    put(end, 45, 2);
    put(end, 0, 4);
    put(end, 0, 4);
    put(end, written_.size(), 8);
    put(end, written_.size(), 8);
    put(end, static_cast<uint64_t>(bytes), 8);
    put(end, static_cast<uint64_t>(begin), 8);
    put(end, kLocator, 4);
    put(end, 0, 4);
    put(end, static_cast<uint64_t>(begin + bytes), 8);
    put(end, 1, 4);
  }
  put(end, kEnd, 4);
  put(end, 0, 4);
  put(end, large ? 0xFFFF : written_.size(), 2);
  put(end, large ? 0xFFFF : written_.size(), 2);
  put(end, large ? kIn64 : static_cast<uint64_t>(bytes), 4);
  put(end, large ? kIn64 : static_cast<uint64_t>(begin), 4);
  put(end, 0, 2);
  file_.write(end);
  file_.commit();
}

}  // namespace nbx
