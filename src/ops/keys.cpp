// SPDX-License-Identifier: Apache-2.0
#include "ops/keys.h"

#include <fmt/format.h>

namespace nbx {

namespace {

struct Text {
  std::string operator()(None) const { return "None"; }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return v; }
};

}  // namespace

std::string to_string(const LaunchKey& key) {
  std::string out = key.kernel + " (";
  for (size_t i = 0; i < key.key.size(); ++i) out += (i ? ", " : "") + std::visit(Text{}, key.key[i]);
  return out + ")";
}

int64_t pow2_bucket(int64_t n) {
  int64_t bucket = n <= 0 ? 0 : 1;
  while (bucket < n && bucket < (int64_t{1} << 62)) bucket *= 2;
  return bucket;
}

std::string tag(DType dtype) { return info(dtype).tag; }

}  // namespace nbx
