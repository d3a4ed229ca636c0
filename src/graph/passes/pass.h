// SPDX-License-Identifier: Apache-2.0
// Passes over a graph as it is loaded, before shapes are known. Each is a function with its own tests; the graph is
// verified after each one.
#pragma once
#include <span>

#include "graph/graph.h"

namespace nbx {

struct Pass {
  const char* name;
  bool (*run)(Graph&);  // true when it changed something
};

bool fold_constants(Graph& graph);   // what depends on constants alone is computed
bool fold_batch_norm(Graph& graph);  // into the weights of the convolution before it
bool drop_dead(Graph& graph);        // nodes and constants that no output needs

std::span<const Pass> load_passes();
// Runs them in order on the graph and on its bodies.
void run_load_passes(Graph& graph);

}  // namespace nbx
