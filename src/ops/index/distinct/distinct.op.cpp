// SPDX-License-Identifier: Apache-2.0
// ONNX Unique: the distinct elements, or slices along an axis, with where each came first, which one each place holds,
// and how often each comes.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "ops/index/indices.h"
#include "ops/shape/views.h"
#include "shape/strides.h"

namespace nbx {
namespace {

// self as (outer, n, inner), compared slice by slice along n.
struct Slices {
  int64_t outer = 1, n = 0, inner = 1, axis = 0;
  bool flat = true;
};
Slices slices_of(const Args& a) {
  const Meta& x = a.tensor("self");
  require(!is_complex(x.dtype), Code::dtype, "onnx_unique: {} has no order", name(x.dtype));
  require(x.known.defined(), Code::internal, "onnx_unique: the values of self are not known");
  Slices s;
  if (!a.has("axis")) {
    s.n = x.numel();
    return s;
  }
  require(x.rank() > 0, Code::shape, "onnx_unique: self is 0-d; it has no axis");
  s.axis = wrap_dim(a.integer("axis"), x.rank(), "onnx_unique: axis");
  s.flat = false;
  s.n = x.shape[s.axis];
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != s.axis) (d < s.axis ? s.outer : s.inner) *= x.shape[d];
  return s;
}

struct Groups {
  std::vector<int64_t> first, inverse, counts;  // of each group; for each slice; of each group
};

// Stable: the first slice of a group is the earliest one.
template <class T>
Groups grouped(const std::vector<T>& values, const Slices& s, bool sorted) {
  const auto at = [&](int64_t slice, int64_t k) {
    return values[static_cast<size_t>((k / s.inner * s.n + slice) * s.inner + k % s.inner)];
  };
  const int64_t length = s.outer * s.inner;
  const auto compare = [&](int64_t i, int64_t j) {  // NaN last, and equal to itself
    for (int64_t k = 0; k < length; ++k) {
      const T v = at(i, k), w = at(j, k);
      if (v < w || (v == v && w != w)) return -1;
      if (w < v || (w == w && v != v)) return 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(s.n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return compare(i, j) < 0; });
  Groups g;
  g.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      g.first.push_back(order[i]);
      g.counts.push_back(0);
    }
    ++g.counts.back();
    g.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(g.first.size()) - 1;
  }
  if (sorted) return g;
  // In the order of their first appearance.
  std::vector<int64_t> rank(g.first.size()), place(g.first.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::sort(rank.begin(), rank.end(), [&](int64_t i, int64_t j) { return g.first[i] < g.first[j]; });
  Groups out = g;
  for (size_t i = 0; i < rank.size(); ++i) {
    out.first[i] = g.first[rank[i]];
    out.counts[i] = g.counts[rank[i]];
    place[rank[i]] = static_cast<int64_t>(i);
  }
  for (int64_t& v : out.inverse) v = place[v];
  return out;
}
Groups groups_of(const Args& a) {
  const Slices s = slices_of(a);
  const Tensor& x = a.tensor("self").known;
  const bool sorted = a.flag("sorted");
  return is_floating(x.dtype()) ? grouped(x.to_doubles(), s, sorted) : grouped(x.to_ints(), s, sorted);
}

Metas infer(const Args& a) {
  const Meta& x = a.tensor("self");
  const Slices s = slices_of(a);
  const int64_t groups = static_cast<int64_t>(groups_of(a).first.size());
  Shape shape = s.flat ? Shape{groups} : x.shape;
  shape[s.axis] = groups;
  return {x.with(shape), Meta(DType::int64, {groups}), Meta(DType::int64, {s.n}), Meta(DType::int64, {groups})};
}

// The values are those that infer saw, so the groups are found once, when bound.
Bound bind(const Args& a, const Metas& outputs) {
  const Slices s = slices_of(a);
  const auto g = std::make_shared<const Groups>(groups_of(a));
  const int64_t block = s.inner * itemsize(outputs[0].dtype);
  return [=](const Run& r) {
    const int64_t groups = static_cast<int64_t>(g->first.size());
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t k = 0; k < groups; ++k)
        std::copy_n(r.in<std::byte>(0) + (o * s.n + g->first[k]) * block, block,
                    r.out<std::byte>(0) + (o * groups + k) * block);
    std::copy(g->first.begin(), g->first.end(), r.out<int64_t>(1));
    std::copy(g->inverse.begin(), g->inverse.end(), r.out<int64_t>(2));
    std::copy(g->counts.begin(), g->counts.end(), r.out<int64_t>(3));
  };
}

