// SPDX-License-Identifier: Apache-2.0
// ONNX's norms without weights: LpNormalization, MeanVarianceNormalization, LRN.
#include "ops/norm/normalize/normalize.h"

#include <cmath>

#include "ops/reduce/dims.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  normalize_spec(a);
  return {a.tensor("self").like()};
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = (a.op() == "lrn" ? a.integer("size") + 4 : 6) * a.tensor("self").numel();
  return c;
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const NormalizeSpec s = normalize_spec(a);
  const Tensor& in = operands[0];
  const auto x = in.to_doubles();
  std::vector<double> y(x.size());
  if (s.kind == NormalizeKind::response) {
    for (size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<int64_t>(i), c = at / s.space % s.channels;
      double sum = 0;
      for (int64_t k = std::max<int64_t>(0, c - (s.size - 1) / 2); k <= std::min(s.channels - 1, c + s.size / 2); ++k)
        sum += std::pow(x[static_cast<size_t>(at + (k - c) * s.space)], 2);
      y[i] = x[i] / std::pow(s.bias + s.alpha / static_cast<double>(s.size) * sum, s.beta);
    }
  } else {
    for (const auto& places : reduction_terms(in.shape(), s.over)) {
      double mean = 0, spread = 0;
      for (const int64_t p : places) mean += x[static_cast<size_t>(p)] / static_cast<double>(places.size());
      if (s.kind != NormalizeKind::mean_variance) mean = 0;
      for (const int64_t p : places) {
        const double v = x[static_cast<size_t>(p)] - mean;
        spread += s.kind == NormalizeKind::l1 ? std::fabs(v) : v * v;
      }
      if (s.kind == NormalizeKind::mean_variance)
        spread = std::sqrt(spread / static_cast<double>(places.size())) + 1e-9;
      if (s.kind == NormalizeKind::l2) spread = std::sqrt(spread);
      for (const int64_t p : places)
        y[static_cast<size_t>(p)] = spread == 0 ? 0 : (x[static_cast<size_t>(p)] - mean) / spread;
    }
  }
  return {Tensor::of<double>(in.shape(), std::span<const double>(y))};
}

void lp_samples(SampleSink& s) {
  for (const int64_t p : {1, 2}) {
    for (const int64_t axis : {-1, 0, 1}) s.add({randn({3, 40, 5}), val(axis), val(p)});
    s.add({Tensor::zeros({2, 4}, DType::float32), val(-1), val(p)});
  }
  s.add({randn({2, 5000}), val(1)});
  s.error(Code::value, {"3"}, {randn({2, 3}), val(-1), val(3)});
}
void mvn_samples(SampleSink& s) {
  s.add({randn({2, 3, 7, 5})});
  s.add({randn({2, 3, 7, 5}), ints({1, -1})});
  s.add({randn({2, 3, 7}), ints({1})});
}
void lrn_samples(SampleSink& s) {
  for (const int64_t size : {1, 2, 3, 5}) s.add({randn({2, 6, 5, 4}), val(size), val(0.5), val(0.75), val(1.5)});
  s.add({randn({2, 4, 700}), val(3)});
  s.error(Code::shape, {"float32[4]"}, {randn({4}), val(3)});
}

void import_lp(Importing& in) {
  in.output(0, in.emit("custom::lp_normalize", {in.input(0), in.integer("axis", -1), in.integer("p", 2)}));
}
void import_mvn(Importing& in) {
  in.output(0, in.emit("custom::mean_variance_normalize", {in.input(0), in.ints("axes", Ints{0, 2, 3})}));
}
void import_lrn(Importing& in) {
  in.output(0, in.emit("custom::lrn", {in.input(0), in.integer("size"), in.number("alpha", 1e-4),
                                       in.number("beta", 0.75), in.number("bias", 1.0)}));
}

OpDecl declared(const char* schema, SamplesFn samples, std::vector<OnnxImport> imports) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("normalize_cpu", bind_normalize)};
  d.oracle = oracle;
  d.samples = samples;
  d.tolerance = norm_wise(1e-6, 8e-4, 6e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.imports = std::move(imports);
  d.source = "ONNX " + d.imports[0].op;
  return d;
}

}  // namespace

namespace decls {

Decls normalize() {
  return {
      declared("custom::lp_normalize(Tensor self, int axis=-1, int p=2) -> Tensor", lp_samples,
               {{"LpNormalization", import_lp}}),
      declared("custom::mean_variance_normalize(Tensor self, int[] axes=[0,2,3]) -> Tensor", mvn_samples,
               {{"MeanVarianceNormalization", import_mvn, 9}}),
      declared("custom::lrn(Tensor self, int size, float alpha=0.0001, float beta=0.75, float bias=1.0) -> Tensor",
               lrn_samples, {{"LRN", import_lrn}}),
  };
}

}  // namespace decls
}  // namespace nbx
