// SPDX-License-Identifier: Apache-2.0
#include "memory/budget.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace nbx {

namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
// Below this a block is only counted: asking the system costs more than it is worth.
constexpr int64_t kAsk = int64_t{64} << 20;

std::atomic<int64_t> claimed{0};

// The number after `key` in a small file of the system; without an allocation, for this runs beside kernels.
int64_t number_in(const char* path, const char* key) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kUnknown;
  char text[4096];
  const ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (n <= 0) return kUnknown;
  text[n] = '\0';
  const char* at = std::strstr(text, key);
  if (!at) return kUnknown;
  at += std::strlen(key);
  while (*at == ' ') ++at;
  if (!std::isdigit(static_cast<unsigned char>(*at))) return kUnknown;  // "max"
  int64_t value = 0;
  for (; std::isdigit(static_cast<unsigned char>(*at)); ++at) {
    if (value > kUnknown / 10 - 9) return kUnknown;
    value = value * 10 + (*at - '0');
  }
  return value;
}

int64_t at_most(const rlimit& limit) {
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > static_cast<rlim_t>(kUnknown)) return kUnknown;
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t read_limit() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  int64_t limit = pages > 0 && page > 0 ? pages * page : kUnknown;
  limit = std::min(limit, number_in("/sys/fs/cgroup/memory.max", ""));
  limit = std::min(limit, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""));
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) == 0) limit = std::min(limit, at_most(own));
  if (getrlimit(RLIMIT_DATA, &own) == 0) limit = std::min(limit, at_most(own));
  return limit;
}

int64_t free_now() {
  const int64_t kib = number_in("/proc/meminfo", "MemAvailable:");
  return kib > kUnknown / 1024 ? kUnknown : kib * 1024;
}

}  // namespace

int64_t memory_limit() {
  static const int64_t limit = read_limit();
  return limit;
}

int64_t memory_available() {
  const int64_t left = memory_limit() - claimed.load(std::memory_order_relaxed);
  return std::max<int64_t>(0, std::min(free_now(), left));
}

bool memory_allows(int64_t bytes) { return bytes < kAsk || bytes <= memory_available(); }

void claim_memory(int64_t bytes, const char* what) {
  const int64_t limit = memory_limit();
  if (bytes <= limit && (bytes < kAsk || bytes <= free_now())) {
    if (claimed.fetch_add(bytes, std::memory_order_relaxed) <= limit - bytes) return;
    claimed.fetch_sub(bytes, std::memory_order_relaxed);
  }
  fail(Code::budget, "{}: {} bytes are needed, {} are available", what, bytes, memory_available());
}

void release_memory(int64_t bytes) { claimed.fetch_sub(bytes, std::memory_order_relaxed); }

}  // namespace nbx