// Each slice is compared with all that were found before it.
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const Tensor x = a.has("axis") ? operands[0] : operands[0].view({operands[0].numel()});
  const int64_t axis = a.has("axis") ? (a.integer("axis") + x.rank()) % x.rank() : 0;
  std::vector<std::vector<double>> found;
  std::vector<int64_t> first, counts, inverse;
  for (int64_t i = 0; i < x.dim(axis); ++i) {
    const std::vector<double> slice = x.select(axis, i).to_doubles();
    size_t k = 0;
    while (k < found.size() && found[k] != slice) ++k;
    if (k == found.size()) {
      found.push_back(slice);
      first.push_back(i);
      counts.push_back(0);
    }
    ++counts[k];
    inverse.push_back(static_cast<int64_t>(k));
  }
  std::vector<int64_t> order(found.size()), place_of(found.size());
  std::iota(order.begin(), order.end(), 0);
  if (a.flag("sorted"))
    std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return found[i] < found[j]; });
  std::vector<int64_t> firsts, times;
  for (size_t i = 0; i < order.size(); ++i) {
    place_of[order[i]] = static_cast<int64_t>(i);
    firsts.push_back(first[order[i]]);
    times.push_back(counts[order[i]]);
  }
  for (int64_t& v : inverse) v = place_of[v];
  Shape shape = x.shape();
  shape[axis] = static_cast<int64_t>(order.size());
  const auto list = [](const std::vector<int64_t>& v) {
    return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  return {rearranged(x, shape,
                     [&](Ints i) {
                       i[axis] = firsts[static_cast<size_t>(i[axis])];
                       return place(x.shape(), i);
                     }),
          list(firsts), list(inverse), list(times)};
}

void samples(SampleSink& s) {
  for (const bool sorted : {true, false}) {
    s.add_as_is({Tensor::of<float>({6}, {2, 1, 1, 3, 4, 3})}, {{"sorted", val(sorted)}});
    s.add_as_is({rand_ints({3, 40}, -5, 5), none, val(sorted)});
    s.add_as_is({rand_ints({9, 2}, 0, 2), val(0), val(sorted)});
    s.add_as_is({rand_ints({2, 12, 2}, 0, 2, DType::int8), val(-2), val(sorted)});
  }
  s.add_as_is({randn({0})});
  s.add_as_is({Tensor::scalar<int64_t>(4)});
  s.add_as_is({rand_ints({3, 0}, 0, 2), val(0)});
  s.error(Code::index, {"axis"}, {randn({3}), val(1)});
  s.error(Code::dtype, {"complex64"}, {randn({3}).to(DType::complex64)});
}

void import(Importing& node) {
  const Value axis = node.has("axis") ? Value(node.integer("axis")) : Value(None{});
  const auto all = node.emit_all("custom::onnx_unique", {node.input(0), axis, node.integer("sorted", 1) != 0});
  for (int i = 0; i < 4; ++i)
    if (node.wants_output(i)) node.output(i, all[static_cast<size_t>(i)]);
}

}  // namespace

namespace decls {
Decls distinct() {
  OpDecl op = movement_op(
      "custom::onnx_unique(Tensor self, int? axis=None, bool sorted=True) -> (Tensor, Tensor, Tensor, Tensor)", infer,
      {cpu("groups_cpu", bind)}, oracle, samples);
  op.dtypes = {DType::float32};
  op.flags = kDynamic;
  op.imports = {{"Unique", import, 11}};
  op.source = "ONNX Unique";
  return {op};
}
}  // namespace decls
}  // namespace nbx
