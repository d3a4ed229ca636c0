// SPDX-License-Identifier: Apache-2.0
// Elements picked by index: whole slices (index_select, embedding, ONNX Gather) or one by one (gather, take, ...).
#include "ops/index/select/select.h"

#include <algorithm>

#include "base/check.h"
#include "ops/index/indices.h"
#include "ops/shape/views.h"
#include "shape/broadcast.h"
#include "shape/strides.h"

namespace nbx {
namespace {

int64_t product(const Shape& shape, int64_t begin, int64_t end) {
  return numel(Shape(shape.begin() + begin, shape.begin() + end));
}

// x as (outer, extent, inner): slices along the middle.
GatherSpec slices(const Args& a, const char* x_param, const char* index_param, int64_t dim, bool wrap) {
  const Meta& x = a.tensor(x_param);
  const bool scalar = x.rank() == 0;
  const int64_t extent = scalar ? 1 : x.shape[dim];
  const int64_t outer = scalar ? 1 : product(x.shape, 0, dim), inner = scalar ? 1 : product(x.shape, dim + 1, x.rank());
  GatherSpec s;
  s.index = single_index(a, index_param, extent, wrap, fmt::format("dim {} of {}", dim, to_string(x)));
  s.operand = a.operand(x_param);
  s.itemsize = itemsize(x.dtype);
  s.pace = inner;
  s.walk = {outer, s.index.count, inner};
  s.places = {0, 1, 0};
  s.base = {extent * inner, 0, 1};
  return s;
}

Metas index_select(const Args& a) {
  const Meta &x = a.tensor("self"), &index = a.tensor("index");
  const int64_t dim = wrap_dim(a.integer("dim"), x.rank(), "index_select: dim");
  require(index.rank() <= 1, Code::shape, "index_select: index must have at most one dim, it is {}", to_string(index));
  require_index(a, index, "index");
  if (x.rank() == 0) {
    require(index.numel() == 1, Code::shape, "index_select: a 0-d self takes one index, not {}", index.numel());
    return {x.like()};
  }
  Shape shape = x.shape;
  shape[dim] = index.numel();
  return {x.with(shape)};
}
GatherSpec index_select_spec(const Args& a) {
  return slices(a, "self", "index", wrap_dim(a.integer("dim"), a.tensor("self").rank(), "dim"), false);
}

Metas embedding(const Args& a) {
  const Meta &weight = a.tensor("weight"), &indices = a.tensor("indices");
  require(weight.rank() == 2, Code::shape, "embedding: weight must have 2 dims, it is {}", to_string(weight));
  require_index(a, indices, "indices");
  Shape shape = indices.shape;
  shape.push_back(weight.shape[1]);
  return {weight.with(shape)};
}
GatherSpec embedding_spec(const Args& a) { return slices(a, "weight", "indices", 0, false); }

// ONNX Gather: the axis is replaced by the dims of the indices.
Metas gather_axis(const Args& a) {
  const Meta &x = a.tensor("self"), &indices = a.tensor("indices");
  require(x.rank() > 0, Code::shape, "gather_axis: self is 0-d; it has no axis");
  const int64_t axis = wrap_dim(a.integer("axis"), x.rank(), "gather_axis: axis");
  require_index(a, indices, "indices");
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.append(indices.shape.begin(), indices.shape.end());
  shape.append(x.shape.begin() + axis + 1, x.shape.end());
  return {x.with(shape)};
}
GatherSpec gather_axis_spec(const Args& a) {
  return slices(a, "self", "indices", wrap_dim(a.integer("axis"), a.tensor("self").rank(), "axis"), true);
}

Metas take(const Args& a) {
  const Meta &x = a.tensor("self"), &index = a.tensor("index");
  require_index(a, index, "index");
  require(x.numel() > 0 || index.numel() == 0, Code::index, "take: self ({}) has no elements to take", to_string(x));
  return {x.with(index.shape)};
}
GatherSpec take_spec(const Args& a) {
  const Meta& x = a.tensor("self");
  GatherSpec s;
  s.index = single_index(a, "index", x.numel(), true, "the elements of " + to_string(x));
  s.itemsize = itemsize(x.dtype);
  s.walk = {s.index.count};
  s.places = {1};
  s.base = {0};
  return s;
}

// One by one along `dim`; 0-d tensors count as 1-d.
Shape at_least_1d(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }
void check_gather(const Args& a, const Meta& x, const Meta& index, int64_t dim) {
  const Shape xs = at_least_1d(x.shape), is = at_least_1d(index.shape);
  require_index(a, index, "index", /*narrow=*/true);
  if (index.numel() == 0) return;
  require(xs.size() == is.size(), Code::shape, "{}: index ({}) must have as many dims as self ({})", a.op(),
          to_string(index), to_string(x));
  for (size_t d = 0; d < xs.size(); ++d)
    require(static_cast<int64_t>(d) == dim || is[d] <= xs[d], Code::shape,
            "{}: index ({}) is larger than self ({}) in dim {}; only dim {} may be", a.op(), to_string(index),
            to_string(x), d, dim);
}
GatherSpec one_by_one(const Args& a, const char* index_param, int64_t dim, bool wrap) {
  const Meta &x = a.tensor("self"), &index = a.tensor(index_param);
  const Shape xs = at_least_1d(x.shape);
  GatherSpec s;
  s.index = single_index(a, index_param, xs[dim], wrap, fmt::format("dim {} of {}", dim, to_string(x)));
  s.itemsize = itemsize(x.dtype);
  s.walk = at_least_1d(index.shape);
  s.places = contiguous_strides(s.walk);
  if (s.walk.size() != xs.size()) {  // an empty index of another rank: nothing is read
    s.base.assign(s.walk.size(), 0);
    return s;
  }
  s.base = contiguous_strides(xs);
  s.pace = s.base[dim];
  s.base[dim] = 0;
  return s;
}
Metas gather(const Args& a) {
  const Meta &x = a.tensor("self"), &index = a.tensor("index");
  check_gather(a, x, index, wrap_dim(a.integer("dim"), x.rank(), "gather: dim"));
  return {x.with(index.shape)};
}
GatherSpec gather_spec(const Args& a) {
  return one_by_one(a, "index", wrap_dim(a.integer("dim"), a.tensor("self").rank(), "dim"), false);
}
Metas gather_elements(const Args& a) {
  const Meta &x = a.tensor("self"), &index = a.tensor("indices");
  check_gather(a, x, index, wrap_dim(a.integer("axis"), x.rank(), "gather_elements: axis"));
  return {x.with(index.shape)};
}
GatherSpec gather_elements_spec(const Args& a) {
  return one_by_one(a, "indices", wrap_dim(a.integer("axis"), a.tensor("self").rank(), "axis"), true);
}

// take_along_dim: all dims but one broadcast against each other.
struct Along {
  Shape x, index, out;
  int64_t dim = 0;
};
Along along(const Args& a) {
  const Meta &x = a.tensor("self"), &index = a.tensor("indices");
  require(is_index(index.dtype), Code::dtype, "take_along_dim: indices must be int32 or int64, not {}",
          name(index.dtype));
  if (!a.has("dim")) return {Shape{x.numel()}, Shape{index.numel()}, Shape{index.numel()}, 0};
  require(x.rank() == index.rank(), Code::shape, "take_along_dim: indices ({}) must have as many dims as self ({})",
          to_string(index), to_string(x));
  Along out{
      at_least_1d(x.shape), at_least_1d(index.shape), {}, wrap_dim(a.integer("dim"), x.rank(), "take_along_dim: dim")};
  Shape xs = out.x, is = out.index;
  xs[out.dim] = is[out.dim] = 1;
  out.out = broadcast(xs, is, "take_along_dim");
  out.out[out.dim] = out.index[out.dim];
  return out;
}
Metas take_along_dim(const Args& a) {
  const Along k = along(a);
  return {a.tensor("self").with(a.has("dim") && a.tensor("self").rank() == 0 ? Shape{} : k.out)};
}
GatherSpec take_along_dim_spec(const Args& a) {
  const Along k = along(a);
  const Meta& x = a.tensor("self");
  GatherSpec s;
  s.index = single_index(a, "indices", k.x[k.dim], true, fmt::format("dim {} of {}", k.dim, to_string(x)));
  s.itemsize = itemsize(x.dtype);
  s.walk = k.out;
  const auto reading = [&](const Shape& shape) {
    Strides strides = contiguous_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] == 1 && k.out[d] != 1) strides[d] = 0;
    return strides;
  };
  s.places = reading(k.index);
  s.base = contiguous_strides(k.x);
  s.pace = s.base[k.dim];
  s.base = reading(k.x);
  s.base[k.dim] = 0;
  return s;
}

