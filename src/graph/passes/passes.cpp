// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/pass.h"

namespace nbx {

std::span<const Pass> load_passes() {
  static constexpr Pass passes[] = {
      {"fold_constants", fold_constants},
      {"fold_batch_norm", fold_batch_norm},
      {"drop_dead", drop_dead},
  };
  return passes;
}

void run_load_passes(Graph& graph) {
  for (Node& node : graph.nodes) {
    for (auto& body : node.bodies) {
      auto copy = std::make_shared<Graph>(*body);
      run_load_passes(*copy);
      body = std::move(copy);
    }
  }
  for (const Pass& pass : load_passes())
    if (pass.run(graph)) verify(graph, pass.name);
}

}  // namespace nbx
