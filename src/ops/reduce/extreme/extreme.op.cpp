// SPDX-License-Identifier: Apache-2.0
// max.dim, min.dim, argmax, argmin, aminmax, and ONNX ArgMax and ArgMin. A NaN wins; of equal elements the first one.
#include "ops/reduce/extreme/extreme.h"

#include <cmath>
#include <limits>

#include "ops/reduce/dims.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const ExtremeSpec s = extreme_spec(a);
  const Meta& x = a.tensor("self");
  require(!is_complex(x.dtype), Code::dtype, "{}: {} has no order", a.op(), to_string(x));
  require(x.dtype != DType::bool_ || a.schema().space != "aten" || a.op().rfind("arg", 0) != 0, Code::dtype,
          "{}: self is {}, bool is not supported; convert it to uint8", a.op(), to_string(x));
  const Shape shape = reduced_shape(x.shape, s.over, s.keepdim);
  if (a.op() == "aminmax") return {Meta(x.dtype, shape), Meta(x.dtype, shape)};
  if (s.value_output < 0) return {Meta(DType::int64, shape)};
  return {Meta(x.dtype, shape), Meta(DType::int64, shape)};
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = pointwise_cost(a, outputs);
  c.flops = a.tensor("self").numel();
  c.workspace = extreme_bytes(a);
  return c;
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const ExtremeSpec s = extreme_spec(a);
  const Tensor& x = operands[0];
  const Shape shape = reduced_shape(x.shape(), s.over, s.keepdim);
  const auto values = x.to_doubles();
  std::vector<double> low, high;
  std::vector<int64_t> index;
  for (const auto& places : reduction_terms(x.shape(), s.over)) {
    size_t best = 0;
    double small = INFINITY, large = -INFINITY;
    bool nan = false;
    for (size_t i = 0; i < places.size(); ++i) {
      const double v = values[static_cast<size_t>(places[i])], b = values[static_cast<size_t>(places[best])];
      nan = nan || std::isnan(v);
      small = std::fmin(small, v);
      large = std::fmax(large, v);
      const bool better = !std::isnan(b) && (std::isnan(v) || (s.largest ? v > b : v < b));
      const bool equal = v == b || (std::isnan(v) && std::isnan(b));
      if (i > 0 && (better || (s.last && equal))) best = i;
    }
    low.push_back(nan ? NAN : small);
    high.push_back(nan ? NAN : large);
    index.push_back(static_cast<int64_t>(best));
  }
  const auto wrapped = [&](const std::vector<double>& v) {
    const Tensor t = Tensor::of<double>(shape, std::span<const double>(v));
    return is_floating(x.dtype()) ? t : t.to(x.dtype());
  };
  if (a.op() == "aminmax") return {wrapped(low), wrapped(high)};
  const Tensor indices = Tensor::of<int64_t>(shape, std::span<const int64_t>(index));
  if (s.value_output < 0) return {indices};
  return {wrapped(s.largest ? high : low), indices};
}

Tensor with_nan(Tensor t, int64_t at) {
  t.mutable_data<float>()[at] = std::numeric_limits<float>::quiet_NaN();
  return t;
}

void dim_samples(SampleSink& s) {
  for (const int64_t n : {1, 9, 2100}) s.add({randn({3, n}), val(1)});
  s.add({randn({40, 300}), val(0), val(true)});
  s.add({strided(randn({4, 6, 5})), val(-1)});
  s.add({with_nan(randn({4, 6}), 9), val(1)});
  s.add({with_nan(randn({4, 6}), 9), val(0)});
  s.add({rand_ints({5, 40}, 0, 4), val(1)});  // ties
  s.add({rand_ints({5, 40}, 0, 4, DType::uint8), val(0)});
  s.add({randn({}), val(0)});
  s.error(Code::index, {"2"}, {randn({3, 4}), val(2)});
  s.error(Code::shape, {"empty"}, {randn({3, 0}), val(1)});
}
void flat_samples(SampleSink& s) {
  s.error(Code::dtype, {"bool"}, {rand_ints({5}, 0, 2).to(DType::bool_)});
  dim_samples(s);
  s.add({randn({7, 30})});
  s.add({strided(randn({7, 30}))});
  s.add({randn({1, 1000}).expand({400, 1000})});
}
void last_samples(SampleSink& s) {
  for (const bool last : {false, true}) {
    s.add({rand_ints({5, 40}, 0, 4), val(1), val(true), val(last)});
    s.add({rand_ints({5, 40}, 0, 4).to(DType::float32), val(1), val(false), val(last)});
    s.add({rand_ints({5, 40}, 0, 4).to(DType::float32), val(0), val(true), val(last)});
  }
}
void both_samples(SampleSink& s) {
  s.add({randn({7, 30})});
  s.add({with_nan(randn({7, 30}), 31)}, {{"dim", val(1)}});
  s.add({rand_ints({5, 40}, -40, 40, DType::int32)}, {{"dim", val(0)}, {"keepdim", val(true)}});
  s.error(Code::shape, {"empty"}, {randn({0})});
}

void import_arg(Importing& in) {
  in.output(0, in.emit(in.op_type() == "ArgMax" ? "custom::argmax" : "custom::argmin",
                       {in.input(0), in.integer("axis", 0), in.integer("keepdims", 1) != 0,
                        in.integer("select_last_index", 0) != 0}));
}

OpDecl declared(const char* schema, SamplesFn samples, std::vector<OnnxImport> imports = {}) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  const bool both = d.schema.find("aminmax") != std::string::npos;
  Kernel k = cpu("extreme_cpu", both ? bind_both_extremes : bind_extreme, true);
  k.workspace = extreme_bytes;
  d.kernels = {k};
  d.oracle = oracle;
  d.samples = samples;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.imports = std::move(imports);
  d.source = d.imports.empty() ? "ATen" : "ONNX ArgMax, ArgMin";
  return d;
}

}  // namespace

namespace decls {

Decls extreme() {
  return {
      declared("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
               dim_samples),
      declared("aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
               dim_samples),
      declared("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", flat_samples),
      declared("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", flat_samples),
      declared("aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
               both_samples),
      declared("custom::argmax(Tensor self, int dim, bool keepdim=True, bool select_last_index=False) -> Tensor",
               last_samples, {{"ArgMax", import_arg}}),
      declared("custom::argmin(Tensor self, int dim, bool keepdim=True, bool select_last_index=False) -> Tensor",
               last_samples, {{"ArgMin", import_arg}}),
  };
}

}  // namespace decls
}  // namespace nbx