// Oracles, by the definitions.
std::vector<Tensor> slices_oracle(const Tensor& x, const Tensor& index, int64_t dim, const Shape& shape) {
  if (x.rank() == 0) return {x};
  const std::vector<int64_t> values = index.to_ints();
  return {rearranged(x, shape, [&](const Ints& i) {
    Ints from(i.begin(), i.begin() + dim);
    const int64_t v =
        values[static_cast<size_t>(place(index.shape(), Ints(i.begin() + dim, i.begin() + dim + index.rank())))];
    from.push_back(v < 0 ? v + x.dim(dim) : v);
    from.append(i.begin() + dim + index.rank(), i.end());
    return place(x.shape(), from);
  })};
}
std::vector<Tensor> index_select_oracle(const Args& a, const std::vector<Tensor>& x) {
  return slices_oracle(x[0], x[1].view({x[1].numel()}),
                       (a.integer("dim") + x[0].rank()) % std::max<int64_t>(x[0].rank(), 1), index_select(a)[0].shape);
}
std::vector<Tensor> embedding_oracle(const Args& a, const std::vector<Tensor>& x) {
  return slices_oracle(x[0], x[1], 0, embedding(a)[0].shape);
}
std::vector<Tensor> gather_axis_oracle(const Args& a, const std::vector<Tensor>& x) {
  return slices_oracle(x[0], x[1], (a.integer("axis") + x[0].rank()) % x[0].rank(), gather_axis(a)[0].shape);
}
std::vector<Tensor> take_oracle(const Args&, const std::vector<Tensor>& x) {
  const std::vector<int64_t> values = x[1].to_ints();
  return {rearranged(x[0], x[1].shape(), [&](const Ints& i) {
    const int64_t v = values[static_cast<size_t>(place(x[1].shape(), i))];
    return v < 0 ? v + x[0].numel() : v;
  })};
}
std::vector<Tensor> elements_oracle(const Tensor& x, const Tensor& index, int64_t dim) {
  const std::vector<int64_t> values = index.to_ints();
  return {rearranged(x, index.shape(), [&](Ints i) {
    const int64_t v = values[static_cast<size_t>(place(index.shape(), i))];
    if (x.rank() == 0) return int64_t{0};
    i[dim] = v < 0 ? v + x.dim(dim) : v;
    return place(x.shape(), i);
  })};
}
std::vector<Tensor> gather_oracle(const Args& a, const std::vector<Tensor>& x) {
  return elements_oracle(x[0], x[1], (a.integer("dim") + x[0].rank()) % std::max<int64_t>(1, x[0].rank()));
}
std::vector<Tensor> gather_elements_oracle(const Args& a, const std::vector<Tensor>& x) {
  return elements_oracle(x[0], x[1], (a.integer("axis") + x[0].rank()) % std::max<int64_t>(1, x[0].rank()));
}
std::vector<Tensor> take_along_dim_oracle(const Args& a, const std::vector<Tensor>& x) {
  if (!a.has("dim")) return elements_oracle(x[0].view({x[0].numel()}), x[1].view({x[1].numel()}), 0);
  if (x[0].rank() == 0) return elements_oracle(x[0], x[1], 0);
  const int64_t dim = (a.integer("dim") + x[0].rank()) % x[0].rank();
  Shape xs = take_along_dim(a)[0].shape, is = xs;
  xs[dim] = x[0].dim(dim);
  return elements_oracle(x[0].expand(xs).contiguous(), x[1].expand(is).contiguous(), dim);
}

