// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"

namespace nbx {
namespace {

struct Descriptor {
  int value = -1;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

// Alignment of one element; a complex number is aligned as its parts.
uintptr_t alignment_of(DType dtype) { return static_cast<uintptr_t>(itemsize(dtype) / (is_complex(dtype) ? 2 : 1)); }

}  // namespace

FileBytes MappedFile::open(const std::string& path) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  // O_NONBLOCK: a FIFO without a writer must be refused below, not waited for.
  Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  require(descriptor.value >= 0, Code::file, "{}: cannot open the file: {}", path, std::strerror(errno));
  struct stat facts = {};
  require(::fstat(descriptor.value, &facts) == 0, Code::file, "{}: cannot read the file's size: {}", path,
          std::strerror(errno));
  require(S_ISREG(facts.st_mode), Code::file, "{}: {}; name a regular file", path,
          S_ISDIR(facts.st_mode) ? "this is a folder" : "this is not a regular file");
  file->size_ = static_cast<size_t>(facts.st_size);
  if (file->size_ == 0) return file;
  void* address = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, descriptor.value, 0);
  require(address != MAP_FAILED, Code::file, "{}: cannot map {} bytes: {}", path, file->size_, std::strerror(errno));
  file->data_ = static_cast<const std::byte*>(address);
  file->mapped_ = true;
  return file;
}

FileBytes MappedFile::in_memory(std::string name, std::vector<std::byte> bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = std::move(name);
  file->memory_ = std::move(bytes);
  file->data_ = file->memory_.data();
  file->size_ = file->memory_.size();
  return file;
}

FileBytes MappedFile::in_memory(std::string name, std::string_view bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return in_memory(std::move(name), std::vector<std::byte>(first, first + bytes.size()));
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(int64_t begin, int64_t bytes) const {
  NBX_ASSERT(begin >= 0 && begin <= size() && bytes >= 0 && bytes <= size() - begin);
  if (!mapped_) return;
  // Whole pages only: their neighbours may be in use.
  const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  const int64_t first = (begin + page - 1) / page * page, last = (begin + bytes) / page * page;
  if (first < last) ::madvise(const_cast<std::byte*>(data_) + first, static_cast<size_t>(last - first), MADV_DONTNEED);
}

Tensor MappedFile::tensor(int64_t begin, const Shape& shape, DType dtype) const {
  const int64_t bytes = nbx::numel(shape, itemsize(dtype)) * itemsize(dtype);
  NBX_ASSERT(begin >= 0 && begin <= size() && bytes <= size() - begin);
  if (bytes == 0) return Tensor::empty(shape, dtype);
  const std::byte* first = data_ + begin;
  if (reinterpret_cast<uintptr_t>(first) % alignment_of(dtype) == 0)
    return Tensor::borrow(const_cast<std::byte*>(first), shape, dtype, shared_from_this(), /*writable=*/false);
  Tensor copy = Tensor::empty(shape, dtype);
  std::memcpy(copy.raw_mutable(), first, static_cast<size_t>(bytes));
  return copy;
}

int64_t claimed_bytes(const std::string& where, const Shape& shape, DType dtype) {
  require(shape.size() <= static_cast<size_t>(kMaxRank), Code::file, "{}: {} dims; at most {} are supported", where,
          shape.size(), kMaxRank);
  int64_t bytes = itemsize(dtype);
  bool fits = true, empty = false;
  for (int64_t extent : shape) {
    require(extent >= 0, Code::file, "{}: shape {} has the negative extent {}", where, to_string(shape), extent);
    empty = empty || extent == 0;
    // An empty tensor with impossible other extents has no strides that fit either.
    if (extent > 0) fits = fits && checked_mul(bytes, extent, bytes);
  }
  require(fits, Code::file, "{}: shape {} of {} needs more than 2^63 bytes", where, to_string(shape), name(dtype));
  return empty ? 0 : bytes;
}

}  // namespace nbx
