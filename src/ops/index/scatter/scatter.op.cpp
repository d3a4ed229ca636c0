// SPDX-License-Identifier: Apache-2.0
// Elements or slices put into a copy of self by index. Duplicate targets: sources count in ascending order, so without
// a reduction the last one stays.
#include "ops/index/scatter/scatter.h"

#include <algorithm>

#include "base/check.h"
#include "ops/index/indices.h"
#include "ops/index/reference.h"
#include "ops/shape/views.h"
#include "shape/strides.h"

namespace nbx {
namespace {

Shape at_least_1d(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }
const char* axis_param(const Args& a) { return a.schema().find("dim") >= 0 ? "dim" : "axis"; }
const char* index_param(const Args& a) { return a.schema().find("indices") >= 0 ? "indices" : "index"; }
const char* source_param(const Args& a) {
  for (const char* p : {"src", "updates", "source"})
    if (a.schema().find(p) >= 0) return p;
  return nullptr;
}
int64_t axis_of(const Args& a) {
  return wrap_dim(a.integer(axis_param(a)), a.tensor("self").rank(), a.op() + ": " + axis_param(a));
}

struct Rule {
  Reduce reduce = Reduce::assign;
  bool mean = false;
};
Rule rule_of(const Args& a) {
  if (a.op() == "scatter_add" || a.op() == "index_add") return {Reduce::add};
  if (a.schema().find("reduce") < 0 && a.schema().find("reduction") < 0) return {};
  const std::string r = a.text(a.schema().find("reduce") >= 0 ? "reduce" : "reduction");
  const bool old = a.op() == "scatter", two = a.op() == "scatter_reduce";
  if (!two && r == "add") return {Reduce::add};
  if (old && r == "multiply") return {Reduce::mul};
  if (!old && !two && r == "none") return {};
  if (!old && !two && r == "mul") return {Reduce::mul};
  if (!old && !two && r == "max") return {Reduce::max};
  if (!old && !two && r == "min") return {Reduce::min};
  if (two && r == "sum") return {Reduce::add};
  if (two && r == "prod") return {Reduce::mul};
  if (two && r == "mean") return {Reduce::add, true};
  if (two && r == "amax") return {Reduce::max};
  if (two && r == "amin") return {Reduce::min};
  fail(Code::value, "{}: reduce '{}' is not known; it is {}", a.op(), r,
       old   ? "add or multiply"
       : two ? "sum, prod, mean, amax or amin"
             : "none, add, mul, max or min");
}

// One by one: index, source and self have the same dims.
Metas elements(const Args& a) {
  const Meta &x = a.tensor("self"), &index = a.tensor(index_param(a));
  const int64_t dim = axis_of(a);
  const Rule rule = rule_of(a);
  require(!is_complex(x.dtype) || (rule.reduce != Reduce::max && rule.reduce != Reduce::min), Code::dtype,
          "{}: {} has no order", a.op(), name(x.dtype));
  require_index(a, index, index_param(a));
  const Shape xs = at_least_1d(x.shape), is = at_least_1d(index.shape);
  const char* param = source_param(a);
  if (param)
    require(a.tensor(param).dtype == x.dtype, Code::dtype, "{}: self is {}, {} is {}; they must be equal", a.op(),
            name(x.dtype), param, name(a.tensor(param).dtype));
  if (index.numel() == 0) return {x.like()};
  require(is.size() == xs.size(), Code::shape, "{}: index ({}) must have as many dims as self ({})", a.op(),
          to_string(index), to_string(x));
  for (size_t d = 0; d < xs.size(); ++d)
    require(static_cast<int64_t>(d) == dim || is[d] <= xs[d], Code::shape,
            "{}: index ({}) is larger than self ({}) in dim {}; only dim {} may be", a.op(), to_string(index),
            to_string(x), d, dim);
  if (param) {
    const Shape ss = at_least_1d(a.tensor(param).shape);
    require(ss.size() == is.size(), Code::shape, "{}: index ({}) must have as many dims as {} ({})", a.op(),
            to_string(index), param, to_string(a.tensor(param)));
    for (size_t d = 0; d < ss.size(); ++d)
      require(is[d] <= ss[d], Code::shape, "{}: index ({}) is larger than {} ({}) in dim {}", a.op(), to_string(index),
              param, to_string(a.tensor(param)), d);
  }
  return {x.like()};
}
ScatterSpec common_spec(const Args& a, bool wrap) {
  const Meta& x = a.tensor("self");
  const int64_t dim = axis_of(a), extent = at_least_1d(x.shape)[dim];
  ScatterSpec s;
  s.index = single_index(a, index_param(a), extent, wrap, fmt::format("dim {} of {}", dim, to_string(x)));
  s.dtype = x.dtype;
  s.numel = x.numel();
  s.dim = dim;
  s.base = contiguous_strides(at_least_1d(x.shape));
  s.pace = s.base[dim];
  s.base[dim] = 0;
  s.reduce = rule_of(a).reduce;
  s.mean = rule_of(a).mean;
  if (a.schema().find("include_self") >= 0) s.include_self = a.flag("include_self");
  if (a.schema().find("alpha") >= 0) s.alpha = a.scalar("alpha");
  if (const char* param = source_param(a)) s.source = a.operand(param);
  return s;
}
template <bool wrap>
ScatterSpec elements_spec(const Args& a) {
  ScatterSpec s = common_spec(a, wrap);
  const Shape is = at_least_1d(a.tensor(index_param(a)).shape);
  if (is.size() != s.base.size()) {  // an empty index of another rank
    s.walk = Shape{0};
    s.places = s.from = s.base = Strides{0};
    s.dim = 0;
    return s;
  }
  s.walk = is;
  s.places = contiguous_strides(is);
  if (const char* param = source_param(a)) {
    s.from = contiguous_strides(at_least_1d(a.tensor(param).shape));
  } else {
    s.from.assign(is.size(), 0);
    s.constant = item_bytes(a.scalar("value"), s.dtype);
  }
  return s;
}

// Slices: a 1-d index names places of one dim.
Metas slices(const Args& a) {
  const Meta &x = a.tensor("self"), &index = a.tensor("index");
  const int64_t dim = axis_of(a);
  require_index(a, index, "index");
  require(index.rank() <= 1, Code::shape, "{}: index must have at most one dim, it is {}", a.op(), to_string(index));
  if (const char* param = source_param(a)) {
    const Meta& source = a.tensor(param);
    require(source.dtype == x.dtype, Code::dtype, "{}: self is {}, source is {}; they must be equal", a.op(),
            name(x.dtype), name(source.dtype));
    Shape xs = at_least_1d(x.shape);
    const Shape ss = at_least_1d(source.shape);
    xs[dim] = index.numel();
    require(ss == xs, Code::shape, "{}: source is {}, it must be {} for self {} and {} indices in dim {}", a.op(),
            to_string(source), to_string(xs), to_string(x), index.numel(), dim);
  }
  if (a.schema().find("value") >= 0 && std::holds_alternative<TensorRef>(a.value("value"))) {
    const Meta& value = a.tensor("value");
    require(value.rank() == 0, Code::shape, "{}: value must be 0-d, it is {}", a.op(), to_string(value));
    require(value.dtype == x.dtype || value.known.defined(), Code::dtype,
            "{}: self is {}, value is {}; they must be equal", a.op(), name(x.dtype), name(value.dtype));
  }
  return {x.like()};
}
template <bool wrap>
ScatterSpec slices_spec(const Args& a) {
  ScatterSpec s = common_spec(a, wrap);
  s.walk = at_least_1d(a.tensor("self").shape);
  s.walk[s.dim] = s.index.count;
  s.places.assign(s.walk.size(), 0);
  s.places[s.dim] = 1;
  s.from.assign(s.walk.size(), 0);
  if (source_param(a)) {
    s.from = contiguous_strides(s.walk);
  } else if (std::holds_alternative<TensorRef>(a.value("value")) && a.tensor("value").dtype == s.dtype) {
    s.source = a.operand("value");
  } else {
    s.constant = item_bytes(a.scalar("value"), s.dtype);
  }
  return s;
}

// Oracles: one source after the other.
Reference::Step step_of(const Args& a) {
  const Rule rule = rule_of(a);
  return {rule.reduce, rule.mean, a.schema().find("include_self") < 0 || a.flag("include_self"),
          a.schema().find("alpha") >= 0 ? a.scalar("alpha").as_double() : 1.0};
}
std::vector<Tensor> elements_oracle(const Args& a, const std::vector<Tensor>& x) {
  const Tensor& index = x[1];
  Reference target(x[0], step_of(a));
  const std::vector<int64_t> values = index.to_ints();
  const int64_t dim = axis_of(a);
  int64_t n = 0;
  if (index.numel() > 0)
    each_index(at_least_1d(index.shape()), [&](const Ints& i) {
      Ints to = i;
      const int64_t v = values[static_cast<size_t>(n++)];
      const Shape xs = at_least_1d(x[0].shape());
      to[dim] = v < 0 ? v + xs[dim] : v;
      if (source_param(a))
        target.put(place(xs, to), x[2], place(at_least_1d(x[2].shape()), i));
      else
        target.put(place(xs, to), a.scalar("value"));
    });
  return {target.result()};
}
std::vector<Tensor> slices_oracle(const Args& a, const std::vector<Tensor>& x) {
  const std::vector<int64_t> values = x[1].to_ints();
  Reference target(x[0], step_of(a));
  const int64_t dim = axis_of(a);
  const Shape xs = at_least_1d(x[0].shape());
  Shape walk = xs;
  walk[dim] = static_cast<int64_t>(values.size());
  each_index(walk, [&](const Ints& i) {
    Ints to = i;
    to[dim] = values[static_cast<size_t>(i[dim])];
    if (to[dim] < 0) to[dim] += xs[dim];
    if (source_param(a))
      target.put(place(xs, to), x[2], place(walk, i));
    else
      target.put(place(xs, to), a.scalar("value"));
  });
  return {target.result()};
}

void import_scatter(Importing& node) {
  node.output(0, node.emit("custom::scatter_elements", {node.input(0), node.input(1), node.input(2),
                                                        node.integer("axis", 0), node.text("reduction", "none")}));
}

// Sums: one rounding for each source in float32, one at the end in half types.
OpDecl summing(OpDecl out) {
  out.tolerance = norm_wise(3e-7, 8e-4, 6e-3);
  out.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int64};
  return out;
}

}  // namespace

