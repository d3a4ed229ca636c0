// SPDX-License-Identifier: Apache-2.0
// Einstein sums. Two operands whose summed letters are in both become one batched product; the rest is summed point by
// point.
#include <algorithm>

#include "ops/matmul/einsum/equation.h"
#include "ops/matmul/product.h"
#include "ops/shape/strided_copy.h"

namespace nbx {
namespace einsum {

namespace {

using Labels = std::vector<int>;

// Labels as one dim: where their strides nest.
struct Merged {
  int64_t extent = 1, stride = 0;
};
std::optional<Merged> merged(const Equation& e, size_t operand, const Labels& labels) {
  Merged m;
  for (auto l = labels.rbegin(); l != labels.rend(); ++l) {
    const int64_t extent = e.extent[static_cast<size_t>(*l)], stride = e.strides[operand][static_cast<size_t>(*l)];
    if (extent == 1) continue;
    if (m.extent == 1) {
      m.stride = stride;
    } else if (stride != m.stride * m.extent) {
      return std::nullopt;
    }
    m.extent *= extent;
  }
  return m;
}

// One side of the product as (batch..., rows, columns), read where it is or from a dense copy.
struct Side {
  size_t operand = 0;
  Meta meta;
  bool copied = false;
  StridedCopy copy;
};

struct Form {
  Equation e;
  Side a, b;
  Product product;
  int64_t a_bytes = 0, b_bytes = 0, c_bytes = 0;  // of the workspace, each rounded up to whole cache lines
  StridedCopy to_out;                             // where the product's order is not the result's
};

int64_t lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

Shape extents(const Equation& e, const Labels& labels) {
  Shape s;
  for (const int l : labels) s.push_back(e.extent[static_cast<size_t>(l)]);
  return s;
}
Labels joined(Labels a, const Labels& b, const Labels& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

Side side(const Equation& e, const Args& a, size_t operand, const Labels& batch, const Labels& rows,
          const Labels& columns) {
  Side s;
  s.operand = operand;
  const auto r = merged(e, operand, rows), c = merged(e, operand, columns);
  s.copied = !r || !c;
  const Labels order = joined(batch, rows, columns);
  const int64_t m = numel(extents(e, rows)), n = numel(extents(e, columns));
  Shape shape = extents(e, batch);
  shape.push_back(m);
  shape.push_back(n);
  s.meta = Meta(e.dtype, shape);
  if (s.copied) {
    Strides from;
    for (const int l : order) from.push_back(e.strides[operand][static_cast<size_t>(l)]);
    const Shape all = extents(e, order);
    s.copy = StridedCopy(all, from, contiguous_strides(all), static_cast<int>(itemsize(e.dtype)));
    return s;
  }
  s.meta.strides.clear();
  for (const int l : batch) s.meta.strides.push_back(e.strides[operand][static_cast<size_t>(l)]);
  s.meta.strides.push_back(r->stride);
  s.meta.strides.push_back(c->stride);
  const Tensor& known = a.tensors("tensors")[operand]->known;
  if (known.defined()) s.meta.known = known.as_strided(s.meta.shape, s.meta.strides, known.offset());
  return s;
}

// Which labels the two operands share. Nothing when the call is no product.
std::optional<Form> form_of(const Args& a) {
  Form f;
  f.e = bind_equation(a);
  const Equation& e = f.e;
  if (e.has.size() != 2) return std::nullopt;
  Labels batch, own[2], inner;
  for (const int l : e.out) {
    const bool in0 = e.has[0][static_cast<size_t>(l)], in1 = e.has[1][static_cast<size_t>(l)];
    (in0 && in1 ? batch : own[in0 ? 0 : 1]).push_back(l);
  }
  for (const int l : e.summed) {
    if (!e.has[0][static_cast<size_t>(l)] || !e.has[1][static_cast<size_t>(l)]) return std::nullopt;
    inner.push_back(l);
  }
  // In the order of the operand whose memory they follow.
  std::stable_sort(inner.begin(), inner.end(), [&](int x, int y) {
    return e.strides[0][static_cast<size_t>(x)] > e.strides[0][static_cast<size_t>(y)];
  });
  // The operand whose own letters come first in the result is the left one.
  const auto ends_with = [&](const Labels& labels) {
    return !labels.empty() && !e.out.empty() && e.out.back() == labels.back();
  };
  const size_t left = ends_with(own[0]) && !own[1].empty() ? 1 : 0, right = 1 - left;
  f.a = side(e, a, left, batch, own[left], inner);
  f.b = side(e, a, right, batch, inner, own[right]);
  f.product = make_product("einsum", f.a.meta, f.b.meta);
  f.product.a_index = 0;
  f.product.b_index = 1;
  if (f.a.copied) f.a_bytes = lines(f.a.meta.bytes());
  if (f.b.copied) f.b_bytes = lines(f.b.meta.bytes());
  const Labels order = joined(batch, own[left], own[right]);
  Labels moving_product, moving_out;  // extents of 1 have no place
  for (const int l : order)
    if (e.extent[static_cast<size_t>(l)] != 1) moving_product.push_back(l);
  for (const int l : e.out)
    if (e.extent[static_cast<size_t>(l)] != 1) moving_out.push_back(l);
  if (moving_product != moving_out) {
    f.c_bytes = lines(numel(f.product.shape()) * itemsize(e.dtype));
    const Strides dense = contiguous_strides(extents(e, order));
    Strides from;
    for (const int l : e.out)
      from.push_back(dense[static_cast<size_t>(std::find(order.begin(), order.end(), l) - order.begin())]);
    f.to_out = StridedCopy(e.shape(), from, contiguous_strides(e.shape()), static_cast<int>(itemsize(e.dtype)));
  }
  return f;
}

Metas infer(const Args& a) {
  const Equation e = bind_equation(a);
  Meta out(e.dtype, e.shape());
  if (e.strides.size() == 1 && e.summed.empty()) {  // nothing but dims in another order and diagonals: a view
    out.alias = 0;
    for (size_t d = 0; d < e.out.size(); ++d) out.strides[d] = e.strides[0][static_cast<size_t>(e.out[d])];
  }
  return {out};
}

Serves product_serves(const Args& a) {
  const auto f = form_of(a);
  if (!f) return refuse("serves two operands whose summed letters are in both");
  if (!gemm_serves(f->product)) return refuse("serves float32, float16 and bfloat16");
  return yes;
}
int64_t product_workspace(const Args& a) {
  const auto f = form_of(a);
  return f ? f->a_bytes + f->b_bytes + f->c_bytes : 0;
}
Bound bind_product(const Args& a, const Metas&) {
  const Form f = *form_of(a);
  const Bound product = bind_gemm(f.product, a.packs());
  return [f, product](const Run& r) {
    const void* in[2] = {r.inputs[f.a.operand], r.inputs[f.b.operand]};
    std::byte* room = r.workspace;
    if (f.a.copied) f.a.copy(in[0], room, r.team);
    if (f.a.copied) in[0] = room;
    room += f.a_bytes;
    if (f.b.copied) f.b.copy(in[1], room, r.team);
    if (f.b.copied) in[1] = room;
    room += f.b_bytes;
    void* out[1] = {f.c_bytes ? room : r.outputs[0]};
    product(Run{in, out, nullptr, r.team});
    if (f.c_bytes) f.to_out(room, r.outputs[0], r.team);
  };
}

// Point by point.

struct Walk {
  Shape extents;
  std::vector<Strides> strides;  // [operand]
};
Walk walk_of(const Equation& e, const Labels& labels) {
  Walk w;
  w.extents = extents(e, labels);
  for (const Strides& all : e.strides) {
    Strides s;
    for (const int l : labels) s.push_back(all[static_cast<size_t>(l)]);
    w.strides.push_back(s);
  }
  return w;
}

constexpr size_t kMostOperands = 64;

template <class T>
auto widened(T v) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return static_cast<double>(to_float(v));
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(v);
  else
    return static_cast<uint64_t>(v);  // wraps
}
template <class T, class Sum>
T narrowed(Sum v) {
  if constexpr (std::is_same_v<T, float16_t>)
    return to_float16(v);
  else if constexpr (std::is_same_v<T, bfloat16_t>)
    return to_bfloat16(v);
  else if constexpr (std::is_same_v<T, bool>)
    return v != 0;
  else
    return static_cast<T>(v);
}

// Steps an index through `w`, with the operands' places beside it.
void advance(const Walk& w, int64_t* index, int64_t* at, size_t operands) {
  for (size_t d = w.extents.size(); d-- > 0;) {
    const bool wraps = ++index[d] == w.extents[d];
    for (size_t i = 0; i < operands; ++i) at[i] += w.strides[i][d] * (wraps ? 1 - w.extents[d] : 1);
    if (!wraps) return;
    index[d] = 0;
  }
}

template <class T>
Bound bind_points_of(const Equation& e) {
  const Walk outer = walk_of(e, e.out), inner = walk_of(e, e.summed);
  const size_t operands = e.strides.size();
  const int64_t results = numel(outer.extents), terms = numel(inner.extents);
  return [outer, inner, operands, results, terms](const Run& r) {
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, terms));
    parallel_rows(r.team, results, grain, [&](int64_t begin, int64_t end) {
      int64_t index[kMaxRank + 52] = {}, base[kMostOperands] = {};
      int64_t rest = begin;
      for (size_t d = outer.extents.size(); d-- > 0;) {
        index[d] = rest % outer.extents[d];
        rest /= outer.extents[d];
        for (size_t i = 0; i < operands; ++i) base[i] += index[d] * outer.strides[i][d];
      }
      for (int64_t o = begin; o < end; ++o) {
        int64_t inside[kMaxRank + 52] = {}, at[kMostOperands];
        std::copy(base, base + operands, at);
        decltype(widened(T{})) sum = 0;
        for (int64_t t = 0; t < terms; ++t) {
          auto product = widened(r.in<T>(0)[at[0]]);
          for (size_t i = 1; i < operands; ++i) product *= widened(r.in<T>(static_cast<int>(i))[at[i]]);
          sum += product;
          advance(inner, inside, at, operands);
        }
        r.out<T>(0)[o] = narrowed<T>(sum);
        advance(outer, index, base, operands);
      }
    });
  };
}
Bound bind_points(const Args& a, const Metas&) {
  const Equation e = bind_equation(a);
  require(e.strides.size() <= kMostOperands, Code::unsupported, "einsum: {} operands; at most {} are supported",
          e.strides.size(), kMostOperands);
  switch (e.dtype) {
    case DType::float64:
      return bind_points_of<double>(e);
    case DType::float32:
      return bind_points_of<float>(e);
    case DType::float16:
      return bind_points_of<float16_t>(e);
    case DType::bfloat16:
      return bind_points_of<bfloat16_t>(e);
    case DType::int8:
      return bind_points_of<int8_t>(e);
    case DType::int16:
      return bind_points_of<int16_t>(e);
    case DType::int32:
      return bind_points_of<int32_t>(e);
    case DType::int64:
      return bind_points_of<int64_t>(e);
    case DType::uint8:
      return bind_points_of<uint8_t>(e);
    case DType::uint16:
      return bind_points_of<uint16_t>(e);
    case DType::uint32:
      return bind_points_of<uint32_t>(e);
    case DType::uint64:
      return bind_points_of<uint64_t>(e);
    case DType::bool_:
      return bind_points_of<bool>(e);
    default:
      fail(Code::unsupported, "einsum: {} is not supported", name(e.dtype));
  }
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  if (outputs[0].alias >= 0) return c;
  const Equation e = bind_equation(a);
  c.flops = e.points() * static_cast<int64_t>(e.strides.size());
  if (product_serves(a).ok) c.workspace = product_workspace(a);
  return c;
}

// Over all points: the labels' values, the operands' elements, their product added where the result's labels say.
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const Equation e = bind_equation(a);
  Shape all;
  for (const int64_t extent : e.extent) all.push_back(extent);
  const Shape shape = e.shape();
  const Strides to = contiguous_strides(shape);
  const bool exact = !is_floating(e.dtype);
  std::vector<double> sums(static_cast<size_t>(numel(shape)), 0);
  std::vector<int64_t> counts(sums.size(), 0);
  std::vector<std::vector<double>> reals;
  std::vector<std::vector<int64_t>> integers;
  for (const Tensor& t : operands)
    (exact ? (void)integers.push_back(t.to_ints()) : (void)reals.push_back(t.to_doubles()));
  for (int64_t point = 0; point < e.points(); ++point) {
    Ints index(all.size(), 0);
    for (int64_t d = static_cast<int64_t>(all.size()), rest = point; d-- > 0;) {
      index[static_cast<size_t>(d)] = rest % all[static_cast<size_t>(d)];
      rest /= all[static_cast<size_t>(d)];
    }
    double real = 1;
    int64_t integer = 1;
    for (size_t i = 0; i < operands.size(); ++i) {
      int64_t at = 0;
      for (size_t l = 0; l < all.size(); ++l) at += index[l] * e.strides[i][l];
      if (exact)
        integer *= integers[i][static_cast<size_t>(at)];
      else
        real *= reals[i][static_cast<size_t>(at)];
    }
    int64_t place = 0;
    for (size_t d = 0; d < e.out.size(); ++d) place += index[static_cast<size_t>(e.out[d])] * to[d];
    sums[static_cast<size_t>(place)] += real;
    counts[static_cast<size_t>(place)] += integer;
  }
  if (exact) return {Tensor::of<int64_t>(shape, counts).to(e.dtype)};
  return {Tensor::of<double>(shape, sums)};
}