void import_gather(Importing& node) {
  node.output(0, node.emit("custom::gather_axis", {node.input(0), node.input(1), node.integer("axis", 0)}));
}
void import_gather_elements(Importing& node) {
  node.output(0, node.emit("custom::gather_elements", {node.input(0), node.input(1), node.integer("axis", 0)}));
}

}  // namespace

namespace decls {
Decls select() {
  Decls out = {
      gather_op<index_select_spec>("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", index_select,
                                   index_select_oracle, index_select_samples),
      gather_op<embedding_spec>(
          "aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool "
          "sparse=False) -> Tensor",
          embedding, embedding_oracle, embedding_samples),
      gather_op<gather_axis_spec>("custom::gather_axis(Tensor self, Tensor indices, int axis=0) -> Tensor", gather_axis,
                                  gather_axis_oracle, gather_axis_samples),
      gather_op<take_spec>("aten::take(Tensor self, Tensor index) -> Tensor", take, take_oracle, take_samples),
      gather_op<gather_spec>("aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
                             gather, gather_oracle, gather_samples),
      gather_op<take_along_dim_spec>("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
                                     take_along_dim, take_along_dim_oracle, take_along_dim_samples),
      gather_op<gather_elements_spec>("custom::gather_elements(Tensor self, Tensor indices, int axis=0) -> Tensor",
                                      gather_elements, gather_elements_oracle, gather_elements_samples),
  };
  out[2].imports = {{"Gather", import_gather, 1}};
  out[2].source = "ONNX Gather";
  out[6].imports = {{"GatherElements", import_gather_elements, 11}};
  out[6].source = "ONNX GatherElements";
  return out;
}
}  // namespace decls
}  // namespace nbx
