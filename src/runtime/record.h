// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nbx/session.h>

#include "backend/launch.h"
#include "facts/profile.h"
#include "graph/graph.h"

namespace nbx {

struct Recording {
  bool complete = true;  // false: what comes next depends on values
  int64_t arena_bytes = 0;
  int64_t lower_bound_bytes = 0;
};

// Plans the graph for these input shapes as a session would and hands each launch to the sink, in order; runs nothing
// and needs no device. Stops where a value would have to be known.
Recording record_launches(const Graph& graph, const Metas& inputs, const Profile& profile, LaunchSink& sink,
                          const SessionOptions& options = {});

}  // namespace nbx
