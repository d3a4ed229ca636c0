// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace nbx {
namespace {

// What a new file of this process would get; mkstemp makes files that only the owner can read.
mode_t mode_of(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) == 0) return facts.st_mode & 0777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A symbolic link stays one: its target is what gets replaced.
std::string followed(std::string path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  path = real;
  std::free(real);
  return path;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(followed(std::move(path))), temporary_(path_ + ".XXXXXX") {
  struct stat facts = {};
  require(::stat(path_.c_str(), &facts) != 0 || S_ISREG(facts.st_mode), Code::file,
          "{}: not a regular file; name a file to write", path_);
  file_ = ::mkstemp(temporary_.data());
  require(file_ >= 0, Code::file, "{}: cannot create a file in {}: {}", path_, folder_of(path_), std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  NBX_ASSERT(file_ >= 0);
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(file_, next, std::min(bytes, size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    require(done >= 0, Code::file, "{}: cannot write {} more bytes after {}: {}", path_, bytes, written_,
            std::strerror(errno));
    next += done;
    bytes -= static_cast<size_t>(done);
    written_ += done;
  }
}

void AtomicFile::commit() {
  NBX_ASSERT(file_ >= 0);
  const bool stored = ::fchmod(file_, mode_of(path_)) == 0 && ::fsync(file_) == 0;
  require(stored, Code::file, "{}: cannot store {} bytes: {}", path_, written_, std::strerror(errno));
  require(::rename(temporary_.c_str(), path_.c_str()) == 0, Code::file, "{}: cannot rename {} to it: {}", path_,
          temporary_, std::strerror(errno));
  ::close(std::exchange(file_, -1));
  // The rename is durable once the folder is; a file system that cannot sync folders keeps the rename in order anyway.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace nbx
