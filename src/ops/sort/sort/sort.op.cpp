// SPDX-License-Identifier: Apache-2.0
// sort, argsort and topk along any dim: stable, NaN is the largest value, -0 equals 0.
#include "ops/sort/sort/sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const SortSpec s = sort_spec(a);
  const Meta indices(DType::int64, s.out);
  if (s.value_output < 0) return {indices};
  return {a.tensor("self").with(s.out), indices};
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  const SortSpec s = sort_spec(a);
  int64_t levels = 1;
  for (int64_t n = s.n; n > 1; n /= 2) ++levels;
  c.flops = a.tensor("self").numel() * levels;
  c.workspace = sort_bytes(a);
  return c;
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const SortSpec s = sort_spec(a);
  const Tensor& x = operands[0];
  const auto values = x.to_doubles();
  std::vector<double> sorted(static_cast<size_t>(numel(s.out)));
  std::vector<int64_t> indices(sorted.size());
  for (int64_t r = 0; r < s.outer * s.inner; ++r) {
    const int64_t o = r / s.inner, i = r % s.inner;
    const auto value = [&](int64_t j) { return values[static_cast<size_t>((o * s.n + j) * s.inner + i)]; };
    const auto less = [](double p, double q) { return std::isnan(q) ? !std::isnan(p) : p < q; };
    std::vector<int64_t> order(static_cast<size_t>(s.n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
      return s.descending ? less(value(q), value(p)) : less(value(p), value(q));
    });
    for (int64_t j = 0; j < s.k; ++j) {
      const auto at = static_cast<size_t>((o * s.k + j) * s.inner + i);
      sorted[at] = value(order[static_cast<size_t>(j)]);
      indices[at] = order[static_cast<size_t>(j)];
    }
  }
  const Tensor index = Tensor::of<int64_t>(s.out, std::span<const int64_t>(indices));
  if (s.value_output < 0) return {index};
  Tensor out = Tensor::of<double>(s.out, std::span<const double>(sorted));
  if (!is_floating(x.dtype())) out = out.to(x.dtype());
  return {out, index};
}

template <bool stable>
void samples(SampleSink& s) {
  const auto add = [&](Tensor t, int64_t dim, bool descending) {
    if (stable)
      s.add({t}, {{"stable", val(true)}, {"dim", val(dim)}, {"descending", val(descending)}});
    else
      s.add({t, val(dim), val(descending)});
  };
  for (const bool descending : {false, true}) {
    for (const int64_t n : {1, 5, 70}) add(randn({3, n}), -1, descending);
    add(randn({3, 20, 4}), 1, descending);
    add(special_floats(), 0, descending);
    add(rand_ints({4, 30}, -3, 3), 1, descending);
    add(rand_ints({4, 30}, 0, 3, DType::uint8), 0, descending);
    add(strided(randn({5, 6})), 0, descending);
    add(randn({}), 0, descending);
    add(randn({3, 0}), 1, descending);
  }
}
void topk_samples(SampleSink& s) {
  for (const bool largest : {true, false}) {
    for (const int64_t k : {0, 1, 3, 40}) s.add({randn({3, 40}), val(k), val(-1), val(largest)});
    s.add({randn({3, 40, 2}), val(5), val(1), val(largest)});
    s.add({special_floats(), val(7), val(0), val(largest)});
    s.add({rand_ints({4, 30}, -3, 3), val(10), val(1), val(largest)});
  }
  s.error(Code::index, {"k is 5", "4 elements"}, {randn({2, 4}), val(5)});
}

// k is an attribute before opset 10, then an input of one element.
void import_topk(Importing& in) {
  const Value k = in.opset() < 10 ? Value(in.integer("k")) : Value(FromTensor{in.input(1)});
  const auto out = in.emit_all("aten::topk", {in.input(0), k, in.integer("axis", -1), in.integer("largest", 1) != 0,
                                              in.integer("sorted", 1) != 0});
  in.output(0, out[0]);
  in.output(1, out[1]);
}

OpDecl declared(const char* schema, SamplesFn make_samples, std::vector<OnnxImport> imports = {}) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  Kernel k = cpu("sort_cpu", bind_sort);
  k.workspace = sort_bytes;
  d.kernels = {k};
  d.oracle = oracle;
  d.samples = make_samples;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.imports = std::move(imports);
  d.source = "ATen; ONNX TopK";
  return d;
}

}  // namespace

namespace decls {

Decls sort() {
  return {
      declared("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
               samples<false>),
      declared("aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, "
               "Tensor indices)",
               samples<true>),
      declared("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", samples<false>),
      declared("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
               samples<true>),
      declared("aten::topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, "
               "Tensor indices)",
               topk_samples, {{"TopK", import_topk}}),
  };
}

}  // namespace decls
}  // namespace nbx
