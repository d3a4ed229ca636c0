// SPDX-License-Identifier: Apache-2.0
// Axes added, dropped, reordered and stretched: strides change, elements stay.
#include <algorithm>

#include "base/check.h"
#include "ops/shape/axes/axes.h"
#include "ops/shape/views.h"
#include "shape/broadcast.h"
#include "shape/strides.h"

namespace nbx {
namespace {

// The view whose dim i is dim order[i] of x; -1 is a new dim of extent 1.
Metas ordered(const Args& a, const Ints& order) {
  const Meta& x = a.tensor("self");
  Shape shape;
  Strides strides;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t d = order[i];
    shape.push_back(d < 0 ? 1 : x.shape[d]);
    // ATen gives a new dim the stride that a dense neighbour would need.
    const int64_t next = i < order.size() - 1 ? order[i + 1] : -1;
    strides.push_back(d >= 0 ? x.strides[d] : next >= 0 ? x.shape[next] * x.strides[next] : 1);
  }
  return {view_of(x, a.operand("self"), std::move(shape), std::move(strides))};
}

Ints identity(int64_t rank) {
  Ints order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  return order;
}

// `drop`: dims that go away when their extent is 1.
Metas squeezed(const Args& a, const Ints& drop) {
  const Meta& x = a.tensor("self");
  Ints order;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (x.shape[d] != 1 || std::find(drop.begin(), drop.end(), d) == drop.end()) order.push_back(d);
  return ordered(a, order);
}
Metas squeeze(const Args& a) { return squeezed(a, identity(a.tensor("self").rank())); }
Metas squeeze_dim(const Args& a) {
  return squeezed(a, {wrap_dim(a.integer("dim"), a.tensor("self").rank(), "squeeze: dim")});
}
Metas squeeze_dims(const Args& a) {
  return squeezed(a, wrap_dims(a.ints("dim"), a.tensor("self").rank(), "squeeze: dim"));
}
Metas onnx_squeeze(const Args& a) {
  if (!a.has("axes")) return squeeze(a);
  const Meta& x = a.tensor("self");
  const Ints axes = wrap_dims(a.ints("axes"), x.rank(), "onnx_squeeze: axes");
  for (int64_t d : axes)
    require(d < x.rank() && x.shape[d] == 1, Code::shape, "onnx_squeeze: axis {} of {} is not of extent 1", d,
            to_string(x));
  return squeezed(a, axes);
}

Metas unsqueezed(const Args& a, const Ints& axes) {  // sorted, in the result's dims
  const int64_t rank = a.tensor("self").rank() + static_cast<int64_t>(axes.size());
  Ints order;
  int64_t next = 0;
  for (int64_t d = 0; d < rank; ++d)
    order.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? -1 : next++);
  return ordered(a, order);
}
Metas unsqueeze(const Args& a) {
  return unsqueezed(a, {wrap_dim(a.integer("dim"), a.tensor("self").rank() + 1, "unsqueeze: dim")});
}
Metas onnx_unsqueeze(const Args& a) {
  const Ints axes = a.ints("axes");
  const int64_t rank = a.tensor("self").rank() + static_cast<int64_t>(axes.size());
  return unsqueezed(a, wrap_dims(axes, rank, "onnx_unsqueeze: axes"));
}

Metas permute(const Args& a) {
  const Meta& x = a.tensor("self");
  const Ints dims = a.ints("dims");
  require(static_cast<int64_t>(dims.size()) == x.rank(), Code::shape,
          "permute: dims {} names {} dims, but self has {} ({})", to_string(dims), dims.size(), x.rank(), to_string(x));
  return ordered(a, wrap_dims(dims, x.rank(), "permute: dims"));
}
Metas transpose(const Args& a) {
  const int64_t rank = a.tensor("self").rank();
  const int64_t d0 = wrap_dim(a.integer("dim0"), rank, "transpose: dim0");
  const int64_t d1 = wrap_dim(a.integer("dim1"), rank, "transpose: dim1");
  Ints order = identity(rank);
  if (rank > 0) std::swap(order[d0], order[d1]);
  return ordered(a, order);
}
Metas reverse_axes(const Args& a) {
  Ints order = identity(a.tensor("self").rank());
  std::reverse(order.begin(), order.end());
  return ordered(a, order);
}
Metas t(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.rank() <= 2, Code::shape, "t: self has {} dims ({}); t is for at most 2, use transpose or permute",
          x.rank(), to_string(x));
  return reverse_axes(a);
}
Metas moved(const Args& a, const Ints& source, const Ints& destination) {
  const Meta& x = a.tensor("self");
  require(source.size() == destination.size(), Code::shape, "movedim: source {} and destination {} differ in length",
          to_string(source), to_string(destination));
  const Ints from = wrap_dims(source, x.rank(), "movedim: source");
  const Ints to = wrap_dims(destination, x.rank(), "movedim: destination");
  if (x.rank() == 0) return ordered(a, {});
  Ints order(x.shape.size(), -1);
  for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    d = next++;
  }
  return ordered(a, order);
}
Metas movedim(const Args& a) { return moved(a, a.ints("source"), a.ints("destination")); }
Metas movedim_int(const Args& a) { return moved(a, {a.integer("source")}, {a.integer("destination")}); }

