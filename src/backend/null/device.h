// SPDX-License-Identifier: Apache-2.0
// The null device: takes every launch, computes nothing. With it a model's plan and launches are known, and tested,
// where there is no device; it is also the smallest example of a backend.
#pragma once
#include <vector>

#include "backend/launch.h"

namespace nbx {

class NullDevice final : public LaunchSink {
 public:
  void launch(LaunchRecord record) override { launches_.push_back(std::move(record)); }
  const std::vector<LaunchRecord>& launches() const { return launches_; }

 private:
  std::vector<LaunchRecord> launches_;
};

}  // namespace nbx