namespace decls {
Decls scatter() {
  Decls out = {
      scatter_op<elements_spec<false>>("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
                                       elements, elements_oracle, scatter_src_samples),
      scatter_op<elements_spec<false>>(
          "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", elements, elements_oracle,
          scatter_value_samples),
      summing(scatter_op<elements_spec<false>>(
          "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", elements,
          elements_oracle, scatter_reduce_arg_samples)),
      summing(scatter_op<elements_spec<false>>(
          "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
          elements, elements_oracle, scatter_value_reduce_samples)),
      summing(scatter_op<elements_spec<false>>(
          "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", elements, elements_oracle,
          scatter_add_samples)),
      summing(scatter_op<elements_spec<false>>(
          "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
          "include_self=True) -> Tensor",
          elements, elements_oracle, scatter_reduce_samples)),
      summing(scatter_op<elements_spec<true>>(
          "custom::scatter_elements(Tensor self, Tensor indices, Tensor updates, int axis=0, str reduction='none') "
          "-> Tensor",
          elements, elements_oracle, scatter_elements_samples)),
      summing(scatter_op<slices_spec<false>>(
          "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", slices,
          slices_oracle, index_add_samples)),
      scatter_op<slices_spec<false>>("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
                                     slices, slices_oracle, index_copy_samples),
      scatter_op<slices_spec<true>>(
          "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", slices,
          slices_oracle, index_fill_samples),
      scatter_op<slices_spec<true>>(
          "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", slices,
          slices_oracle, index_fill_tensor_samples),
  };
  out[6].imports = {{"ScatterElements", import_scatter, 11}, {"Scatter", import_scatter, 9, 10}};
  out[6].source = "ONNX ScatterElements";
  return out;
}
}  // namespace decls
}  // namespace nbx