Metas expanded(const Args& a, const Ints& size) {
  const Meta& x = a.tensor("self");
  const int64_t rank = static_cast<int64_t>(size.size()), added = rank - x.rank();
  require(added >= 0, Code::shape, "{}: size {} has fewer dims than self ({})", a.op(), to_string(size), to_string(x));
  check_shape(Shape(size.begin(), size.begin() + added), a.op());
  Shape shape = size;
  Strides strides(size.size());
  for (int64_t d = rank - 1; d >= 0; --d) {
    const bool fresh = d < added;
    const int64_t extent = fresh ? 1 : x.shape[d - added];
    // The stride a dense neighbour would need, as ATen has it: seen when the extent stays 1.
    const int64_t step = !fresh ? x.strides[d - added] : d < rank - 1 ? shape[d + 1] * strides[d + 1] : 1;
    if (shape[d] == -1 && !fresh) shape[d] = extent;
    require(extent == 1 ? shape[d] >= 0 : shape[d] == extent, Code::shape,
            "{}: dim {} of {} cannot become {} (size {}); only an extent of 1 stretches", a.op(), d - added,
            to_string(x), size[d], to_string(size));
    strides[d] = shape[d] == extent ? step : 0;
  }
  numel(shape, itemsize(x.dtype));  // the expanded size must be countable
  return {view_of(x, a.operand("self"), std::move(shape), std::move(strides))};
}
Metas expand(const Args& a) { return expanded(a, a.ints("size")); }
Metas expand_as(const Args& a) { return expanded(a, a.tensor("other").shape); }
Metas onnx_expand(const Args& a) {
  const Ints shape = a.ints("shape");
  check_shape(shape, "onnx_expand: shape");
  return expanded(a, broadcast(a.tensor("self").shape, shape, "onnx_expand"));
}

// Oracles. Dims that only appear or vanish leave the row-major order alone.
template <InferFn infer>
std::vector<Tensor> same_order(const Args& a, const std::vector<Tensor>& operands) {
  return {rearranged(operands[0], infer(a)[0].shape, [i = int64_t{0}](const Ints&) mutable { return i++; })};
}
std::vector<Tensor> by_order(const Tensor& x, const Ints& order) {
  Shape shape;
  for (int64_t d : order) shape.push_back(x.dim(d));
  return {rearranged(x, shape, [&](const Ints& index) {
    Ints from(order.size());
    for (size_t i = 0; i < order.size(); ++i) from[order[i]] = index[i];
    return place(x.shape(), from);
  })};
}
std::vector<Tensor> permute_oracle(const Args& a, const std::vector<Tensor>& x) {
  Ints order = a.ints("dims");
  for (int64_t& d : order) d += d < 0 ? x[0].rank() : 0;
  return by_order(x[0], order);
}
std::vector<Tensor> transpose_oracle(const Args& a, const std::vector<Tensor>& x) {
  Ints order = identity(x[0].rank());
  const int64_t rank = std::max<int64_t>(x[0].rank(), 1);
  if (x[0].rank() > 0) std::swap(order[(a.integer("dim0") + rank) % rank], order[(a.integer("dim1") + rank) % rank]);
  return by_order(x[0], order);
}
std::vector<Tensor> reverse_oracle(const Args&, const std::vector<Tensor>& x) {
  Ints order = identity(x[0].rank());
  std::reverse(order.begin(), order.end());
  return by_order(x[0], order);
}
// One dim after the other is taken out of the order and put back in its place, lowest destination first.
std::vector<Tensor> movedim_oracle(const Args& a, const std::vector<Tensor>& x) {
  const bool lists = std::holds_alternative<Ints>(a.value("source"));
  Ints from = lists ? a.ints("source") : Ints{a.integer("source")};
  Ints to = lists ? a.ints("destination") : Ints{a.integer("destination")};
  Ints order;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < from.size(); ++i)
    pairs.push_back({(to[i] + x[0].rank()) % x[0].rank(), (from[i] + x[0].rank()) % x[0].rank()});
  for (int64_t d = 0; d < x[0].rank(); ++d)
    if (std::none_of(pairs.begin(), pairs.end(), [&](auto& p) { return p.second == d; })) order.push_back(d);
  std::sort(pairs.begin(), pairs.end());
  for (auto& p : pairs) order.insert(order.begin() + p.first, p.second);
  return by_order(x[0], order);
}
template <InferFn infer>
std::vector<Tensor> expand_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const Tensor& x = operands[0];
  return {rearranged(x, infer(a)[0].shape, [&](const Ints& index) {
    Ints from(index.end() - x.rank(), index.end());
    for (int64_t d = 0; d < x.rank(); ++d) from[d] = x.dim(d) == 1 ? 0 : from[d];
    return place(x.shape(), from);
  })};
}

