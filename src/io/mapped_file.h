// SPDX-License-Identifier: Apache-2.0
// A file's bytes, mapped read-only. Tensors that view them keep the mapping alive through storage(). The length is
// taken once, at open: a file that another process truncates while it is mapped ends this process with SIGBUS, as for
// every program that maps files; replace model files by renaming, never in place.
#pragma once
#include <nbx/tensor.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nbx {

class MappedFile;
using FileBytes = std::shared_ptr<const MappedFile>;

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  // Error (file) naming the path: missing, not readable, not a regular file.
  static FileBytes open(const std::string& path);
  // Bytes in memory under a name for errors: parsers and their tests see no difference.
  static FileBytes in_memory(std::string name, std::vector<std::byte> bytes);
  static FileBytes in_memory(std::string name, std::string_view bytes);

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return static_cast<int64_t>(size_); }

  // A tensor over [begin, begin + numel * itemsize) of the file, row-major; the caller has checked that these are
  // inside. It views the mapping (read-only) when the address suits the dtype, and is a copy when it does not.
  Tensor tensor(int64_t begin, const Shape& shape, DType dtype) const;

  // These bytes have been copied out: their pages need not stay resident. They can still be read (again from the disk).
  void release(int64_t begin, int64_t bytes) const;

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

 private:
  MappedFile() = default;
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  std::vector<std::byte> memory_;
};

// Bytes that `shape` of `dtype` needs. Errors (file) start with `where` ("w.safetensors: tensor 'a'"): a negative
// extent, too many dims, or a product that does not fit into 63 bits.
int64_t claimed_bytes(const std::string& where, const Shape& shape, DType dtype);

}  // namespace nbx
