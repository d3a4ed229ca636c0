// SPDX-License-Identifier: Apache-2.0
// A tensor's shape as a tensor: known when a program is planned, so that all shape arithmetic folds.
#include <algorithm>

#include "base/check.h"
#include "ops/shape/views.h"

namespace nbx {
namespace {

Metas shape_as_tensor(const Args& a) { return {Meta(DType::int64, Shape{a.tensor("self").rank()})}; }

// ONNX Shape: the extents [start, end), both wrapped once and clamped.
Ints extents(const Args& a) {
  const Meta& x = a.tensor("self");
  const auto bound = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + x.rank() : v, 0, x.rank()); };
  const int64_t start = bound(a.integer("start")), end = a.has("end") ? bound(a.integer("end")) : x.rank();
  return start < end ? Ints(x.shape.begin() + start, x.shape.begin() + end) : Ints{};
}
Metas shape(const Args& a) { return {Meta(DType::int64, Shape{static_cast<int64_t>(extents(a).size())})}; }
Metas size(const Args&) { return {Meta(DType::int64, Shape{})}; }

Bound write(Ints values) {
  return [values = std::move(values)](const Run& r) { std::copy(values.begin(), values.end(), r.out<int64_t>(0)); };
}
Bound bind_whole(const Args& a, const Metas&) { return write(a.tensor("self").shape); }
Bound bind_shape(const Args& a, const Metas&) { return write(extents(a)); }
Bound bind_size(const Args& a, const Metas&) { return write(Ints{a.tensor("self").numel()}); }

Tensor ints_tensor(const std::vector<int64_t>& v) { return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v); }
std::vector<Tensor> whole_oracle(const Args&, const std::vector<Tensor>& x) {
  return {ints_tensor({x[0].shape().begin(), x[0].shape().end()})};
}
std::vector<Tensor> shape_oracle(const Args& a, const std::vector<Tensor>& x) {
  std::vector<int64_t> out;
  const int64_t rank = x[0].rank(), start = a.integer("start"), end = a.has("end") ? a.integer("end") : rank;
  for (int64_t d = 0; d < rank; ++d)
    if (d >= (start < 0 ? start + rank : start) && d < (end < 0 ? end + rank : end)) out.push_back(x[0].dim(d));
  return {ints_tensor(out)};
}
std::vector<Tensor> size_oracle(const Args&, const std::vector<Tensor>& x) {
  int64_t n = 1;
  for (int64_t extent : x[0].shape()) n *= extent;
  return {Tensor::scalar<int64_t>(n)};
}

void whole_samples(SampleSink& s) {
  s.add({randn({2, 3, 4})});
  s.add({randn({})});
  s.add({randn({0, 7})});
  s.add({strided(randn({4, 5}))});
}
void shape_samples(SampleSink& s) {
  whole_samples(s);
  s.add({randn({2, 3, 4}), val(1)});
  s.add({randn({2, 3, 4}), val(-2), val(-1)});
  s.add({randn({2, 3, 4}), val(0), val(10)});
  s.add({randn({2, 3, 4}), val(-10), val(2)});
  s.add({randn({2, 3, 4}), val(2), val(1)});
}

Cost cost(const Args&, const Metas& outputs) { return {0, outputs[0].bytes(), 0, 0}; }

void import_shape(Importing& node) {
  if (!node.has("start") && !node.has("end")) {
    node.output(0, node.emit("aten::_shape_as_tensor", {node.input(0)}));
    return;
  }
  const Value end = node.has("end") ? Value(node.integer("end")) : Value(None{});
  node.output(0, node.emit("custom::shape", {node.input(0), node.integer("start", 0), end}));
}
void import_size(Importing& node) { node.output(0, node.emit("custom::size", {node.input(0)})); }

}  // namespace

namespace decls {
Decls extent() {
  Decls out = {
      movement_op("aten::_shape_as_tensor(Tensor self) -> Tensor", shape_as_tensor,
                  {cpu("extents_cpu", bind_whole, true)}, whole_oracle, whole_samples),
      movement_op("custom::shape(Tensor self, int start=0, int? end=None) -> Tensor", shape,
                  {cpu("extents_cpu", bind_shape, true)}, shape_oracle, shape_samples),
      movement_op("custom::size(Tensor self) -> Tensor", size, {cpu("extents_cpu", bind_size, true)}, size_oracle,
                  whole_samples),
  };
  for (OpDecl& op : out) {
    op.flags |= kShapeOnly;
    op.cost = cost;
  }
  out[0].imports = {{"Shape", import_shape, 1}};
  out[2].imports = {{"Size", import_size, 1}};
  return out;
}
}  // namespace decls
}  // namespace nbx
