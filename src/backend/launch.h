// SPDX-License-Identifier: Apache-2.0
// A launch as a device is asked for it: which kernel, with which key, how much work. No addresses: those belong to a
// program.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace nbx {

struct LaunchRecord {
  std::string op;                 // "custom::conv"
  std::string node;               // the graph's name for it
  std::string kernel;             // the candidate that serves
  std::vector<std::string> keys;  // kernel + key tuple, as text
  int64_t bytes = 0, flops = 0, workspace = 0;
};

class LaunchSink {
 public:
  virtual ~LaunchSink() = default;
  virtual void launch(LaunchRecord record) = 0;
};

}  // namespace nbx
