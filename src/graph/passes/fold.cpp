// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/passes/pass.h"
#include "ops/eager.h"
#include "ops/from_tensor.h"

namespace nbx {

namespace {

// A result much larger than what it is made from (an Expand of a number) is cheaper to make at each run than to keep.
constexpr int64_t kSmall = 64 << 10;

bool worth_keeping(const Call& call, const std::vector<Tensor>& results) {
  int64_t in = 0, out = 0;
  for (const Tensor& t : call.tensors) in += t.storage()->bytes();
  for (const Tensor& t : results) {
    const bool view = std::any_of(call.tensors.begin(), call.tensors.end(),
                                  [&](const Tensor& c) { return c.storage() == t.storage(); });
    if (!view) out += t.nbytes();
  }
  return out <= std::max(kSmall, 2 * in);
}

// The node's call, when all it needs is constant.
std::optional<Call> constant_call(const Graph& g, const Node& node) {
  Call call;
  call.op = node.op;
  call.values = node.values;
  const auto take = [&](TensorRef& r) {
    if (!r.defined()) return true;
    const Tensor& t = g.tensors[static_cast<size_t>(r.id)].constant;
    if (!t.defined()) return false;
    call.tensors.push_back(t);
    r.id = static_cast<int>(call.tensors.size()) - 1;
    return true;
  };
  for (size_t i = 0; i < call.values.size(); ++i) {
    Value& v = call.values[i];
    if (std::holds_alternative<Sym>(v) || std::holds_alternative<Syms>(v)) return std::nullopt;
    if (const auto* from = std::get_if<FromTensor>(&v)) {
      const Tensor& t = g.tensors[static_cast<size_t>(from->source.id)].constant;
      if (!t.defined()) return std::nullopt;
      v = value_from_tensor(*node.op, node.op->parsed.params[i], t);
      continue;
    }
    if (auto* r = std::get_if<TensorRef>(&v); r && !take(*r)) return std::nullopt;
    if (auto* list = std::get_if<TensorRefs>(&v))
      for (TensorRef& r : *list)
        if (!take(r)) return std::nullopt;
  }
  return call;
}

}  // namespace

bool fold_constants(Graph& g) {
  std::vector<Node> kept;
  bool changed = false;
  for (Node& node : g.nodes) {
    std::vector<Tensor> results;
    if (!node.op->has(kControl) && !node.op->has(kRandom) && node.bodies.empty()) {
      try {
        const auto call = constant_call(g, node);
        if (call) results = run_call(*call);
        if (call && !worth_keeping(*call, results)) results.clear();
      } catch (const Error&) {
        results.clear();  // a branch that is never taken may hold such a node; when it does run, it says so itself
      }
    }
    if (results.size() != node.outputs.size() || results.empty()) {
      for (const int id : node.outputs) g.tensors[static_cast<size_t>(id)].producer = static_cast<int>(kept.size());
      kept.push_back(std::move(node));
      continue;
    }
    changed = true;
    for (size_t i = 0; i < results.size(); ++i) {
      GraphTensor& t = g.tensors[static_cast<size_t>(node.outputs[i])];
      t.constant = results[i];
      t.producer = -1;
    }
  }
  g.nodes = std::move(kept);
  return changed;
}

}  // namespace nbx
