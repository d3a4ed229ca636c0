// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/machine.h"

#include <gtest/gtest.h>

namespace nbx {
namespace {

TEST(Machine, EveryLimitIsMeasuredAndPlausible) {
  Team team(2);
  const MachineLimits limits = measure_machine(team);
  EXPECT_GT(limits.copy_gb_per_s, 0);
  EXPECT_LT(limits.copy_gb_per_s, 1e5);
  EXPECT_GT(limits.gemm_gflops, 0);
  EXPECT_LT(limits.gemm_gflops, 1e6);
  EXPECT_GT(limits.team_latency_us, 0);
}

}  // namespace
}  // namespace nbx
