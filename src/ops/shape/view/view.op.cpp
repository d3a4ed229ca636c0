// SPDX-License-Identifier: Apache-2.0
// The same elements in row-major order under another shape: an alias when ATen's view rule allows it, else one copy.
#include "ops/shape/view/view.h"
#include "base/check.h"
#include "base/checked.h"
#include "ops/shape/views.h"
#include "shape/strides.h"
#include "shape/view_rule.h"

namespace nbx {
namespace {

Metas to_shape(const Args& a, const Ints& wanted) {
  const Meta& x = a.tensor("self");
  return {reshaped(x, a.operand("self"), infer_shape(wanted, x.numel(), a.op()))};
}

Metas reshape(const Args& a) { return to_shape(a, a.ints("shape")); }
Metas unsafe_view(const Args& a) { return to_shape(a, a.ints("size")); }

Metas view(const Args& a) {
  const Metas out = to_shape(a, a.ints("size"));
  const Meta& x = a.tensor("self");
  require(out[0].alias >= 0, Code::shape, "view: {} with strides {} cannot be seen as {} without a copy; use reshape",
          to_string(x), to_string(x.strides), to_string(out[0].shape));
  return out;
}

Metas flatten(const Args& a) {
  const Meta& x = a.tensor("self");
  if (x.rank() == 0) return {reshaped(x, a.operand("self"), Shape{1})};
  const int64_t first = wrap_dim(a.integer("start_dim"), x.rank(), "flatten: start_dim");
  const int64_t last = wrap_dim(a.integer("end_dim"), x.rank(), "flatten: end_dim");
  require(first <= last, Code::index, "flatten: start_dim {} comes after end_dim {} of {}", first, last, to_string(x));
  Shape shape(x.shape.begin(), x.shape.begin() + first);
  shape.push_back(numel(Shape(x.shape.begin() + first, x.shape.begin() + last + 1)));
  shape.append(x.shape.begin() + last + 1, x.shape.end());
  return {reshaped(x, a.operand("self"), shape)};
}

Metas unflatten(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.rank() > 0, Code::shape, "unflatten: self is 0-d; it needs an axis to unflatten");
  const int64_t dim = wrap_dim(a.integer("dim"), x.rank(), "unflatten: dim");
  require(!a.ints("sizes").empty(), Code::shape, "unflatten: sizes is empty; give the extents of dim {}", dim);
  const Ints sizes = infer_shape(a.ints("sizes"), x.shape[dim], "unflatten");
  Shape shape(x.shape.begin(), x.shape.begin() + dim);
  shape.append(sizes.begin(), sizes.end());
  shape.append(x.shape.begin() + dim + 1, x.shape.end());
  return {reshaped(x, a.operand("self"), shape)};
}

// ONNX: an extent of 0 keeps the input's extent at that place, unless allowzero.
Metas onnx_reshape(const Args& a) {
  const Meta& x = a.tensor("self");
  Ints wanted = a.ints("shape");
  int64_t asked = 1, rest = 1;  // explicit extents; the input's extents that are not copied
  bool fits = true;             // both products in 63 bits; what does not fit is refused below
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool copied = !a.flag("allowzero") && d < static_cast<int64_t>(wanted.size()) && wanted[d] == 0;
    if (!copied) fits = fits && checked_mul(rest, x.shape[d], rest);
  }
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] > 0) fits = fits && checked_mul(asked, wanted[d], asked);
    if (wanted[d] != 0 || a.flag("allowzero")) continue;
    require(static_cast<int64_t>(d) < x.rank(), Code::shape,
            "onnx_reshape: shape {} copies extent {} of the input, which has rank {} ({})", to_string(wanted), d,
            x.rank(), to_string(x));
    wanted[d] = x.shape[d];
  }
  // Without elements their count cannot tell the -1: it follows from the extents that are not copied ([0, 6] to [0,
  // -1]).
  if (fits && x.numel() == 0 && !a.flag("allowzero") && rest % asked == 0)
    for (int64_t& w : wanted)
      if (w == -1) {
        w = rest / asked;
        break;
      }
  return {reshaped(x, a.operand("self"), infer_shape(wanted, x.numel(), "onnx_reshape"))};
}

// ONNX Flatten: always two dims, the first holding the axes before `axis`.
Metas onnx_flatten(const Args& a) {
  const Meta& x = a.tensor("self");
  int64_t axis = a.integer("axis");
  require(axis >= -x.rank() && axis <= x.rank(), Code::index, "onnx_flatten: axis {} is outside [{}, {}] ({})", axis,
          -x.rank(), x.rank(), to_string(x));
  if (axis < 0) axis += x.rank();
  const int64_t rows = numel(Shape(x.shape.begin(), x.shape.begin() + axis));
  const int64_t columns = numel(Shape(x.shape.begin() + axis, x.shape.end()));
  return {reshaped(x, a.operand("self"), Shape{rows, columns})};
}

void import_reshape(Importing& node) {
  node.output(0, node.emit("custom::onnx_reshape",
                           {node.input(0), FromTensor{node.input(1)}, node.integer("allowzero", 0) != 0}));
}
void import_flatten(Importing& node) {
  node.output(0, node.emit("custom::onnx_flatten", {node.input(0), node.integer("axis", 1)}));
}

// Views have no arithmetic: the oracle is the same bytes in the shape that infer promises.
template <InferFn infer>
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  return {rearranged(operands[0], infer(a)[0].shape, [i = int64_t{0}](const Ints&) mutable { return i++; })};
}

template <InferFn infer>
OpDecl op(const char* schema, SamplesFn samples) {
  return view_op<infer>(schema, oracle<infer>, samples);
}

}  // namespace

namespace decls {
Decls view() {
  Decls out = {
      op<nbx::view>("aten::view(Tensor self, int[] size) -> Tensor", view_samples),
      op<unsafe_view>("aten::_unsafe_view(Tensor self, int[] size) -> Tensor", reshape_samples),
      op<reshape>("aten::reshape(Tensor self, int[] shape) -> Tensor", reshape_samples),
      op<flatten>("aten::flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor", flatten_samples),
      op<unflatten>("aten::unflatten.int(Tensor self, int dim, int[] sizes) -> Tensor", unflatten_samples),
      op<onnx_reshape>("custom::onnx_reshape(Tensor self, int[] shape, bool allowzero=False) -> Tensor",
                       onnx_reshape_samples),
      op<onnx_flatten>("custom::onnx_flatten(Tensor self, int axis=1) -> Tensor", onnx_flatten_samples),
  };
  out[5].imports = {{"Reshape", import_reshape, 5}};
  out[5].source = "ONNX Reshape: 0 copies an extent";
  out[6].imports = {{"Flatten", import_flatten, 1}};
  out[6].source = "ONNX Flatten";
  return out;
}
}  // namespace decls
}  // namespace nbx
