// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, measured: the figures that a profile's percentages refer to.
#pragma once
#include "backend/cpu/team.h"

namespace nbx {

struct MachineLimits {
  double copy_gb_per_s = 0;    // bytes read plus bytes written, 10^9 a second, of a copy far larger than the caches
  double gemm_gflops = 0;      // float32, 768 x 768 x 768, weights packed
  double team_latency_us = 0;  // until every thread of the team has run an empty chunk
};

// Best of several tries each; about a quarter of a second and 128 MB.
MachineLimits measure_machine(Team& team);

}  // namespace nbx
