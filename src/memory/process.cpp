// SPDX-License-Identifier: Apache-2.0
#include "memory/process.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace nbx {

namespace {

std::optional<int64_t> status_kib(const std::string& key) {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind(key, 0) != 0) continue;
    return std::atoll(line.c_str() + key.size()) * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> resident_bytes() { return status_kib("VmRSS:"); }
std::optional<int64_t> peak_resident_bytes() { return status_kib("VmHWM:"); }

}  // namespace nbx
