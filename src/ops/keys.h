// SPDX-License-Identifier: Apache-2.0
// Launch keys: kernel name + tuple. Derived from metas and a device profile, with no device present.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "ops/value.h"

namespace nbx {

struct Profile;

using KeyElement = std::variant<None, bool, int64_t, double, std::string>;
struct LaunchKey {
  std::string kernel;
  std::vector<KeyElement> key;
};
std::string to_string(const LaunchKey& key);  // "softmax (fp32, 128, 1024)"

class KeySink {
 public:
  void add(std::string kernel, std::vector<KeyElement> key) { keys_.push_back({std::move(kernel), std::move(key)}); }
  const std::vector<LaunchKey>& keys() const { return keys_; }

 private:
  std::vector<LaunchKey> keys_;
};

// Next power of two at or above n (0 stays 0).
int64_t pow2_bucket(int64_t n);
// The dtype's tag in a key: "fp32".
std::string tag(DType dtype);

}  // namespace nbx
