// SPDX-License-Identifier: Apache-2.0
// Zip archives as npz uses them: stored and deflated members, zip64; no encryption, no parts. The directory at the end
// of the file is what counts. Refused with an error (file): members that overlap or lie outside the file, a size that
// deflate cannot reach from the packed bytes (1032 to 1), compressed members whose sizes together exceed
// Limits::unpacked_bytes, names given twice, a wrong checksum. Unpacking is zlib's.
#pragma once
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "io/limits.h"
#include "io/mapped_file.h"

namespace nbx {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  int64_t packed = 0;  // bytes in the file
  int64_t size = 0;    // bytes unpacked
  int64_t begin = 0;   // of the packed bytes, from the start of the file
};

std::vector<ZipMember> read_zip(const FileBytes& file, const Limits& limits = {});

// The first `out.size()` bytes of a member. No checksum: it needs the whole.
void unpack_begin(const FileBytes& file, const ZipMember& member, std::span<std::byte> out);
// Bytes [skip, member.size) into `out`, which has just that size; the checksum is of the whole member.
void unpack(const FileBytes& file, const ZipMember& member, int64_t skip, std::byte* out);
// Of a stored member, in place. Error (file) when it is wrong.
void check_stored(const FileBytes& file, const ZipMember& member);

// Writes stored members; fixed time stamps, so that equal content gives equal files.
class ZipWriter {
 public:
  explicit ZipWriter(std::string path);
  // A member of two pieces: header text and data.
  void add(const std::string& name, std::string_view head, const void* data, size_t bytes);
  void commit();

 private:
  struct Written {
    std::string name;
    uint32_t crc;
    int64_t size, offset;
  };
  AtomicFile file_;
  std::vector<Written> written_;
};

}  // namespace nbx
