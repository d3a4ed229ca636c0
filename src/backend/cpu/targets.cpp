// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/targets.h"

#include "base/check.h"

#include <fmt/ranges.h>
#include <hwy/highway.h>

namespace nbx {
namespace {

int64_t available() {
  // Asked once, while nothing is masked.
  static const int64_t targets = [] {
    hwy::SetSupportedTargetsForTest(0);
    const int64_t found = hwy::SupportedTargets() & HWY_TARGETS;
    return found == 0 ? HWY_STATIC_TARGET : found;
  }();
  return targets;
}

int64_t lowest_bit(int64_t mask) { return mask & -mask; }

}  // namespace

std::vector<std::string> cpu_targets() {
  std::vector<std::string> names;
  for (int64_t left = available(); left != 0; left &= left - 1) names.emplace_back(hwy::TargetName(lowest_bit(left)));
  return names;
}

std::string cpu_target() {
  const int64_t usable = hwy::SupportedTargets() & available();
  return hwy::TargetName(usable == 0 ? HWY_STATIC_TARGET : lowest_bit(usable));
}

void set_cpu_target(std::string_view name) {
  int64_t chosen = name.empty() ? available() : 0;
  for (int64_t left = available(); left != 0; left &= left - 1)
    if (name == hwy::TargetName(lowest_bit(left))) chosen = lowest_bit(left);
  require(chosen != 0, Code::value, "cpu target '{}' is not one of {}", name, fmt::join(cpu_targets(), ", "));
  hwy::SetSupportedTargetsForTest(name.empty() ? 0 : chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace nbx
