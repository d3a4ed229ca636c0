// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/pass.h"

namespace nbx {

bool drop_dead(Graph& g) {
  std::vector<char> used(g.tensors.size(), 0);
  for (const int id : g.outputs) used[static_cast<size_t>(id)] = 1;
  std::vector<char> keep(g.nodes.size(), 0);
  for (size_t n = g.nodes.size(); n-- > 0;) {
    bool needed = false;
    for (const int id : g.nodes[n].outputs) needed = needed || used[static_cast<size_t>(id)];
    if (!needed) continue;
    keep[n] = 1;
    for (const int id : reads(g.nodes[n])) used[static_cast<size_t>(id)] = 1;
  }
  // Inputs stay: they are the model's interface. Everything else that nobody reads goes, and ids close up.
  for (const int id : g.inputs) used[static_cast<size_t>(id)] = 1;
  for (size_t n = 0; n < g.nodes.size(); ++n)
    if (keep[n])
      for (const int id : g.nodes[n].outputs) used[static_cast<size_t>(id)] = 1;
  bool changed = false;
  std::vector<int> map(g.tensors.size(), -1);
  std::vector<GraphTensor> tensors;
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    if (!used[i]) {
      changed = true;
      continue;
    }
    map[i] = static_cast<int>(tensors.size());
    tensors.push_back(std::move(g.tensors[i]));
  }
  std::vector<Node> nodes;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    if (!keep[n]) {
      changed = true;
      continue;
    }
    remap(g.nodes[n], map);
    for (const int id : g.nodes[n].outputs) tensors[static_cast<size_t>(id)].producer = static_cast<int>(nodes.size());
    nodes.push_back(std::move(g.nodes[n]));
  }
  g.tensors = std::move(tensors);
  g.nodes = std::move(nodes);
  for (int& id : g.inputs) id = map[static_cast<size_t>(id)];
  for (int& id : g.outputs) id = map[static_cast<size_t>(id)];
  return changed;
}

}  // namespace nbx
