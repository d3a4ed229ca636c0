// SPDX-License-Identifier: Apache-2.0
// Writes a file so that a reader sees the old content or the whole new one, never a part: a temporary beside the
// target, fsync, rename. Without commit() (an error on the way) the temporary is removed and the target stays as it
// was.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nbx {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  int64_t written() const { return written_; }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int file_ = -1;
  int64_t written_ = 0;
};

void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace nbx
