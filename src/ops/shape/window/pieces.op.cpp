// SPDX-License-Identifier: Apache-2.0
// ONNX Slice (several axes at once, negative steps) and Split (by parts or sizes) as views.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "ops/shape/views.h"
#include "ops/shape/window/window.h"
#include "shape/strides.h"

namespace nbx {
namespace {

Metas onnx_slice(const Args& a) {
  const Meta& x = a.tensor("self");
  const Ints starts = a.ints("starts"), ends = a.ints("ends");
  require(starts.size() == ends.size(), Code::shape, "onnx_slice: starts {} and ends {} differ in length",
          to_string(starts), to_string(ends));
  Ints axes = a.ints("axes"), steps = a.ints("steps");
  if (!a.has("axes"))
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (!a.has("steps")) steps.assign(starts.size(), 1);
  require(axes.size() == starts.size(), Code::shape, "onnx_slice: axes {} and starts {} differ in length",
          to_string(axes), to_string(starts));
  require(steps.size() == starts.size(), Code::shape, "onnx_slice: steps {} and starts {} differ in length",
          to_string(steps), to_string(starts));
  require(x.rank() > 0 || axes.empty(), Code::index, "onnx_slice: self is 0-d; axes {} do not exist", to_string(axes));
  axes = wrap_dims(axes, x.rank(), "onnx_slice: axes");

  Shape shape = x.shape;
  Strides strides = x.strides;
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t d = axes[i], n = x.shape[d], step = steps[i];
    require(step != 0, Code::value, "onnx_slice: the step of axis {} is 0", d);
    // Bounds wrap once, then clamp: to [0, n] going up, to [-1, n - 1] going down (-1: past the first element).
    const auto bound = [n](int64_t v, int64_t low, int64_t high) { return std::clamp(v < 0 ? v + n : v, low, high); };
    const bool up = step > 0;
    const int64_t start = up ? bound(starts[i], 0, n) : bound(starts[i], 0, std::max<int64_t>(n - 1, 0));
    const int64_t end = up ? bound(ends[i], 0, n) : bound(ends[i], -1, std::max<int64_t>(n - 1, 0));
    // The smallest int64 has no negative; no extent is that long, so its neighbour steps as far.
    const int64_t stride = std::max(step, -std::numeric_limits<int64_t>::max());
    const int64_t span = up ? end - start : start - end, pace = up ? stride : -stride;
    const int64_t length = n == 0 || span <= 0 ? 0 : (span - 1) / pace + 1;
    shape[d] = length;
    if (length > 0) offset += start * strides[d];
    strides[d] = length > 1 ? strides[d] * stride : strides[d];
  }
  return {view_of(x, a.operand("self"), std::move(shape), std::move(strides), offset)};
}

// Which elements of a split axis belong to part `index`.
Metas onnx_split_part(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.rank() > 0, Code::shape, "onnx_split_part: self is 0-d; it has no axis to split");
  const int64_t dim = wrap_dim(a.integer("axis"), x.rank(), "onnx_split_part: axis"), n = x.shape[dim];
  const int64_t index = a.integer("index"), parts = a.integer("parts");
  require(parts > 0 && index >= 0 && index < parts, Code::value, "onnx_split_part: there is no part {} of {}", index,
          parts);
  int64_t start = 0, length = 0;
  if (a.has("sizes")) {
    const Ints sizes = a.ints("sizes");
    require(static_cast<int64_t>(sizes.size()) == parts, Code::shape, "onnx_split_part: {} sizes {} for {} outputs",
            sizes.size(), to_string(sizes), parts);
    int64_t sum = 0;
    for (int64_t i = 0; i < parts; ++i) {
      require(sizes[i] >= 0 && sizes[i] <= n - sum, Code::shape,
              "onnx_split_part: sizes {} do not fit the extent {} of axis {} ({})", to_string(sizes), n, dim,
              to_string(x));
      if (i == index) start = sum;
      sum += sizes[i];
    }
    require(sum == n, Code::shape, "onnx_split_part: sizes {} sum to {}, the extent of axis {} is {} ({})",
            to_string(sizes), sum, dim, n, to_string(x));
    length = sizes[index];
  } else {
    require(!a.flag("equal") || n % parts == 0, Code::shape,
            "onnx_split_part: axis {} of {} does not split into {} equal parts", dim, to_string(x), parts);
    const int64_t size = n / parts + (n % parts > 0);  // the last ones may be shorter
    start = std::min(size * index, n);
    length = std::min(size, n - start);
  }
  return {axis_view(x, a.operand("self"), dim, start, length, 1)};
}

