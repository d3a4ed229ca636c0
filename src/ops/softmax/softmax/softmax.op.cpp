// SPDX-License-Identifier: Apache-2.0
// Softmax and its kin: e^(x - max) over their sum along one dim.
#include "ops/softmax/softmax/softmax.h"

#include <cmath>
#include <limits>

namespace nbx {
namespace {

Metas infer(const Args& a) { return {Meta(softmax_spec(a).out, a.tensor("self").shape)}; }

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = 5 * a.tensor("self").numel();
  return c;
}

void samples(SampleSink& s) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const int64_t n : {1, 7, 16, 33, 500, 2048, 4100}) s.add({randn({3, n}), val(-1)});
  s.add({randn({40, 300}), val(0)});
  s.add({randn({3, 70, 9}), val(1)});
  s.add({strided(randn({4, 6, 5})), val(2)});
  s.add({rand_uniform({4, 50}, 500, 700), val(1)});
  s.add({rand_uniform({4, 50}, -60000, 60000), val(1)});
  s.add({Tensor::full({2, 9}, -inf, DType::float32), val(1)});
  s.add({Tensor::full({9, 2}, -inf, DType::float32), val(0)});
  s.add({special_floats(), val(0)});
  Tensor masked = randn({3, 8});
  for (const int64_t i : {1, 9, 15}) masked.mutable_data<float>()[i] = static_cast<float>(-inf);
  s.add({masked, val(1)});
  s.add({randn({}), val(0)});
  s.add({randn({3, 0}), val(1)});
  s.error(Code::index, {"2"}, {randn({3, 4}), val(2)});
}
void with_dtype(SampleSink& s) {
  samples(s);
  s.add({rand_ints({3, 5}, 0, 9), val(1), val(DType::float32)});
  s.add({randn({3, 5}), val(1), val(DType::float64)});
  s.error(Code::dtype, {"int64"}, {rand_ints({3}, 0, 5), val(0)});
}
void with_half_flag(SampleSink& s) {
  for (const int64_t n : {1, 7, 33, 2100}) s.add({randn({3, n}), val(-1), val(false)});
  s.add({randn({3, 70, 9}), val(1), val(false)});
  s.add_as_is({randn({3, 70}).to(DType::float16), val(1), val(true)});
  s.error(Code::dtype, {"float32"}, {randn({3}), val(0), val(true)});
}
void flat_samples(SampleSink& s) {
  s.add({randn({3, 4, 5}), val(1)});
  s.add({randn({3, 4, 5}), val(0)});
  s.add({randn({3, 4, 5}), val(-1)});
}
void hard_samples(SampleSink& s) {
  for (const bool flat : {false, true}) {
    s.add({randn({3, 4, 5}), val(1), val(flat)});
    s.add({rand_ints({4, 40}, 0, 4).to(DType::float32), val(-1), val(flat)});
  }
}

// Before opset 13 the input is a matrix: dims before the axis are its rows, all others its columns; the axis is 1 by
// default.
void import_softmax(Importing& in) {
  in.output(0, in.emit(in.op_type() == "Softmax" ? "aten::softmax.int" : "aten::log_softmax.int",
                       {in.input(0), in.integer("axis", -1)}));
}
void import_softmax_flat(Importing& in) {
  in.output(0, in.emit(in.op_type() == "Softmax" ? "custom::softmax" : "custom::log_softmax",
                       {in.input(0), in.integer("axis", 1)}));
}
void import_hardmax(Importing& in) {
  const bool flat = in.opset() < 13;
  in.output(0, in.emit("custom::hardmax", {in.input(0), in.integer("axis", flat ? 1 : -1), flat}));
}

OpDecl declared(const char* schema, SamplesFn make_samples, std::vector<OnnxImport> imports = {}) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("softmax_cpu", bind_softmax)};
  d.oracle = softmax_oracle;
  d.samples = make_samples;
  d.tolerance = norm_wise(6e-7, 8e-4, 5e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.flags = kInPlace;
  d.imports = std::move(imports);
  d.source = d.schema.rfind("aten", 0) == 0 ? "ATen" : "ONNX before opset 13; Hardmax";
  return d;
}

}  // namespace

std::vector<Tensor> softmax_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const SoftmaxSpec s = softmax_spec(a);
  const auto x = operands[0].to_doubles();
  std::vector<double> y(x.size());
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const auto at = [&](int64_t j) { return static_cast<size_t>((o * s.n + j) * s.inner + i); };
      double top = -INFINITY, sum = 0;
      bool nan = false;
      int64_t best = 0;
      for (int64_t j = 0; j < s.n; ++j) {
        nan = nan || std::isnan(x[at(j)]);
        if (x[at(j)] > top) best = j;
        top = std::fmax(top, x[at(j)]);
      }
      for (int64_t j = 0; j < s.n; ++j) sum += std::exp(x[at(j)] - top);
      for (int64_t j = 0; j < s.n; ++j) {
        double v = std::exp(x[at(j)] - top) / sum;
        if (s.kind == SoftmaxKind::log) v = x[at(j)] - top - std::log(sum);
        if (nan) v = NAN;
        if (s.kind == SoftmaxKind::safe && top == -INFINITY && !nan) v = 0;
        if (s.kind == SoftmaxKind::hard) v = j == best;
        y[at(j)] = v;
      }
    }
  }
  return {Tensor::of<double>(operands[0].shape(), std::span<const double>(y))};
}

namespace decls {

Decls softmax() {
  return {
      declared("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", with_dtype,
               {{"Softmax", import_softmax, 13}}),
      declared("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", with_half_flag),
      declared("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", with_dtype,
               {{"LogSoftmax", import_softmax, 13}}),
      declared("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", with_half_flag),
      declared("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", with_dtype),
      declared("custom::softmax(Tensor self, int dim=1, bool flat=True) -> Tensor", flat_samples,
               {{"Softmax", import_softmax_flat, 1, 12}}),
      declared("custom::log_softmax(Tensor self, int dim=1, bool flat=True) -> Tensor", flat_samples,
               {{"LogSoftmax", import_softmax_flat, 1, 12}}),
      declared("custom::hardmax(Tensor self, int dim=-1, bool flat=False) -> Tensor", hard_samples,
               {{"Hardmax", import_hardmax}}),
  };
}

}  // namespace decls
}  // namespace nbx