Value axes_of(Importing& node) {
  if (node.has_input(1)) return FromTensor{node.input(1)};
  if (node.has("axes")) return node.ints("axes");
  return None{};
}
void import_squeeze(Importing& node) {
  node.output(0, node.emit("custom::onnx_squeeze", {node.input(0), axes_of(node)}));
}
void import_unsqueeze(Importing& node) {
  const Value axes = axes_of(node);
  if (is_none(axes)) node.unsupported("Unsqueeze without axes");
  node.output(0, node.emit("custom::onnx_unsqueeze", {node.input(0), axes}));
}
void import_transpose(Importing& node) {
  node.output(0, node.has("perm") ? node.emit("aten::permute", {node.input(0), node.ints("perm")})
                                  : node.emit("aten::numpy_T", {node.input(0)}));
}
void import_expand(Importing& node) {
  node.output(0, node.emit("custom::onnx_expand", {node.input(0), FromTensor{node.input(1)}}));
}

OpDecl importing(OpDecl op, const char* onnx, void (*import)(Importing&)) {
  op.imports = {{onnx, import, 1}};
  op.source = std::string("ONNX ") + onnx;
  return op;
}

}  // namespace

namespace decls {
Decls axes() {
  return {
      view_op<squeeze>("aten::squeeze(Tensor self) -> Tensor", same_order<squeeze>, squeeze_samples),
      view_op<squeeze_dim>("aten::squeeze.dim(Tensor self, int dim) -> Tensor", same_order<squeeze_dim>,
                           squeeze_dim_samples),
      view_op<squeeze_dims>("aten::squeeze.dims(Tensor self, int[] dim) -> Tensor", same_order<squeeze_dims>,
                            squeeze_dims_samples),
      view_op<unsqueeze>("aten::unsqueeze(Tensor self, int dim) -> Tensor", same_order<unsqueeze>, unsqueeze_samples),
      importing(view_op<onnx_squeeze>("custom::onnx_squeeze(Tensor self, int[]? axes=None) -> Tensor",
                                      same_order<onnx_squeeze>, onnx_squeeze_samples),
                "Squeeze", import_squeeze),
      importing(view_op<onnx_unsqueeze>("custom::onnx_unsqueeze(Tensor self, int[] axes) -> Tensor",
                                        same_order<onnx_unsqueeze>, onnx_unsqueeze_samples),
                "Unsqueeze", import_unsqueeze),
      importing(view_op<permute>("aten::permute(Tensor self, int[] dims) -> Tensor", permute_oracle, permute_samples),
                "Transpose", import_transpose),
      view_op<transpose>("aten::transpose.int(Tensor self, int dim0, int dim1) -> Tensor", transpose_oracle,
                         transpose_samples),
      view_op<t>("aten::t(Tensor self) -> Tensor", reverse_oracle, t_samples),
      view_op<reverse_axes>("aten::numpy_T(Tensor self) -> Tensor", reverse_oracle, reverse_axes_samples),
      view_op<movedim>("aten::movedim.intlist(Tensor self, int[] source, int[] destination) -> Tensor", movedim_oracle,
                       movedim_samples),
      view_op<movedim_int>("aten::movedim.int(Tensor self, int source, int destination) -> Tensor", movedim_oracle,
                           movedim_int_samples),
      view_op<expand>("aten::expand(Tensor self, int[] size, *, bool implicit=False) -> Tensor", expand_oracle<expand>,
                      expand_samples),
      view_op<expand_as>("aten::expand_as(Tensor self, Tensor other) -> Tensor", expand_oracle<expand_as>,
                         expand_as_samples),
      view_op<expand>("aten::broadcast_to(Tensor self, int[] size) -> Tensor", expand_oracle<expand>,
                      broadcast_to_samples),
      importing(view_op<onnx_expand>("custom::onnx_expand(Tensor self, int[] shape) -> Tensor",
                                     expand_oracle<onnx_expand>, onnx_expand_samples),
                "Expand", import_expand),
  };
}
}  // namespace decls
}  // namespace nbx