// Oracles, element by element as the ONNX text describes it.
std::vector<Tensor> slice_oracle(const Args& a, const std::vector<Tensor>& operands) {
  Tensor x = operands[0];
  const Ints starts = a.ints("starts"), ends = a.ints("ends"), axes = a.ints("axes"), steps = a.ints("steps");
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t d = a.has("axes") ? (axes[i] + x.rank()) % x.rank() : static_cast<int64_t>(i);
    const int64_t n = x.dim(d), step = a.has("steps") ? steps[i] : 1;
    std::vector<int64_t> picked;
    const auto wrap = [n](int64_t v) { return v < 0 ? v + n : v; };
    if (step > 0)
      for (int64_t at = std::max<int64_t>(wrap(starts[i]), 0); at < std::min(wrap(ends[i]), n); at += std::min(step, n))
        picked.push_back(at);
    else
      for (int64_t at = std::min(wrap(starts[i]), n - 1); at >= 0 && at > wrap(ends[i]); at += std::max(step, -n))
        picked.push_back(at);
    Shape shape = x.shape();
    shape[d] = static_cast<int64_t>(picked.size());
    x = rearranged(x, shape, [&](Ints index) {
      index[d] = picked[index[d]];
      return place(x.shape(), index);
    });
  }
  return {x};
}
std::vector<Tensor> split_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const Tensor& x = operands[0];
  const int64_t d = (a.integer("axis") + x.rank()) % x.rank(), parts = a.integer("parts");
  Ints sizes = a.ints("sizes");
  if (!a.has("sizes"))
    for (int64_t i = 0, rest = x.dim(d), size = (x.dim(d) + parts - 1) / parts; i < parts; ++i, rest -= sizes.back())
      sizes.push_back(std::min(size, rest));
  int64_t start = 0;
  for (int64_t i = 0; i < a.integer("index"); ++i) start += sizes[i];
  Shape shape = x.shape();
  shape[d] = sizes[a.integer("index")];
  return {rearranged(x, shape, [&](Ints index) {
    index[d] += start;
    return place(x.shape(), index);
  })};
}

void import_slice(Importing& node) {
  if (node.opset() < 10) {
    const Value axes = node.has("axes") ? Value(node.ints("axes")) : Value(None{});
    node.output(0,
                node.emit("custom::onnx_slice", {node.input(0), node.ints("starts"), node.ints("ends"), axes, None{}}));
    return;
  }
  const auto from = [&](int i) { return node.has_input(i) ? Value(FromTensor{node.input(i)}) : Value(None{}); };
  node.output(0, node.emit("custom::onnx_slice", {node.input(0), from(1), from(2), from(3), from(4)}));
}
void import_split(Importing& node) {
  Value sizes = None{};
  if (node.has_input(1))
    sizes = FromTensor{node.input(1)};
  else if (node.has("split"))
    sizes = node.ints("split");
  const int64_t parts = node.integer("num_outputs", node.outputs());
  const bool equal = node.opset() < 18;
  for (int i = 0; i < node.outputs(); ++i)
    if (node.wants_output(i))
      node.output(i, node.emit("custom::onnx_split_part",
                               {node.input(0), node.integer("axis", 0), sizes, parts, static_cast<int64_t>(i), equal}));
}

}  // namespace

namespace decls {
Decls pieces() {
  Decls out = {
      view_op<onnx_slice>(
          "custom::onnx_slice(Tensor self, int[] starts, int[] ends, int[]? axes=None, int[]? steps=None) -> Tensor",
          slice_oracle, onnx_slice_samples),
      view_op<onnx_split_part>("custom::onnx_split_part(Tensor self, int axis, int[]? sizes, int parts, int index, "
                               "bool equal=False) -> Tensor",
                               split_oracle, onnx_split_samples),
  };
  out[0].imports = {{"Slice", import_slice, 1}};
  out[0].source = "ONNX Slice";
  out[1].imports = {{"Split", import_split, 2}};
  out[1].source = "ONNX Split, one of its outputs";
  return out;
}
}  // namespace decls
}  // namespace nbx