SampleArg list(std::vector<Tensor> tensors) { return SampleArg(std::move(tensors)); }

void samples(SampleSink& s) {
  const auto add = [&](const char* equation, std::vector<Tensor> tensors) {
    s.add({val(equation), list(std::move(tensors))});
  };
  // Products: batches, several letters on each side, results in another order, operands read through their strides.
  add("ij,jk->ik", {randn({5, 40}), randn({40, 33}, 1)});
  add("ij,jk->ki", {randn({5, 7}), randn({7, 9}, 1)});
  add("ij,kj", {randn({5, 7}), randn({9, 7}, 1)});
  add("bij, bjk -> bik", {randn({3, 4, 5}), randn({3, 5, 6}, 1)});
  add("btgi,gih->btgh", {randn({2, 6, 4, 5}), randn({4, 5, 3}, 1)});
  add("bhid,bhjd->bhij", {randn({2, 5, 3, 8}).transpose(1, 2), randn({2, 4, 3, 8}, 1).transpose(1, 2)});
  add("abcd,cdef->abef", {randn({2, 3, 4, 5}), randn({4, 5, 3, 2}, 1)});
  add("abcd,dcef->aebf", {randn({2, 3, 4, 5}), randn({5, 4, 3, 2}, 1)});
  add("ij,jk->ik", {strided(randn({6, 9})), spaced(randn({9, 4}, 1))});
  add("i,i", {randn({100}), randn({100}, 1)});
  add("i,j->ij", {randn({5}), randn({6}, 1)});
  add("i,j->ji", {randn({5}), randn({6}, 1)});
  add("ij,ij->ij", {randn({4, 5}), randn({4, 5}, 1)});
  add("ij,j", {randn({4, 5}), randn({1}, 1)});  // extents of 1 are broadcast
  add("bij,bjk->bik", {randn({1, 4, 5}), randn({3, 5, 6}, 1)});
  add("iij,jk->ik", {randn({4, 4, 5}), randn({5, 6}, 1)});
  // Ellipses.
  add("...ij,...jk->...ik", {randn({2, 3, 4, 5}), randn({3, 5, 6}, 1)});
  add("...ij,jk", {randn({2, 4, 5}), randn({5, 6}, 1)});
  add("...,...", {randn({}), randn({2, 3}, 1)});
  add("i...->...", {randn({4, 2, 3})});
  add("...ij->ji", {randn({3, 4, 5})});
  // The rest.
  add("ij->ji", {randn({4, 5})});
  add("ij->i", {randn({4, 50})});
  add("ij->", {randn({40, 50})});
  add("->", {randn({})});
  add("ii", {randn({5, 5})});
  add("...ii ->...i", {randn({3, 5, 5})});
  add("ij,jk->i", {randn({4, 5}), randn({5, 6}, 1)});
  add("ij,jk,kl->il", {randn({3, 4}), randn({4, 5}, 1), randn({5, 6}, 2)});
  add("bn,anm,bm->ba", {randn({2, 5}), randn({3, 5, 4}, 1), randn({2, 4}, 2)});
  add("ij,jk->ik", {randn({0, 4}), randn({4, 3})});
  add("ij,jk->ik", {randn({2, 0}), randn({0, 3})});
  s.add_as_is({val("ij,jk->ki"), list({rand_ints({3, 4}, -50, 50), rand_ints({4, 5}, -50, 50, DType::int64, 1)})});
  s.add_as_is({val("ij,jk,kl"), list({rand_ints({3, 4}, 0, 9, DType::uint8), rand_ints({4, 5}, 0, 9, DType::uint8, 1),
                                      rand_ints({5, 2}, 0, 9, DType::uint8, 2)})});
  s.error(Code::value, {"ij,jk", "2 terms", "1 operands"}, {val("ij,jk"), list({randn({2, 3})})});
  s.error(Code::value, {"i1", "'1'"}, {val("i1"), list({randn({2, 3})})});
  s.error(Code::value, {"'i..'", "'...'"}, {val("i.."), list({randn({2, 3})})});
  s.error(Code::value, {"'k'", "no operand"}, {val("ij->ik"), list({randn({2, 3})})});
  s.error(Code::value, {"'i'", "twice"}, {val("ij->ii"), list({randn({2, 3})})});
  s.error(Code::shape, {"3 letters", "float32[2, 3]"}, {val("ijk"), list({randn({2, 3})})});
  s.error(Code::shape, {"3", "4", "operand 1"}, {val("ij,jk"), list({randn({2, 3}), randn({4, 5})})});
  s.error(Code::shape, {"2 and 3"}, {val("ii"), list({randn({2, 3})})});
  s.error(Code::dtype, {"float32", "int64"}, {val("i,i"), list({randn({2}), rand_ints({2}, 0, 3)})});
}

void import_einsum(Importing& node) {
  TensorRefs operands;
  for (int i = 0; i < node.inputs(); ++i) operands.push_back(node.input(i));
  node.output(0, node.emit("aten::einsum", {node.text("equation"), operands}));
}

}  // namespace
}  // namespace einsum

namespace decls {
Decls einsum() {
  using namespace nbx::einsum;
  OpDecl d;
  // `path` names an order of contraction: other orders give the same sums, ours is fixed.
  d.schema = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor";
  d.infer = infer;
  d.cost = nbx::einsum::cost;
  d.keys = shape_keys;
  d.kernels = {cpu("product", bind_product, true), cpu("points", bind_points, true)};
  d.kernels[0].serves = product_serves;
  d.kernels[0].workspace = product_workspace;
  d.oracle = nbx::einsum::oracle;
  d.samples = nbx::einsum::samples;
  d.flags = kView;
  d.tolerance = norm_wise(2e-6, 1e-3, 8e-3);
  d.dtypes = {DType::float32, DType::bfloat16, DType::float16, DType::float64};
  d.imports = {{"Einsum", import_einsum, 12}};
  d.source = "ATen einsum; ONNX Einsum";
  return {d};
}
}  // namespace decls
}  // namespace nbx
