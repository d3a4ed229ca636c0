// SPDX-License-Identifier: Apache-2.0
// conv → batch_norm with constant statistics: y = (conv(x) - mean) * scale / sqrt(var + eps) + shift is a convolution
// with other weights and another bias; so is a product or sum with a constant number or one constant a channel.
// Computed in float64, rounded once.
#include <cmath>

#include "graph/passes/pass.h"

namespace nbx {

namespace {

struct Affine {
  std::vector<double> scale, shift;
};

const Tensor* constant(const Graph& g, const Node& node, const char* param) {
  const int i = node.op->parsed.find(param);
  if (i < 0) return nullptr;
  const auto* r = std::get_if<TensorRef>(&node.values[static_cast<size_t>(i)]);
  if (!r || !r->defined()) return nullptr;
  const Tensor& t = g.tensors[static_cast<size_t>(r->id)].constant;
  return t.defined() ? &t : nullptr;
}
bool absent(const Node& node, const char* param) {
  const int i = node.op->parsed.find(param);
  if (i < 0) return true;
  const auto* r = std::get_if<TensorRef>(&node.values[static_cast<size_t>(i)]);
  return is_none(node.values[static_cast<size_t>(i)]) || (r && !r->defined());
}
template <class T>
T value_of(const Node& node, const char* param, T fallback) {
  const int i = node.op->parsed.find(param);
  if (i < 0) return fallback;
  const auto* v = std::get_if<T>(&node.values[static_cast<size_t>(i)]);
  return v ? *v : fallback;
}

std::optional<Affine> affine_of(const Graph& g, const Node& bn) {
  if (bn.op->parsed.full_name() != "aten::batch_norm" || value_of<bool>(bn, "training", false)) return std::nullopt;
  const Tensor *mean = constant(g, bn, "running_mean"), *var = constant(g, bn, "running_var");
  const Tensor *weight = constant(g, bn, "weight"), *bias = constant(g, bn, "bias");
  if (!mean || !var || (!weight && !absent(bn, "weight")) || (!bias && !absent(bn, "bias"))) return std::nullopt;
  const auto m = mean->to_doubles(), v = var->to_doubles();
  const auto w = weight ? weight->to_doubles() : std::vector<double>(m.size(), 1.0);
  const auto b = bias ? bias->to_doubles() : std::vector<double>(m.size(), 0.0);
  if (v.size() != m.size() || w.size() != m.size() || b.size() != m.size()) return std::nullopt;
  const double eps = value_of<double>(bn, "eps", 1e-5);
  Affine a;
  for (size_t c = 0; c < m.size(); ++c) {
    a.scale.push_back(w[c] / std::sqrt(v[c] + eps));
    a.shift.push_back(b[c] - m[c] * a.scale.back());
  }
  return a;
}

// conv * c or conv + c with a constant number, or one a channel as (C, 1, 1): ranks below the convolution's change no
// shape. `from`: the other operand.
std::optional<Affine> affine_of(const Graph& g, const Node& n, int64_t rank, int64_t channels, int& from) {
  const bool product = n.op->parsed.full_name() == "aten::mul.Tensor";
  if (!product && n.op->parsed.full_name() != "aten::add.Tensor") return std::nullopt;
  if (!product) {
    const Value& alpha = n.values[static_cast<size_t>(n.op->parsed.find("alpha"))];
    const auto* i = std::get_if<int64_t>(&alpha);
    const auto* d = std::get_if<double>(&alpha);
    if (!(i && *i == 1) && !(d && *d == 1.0)) return std::nullopt;
  }
  const Tensor *left = constant(g, n, "self"), *right = constant(g, n, "other");
  if ((left != nullptr) == (right != nullptr)) return std::nullopt;
  const Tensor& c = left ? *left : *right;
  const auto* x = std::get_if<TensorRef>(&n.values[left ? 1 : 0]);
  if (!x || !x->defined() || c.dtype() != DType::float32 || c.rank() >= rank) return std::nullopt;
  if (c.numel() != 1 && !(c.numel() == channels && c.rank() == rank - 1 && c.dim(0) == channels)) return std::nullopt;
  from = x->id;
  std::vector<double> each = c.to_doubles();
  each.resize(static_cast<size_t>(channels), each[0]);
  Affine a;
  const std::vector<double> zeros(each.size(), 0.0), ones(each.size(), 1.0);
  a.scale = product ? each : ones;
  a.shift = product ? zeros : each;
  return a;
}

bool may_fold(const Node& n) {
  const std::string& name = n.op->parsed.name;
  return name == "batch_norm" || name == "mul" || name == "add";
}
// What it may follow: any operand that is no constant.
int operand_of(const Graph& g, const Node& n) {
  for (size_t i = 0; i < std::min<size_t>(n.op->parsed.name == "batch_norm" ? 1 : 2, n.values.size()); ++i)
    if (const auto* x = std::get_if<TensorRef>(&n.values[i]);
        x && x->defined() && !g.tensors[static_cast<size_t>(x->id)].constant.defined())
      return x->id;
  return -1;
}

}  // namespace

bool fold_batch_norm(Graph& g) {
  std::vector<int> readers(g.tensors.size(), 0);
  for (const Node& n : g.nodes)
    for (const int id : reads(n)) ++readers[static_cast<size_t>(id)];
  for (const int id : g.outputs) ++readers[static_cast<size_t>(id)];

  bool changed = false;
  std::vector<int> replaced(g.tensors.size());
  for (size_t i = 0; i < replaced.size(); ++i) replaced[i] = static_cast<int>(i);
  for (Node& bn : g.nodes) {
    if (!may_fold(bn)) continue;
    const int seen = operand_of(g, bn);
    if (seen < 0 || readers[static_cast<size_t>(seen)] != 1) continue;
    const int x = replaced[static_cast<size_t>(seen)];  // a chain of these folds one after the other
    const int producer = g.tensors[static_cast<size_t>(x)].producer;
    if (producer < 0) continue;
    Node& conv = g.nodes[static_cast<size_t>(producer)];
    if (conv.op->parsed.full_name() != "custom::conv" || !absent(conv, "residual")) continue;
    if (value_of<std::string>(conv, "activation", "none") != "none") continue;
    const Tensor *weight = constant(g, conv, "weight"), *bias = constant(g, conv, "bias");
    if (!weight || (!bias && !absent(conv, "bias")) || weight->dtype() != DType::float32 || weight->rank() < 3)
      continue;
    int from = seen;
    const auto a =
        bn.op->parsed.name == "batch_norm" ? affine_of(g, bn) : affine_of(g, bn, weight->rank(), weight->dim(0), from);
    if (!a || from != seen || static_cast<int64_t>(a->scale.size()) != weight->dim(0)) continue;

    Tensor w = weight->clone();
    const int64_t channels = w.dim(0), each = w.numel() / std::max<int64_t>(1, channels);
    float* p = w.mutable_data<float>();
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < each; ++i)
        p[c * each + i] = static_cast<float>(p[c * each + i] * a->scale[static_cast<size_t>(c)]);
    const auto old = bias ? bias->to_doubles() : std::vector<double>(static_cast<size_t>(channels), 0.0);
    Tensor shifted = Tensor::empty({channels}, DType::float32);
    for (int64_t c = 0; c < channels; ++c) {
      const size_t u = static_cast<size_t>(c);
      shifted.mutable_data<float>()[c] = static_cast<float>(old[u] * a->scale[u] + a->shift[u]);
    }
    const std::string base = g.tensors[static_cast<size_t>(x)].name;
    const int new_weight = g.add_constant(w, base + ".folded_weight", true);
    const int new_bias = g.add_constant(shifted, base + ".folded_bias", true);
    replaced.push_back(new_weight);
    replaced.push_back(new_bias);
    readers.resize(g.tensors.size(), 1);
    conv.values[static_cast<size_t>(conv.op->parsed.find("weight"))] = TensorRef{new_weight};
    conv.values[static_cast<size_t>(conv.op->parsed.find("bias"))] = TensorRef{new_bias};
    replaced[static_cast<size_t>(bn.outputs[0])] = x;
    // The name that the outside may ask for stays.
    g.tensors[static_cast<size_t>(x)].name.swap(g.tensors[static_cast<size_t>(bn.outputs[0])].name);
    changed = true;
  }
  if (!changed) return false;
  for (Node& n : g.nodes) {
    const std::vector<int> outputs = n.outputs;
    remap(n, replaced);
    n.outputs = outputs;
  }
  for (int& id : g.outputs) id = replaced[static_cast<size_t>(id)];
  return drop_dead(g) || changed;
}

}  // namespace nbx
