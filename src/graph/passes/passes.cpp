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

namespace {

// What a body captures and the graph around it knows is known in the body, too: weights that a branch transposes are
// then transposed once, at load. The input stays, so the body is called as before.
void hand_constants_down(const Graph& outer, const Node& node, Graph& body) {
  const auto& captures = std::get<TensorRefs>(node.values[static_cast<size_t>(node.op->parsed.find("captures"))]);
  if (body.inputs.size() < captures.size()) return;
  const size_t first = body.inputs.size() - captures.size();
  for (size_t i = 0; i < captures.size(); ++i) {
    if (!captures[i].defined()) continue;
    const Tensor& known = outer.tensors[static_cast<size_t>(captures[i].id)].constant;
    if (known.defined()) body.tensors[static_cast<size_t>(body.inputs[first + i])].constant = known;
  }
}

}  // namespace

void run_load_passes(Graph& graph) {
  if (fold_constants(graph)) verify(graph, "fold_constants");
  for (Node& node : graph.nodes) {
    for (auto& body : node.bodies) {
      auto copy = std::make_shared<Graph>(*body);
      hand_constants_down(graph, node, *copy);
      run_load_passes(*copy);
      body = std::move(copy);
    }
  }
  for (const Pass& pass : load_passes())
    if (pass.run(graph)) verify(graph, pass.name);
}

}  // namespace nbx
