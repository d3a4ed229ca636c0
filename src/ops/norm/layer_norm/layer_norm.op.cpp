// SPDX-License-Identifier: Apache-2.0
// Layer norm (Ba, Kiros, Hinton 2016) and RMS norm (Zhang, Sennrich 2019) over the trailing dims.
#include "ops/norm/layer_norm/layer_norm.h"

#include <cmath>

#include "shape/broadcast.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const LayerNormSpec s = layer_norm_spec(a);
  const Meta& x = a.operands()[static_cast<size_t>(s.input)];
  Metas out = {x.like()};
  if (s.saves) {
    Shape lead = x.shape;
    for (int64_t d = s.axis; d < x.rank(); ++d) lead[static_cast<size_t>(d)] = 1;
    const Meta saved(x.dtype == DType::float64 ? DType::float64 : DType::float32, lead);
    out.push_back(saved);
    out.push_back(saved);
  }
  return out;
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = 7 * outputs[0].numel();
  c.workspace = layer_norm_bytes(a);
  return c;
}

void native_samples(SampleSink& s) {
  for (const int64_t n : {1, 7, 64, 2500}) s.add({randn({3, n}), ints({n}), randn({n}, 1), randn({n}, 2), val(1e-5)});
  s.add({randn({2, 3, 4, 5}), ints({4, 5}), randn({4, 5}, 1), none, val(1e-5)});
  s.add({strided(randn({6, 9})), ints({9}), none, randn({9}), val(1e-3)});
  s.error(Code::shape, {"[8]", "float32[6, 9]"}, {randn({6, 9}), ints({8}), none, none, val(1e-5)});
}
void layer_samples(SampleSink& s) {
  for (const int64_t n : {1, 7, 64, 2500}) s.add({randn({3, n}), ints({n}), randn({n}, 1), randn({n}, 2)});
  s.add({randn({2, 3, 40}), ints({3, 40})});
  Tensor far = randn({3, 64});
  for (int64_t i = 0; i < far.numel(); ++i) far.mutable_data<float>()[i] += 1e4f;
  s.add_as_is({far, ints({64})});  // the mean needs more digits than float32 has
  s.add({Tensor::full({3, 8}, 2.5, DType::float32), ints({8})});
  s.add({randn({0, 8}), ints({8})});
  s.error(Code::shape, {"[7]", "[8]"}, {randn({3, 8}), ints({8}), randn({7})});
}
void onnx_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), randn({4}), randn({4}, 1)});
  s.add({randn({2, 3, 4}), randn({3, 4}), none, val(1)});
  s.add({randn({2, 3, 4}), randn({4}), randn({3, 1}, 1), val(-2), val(1e-2)});
  s.error(Code::shape, {"[2, 1, 4]"}, {randn({2, 3, 4}), randn({2, 1, 4})});
}
void rms_samples(SampleSink& s) {
  for (const int64_t n : {1, 7, 64, 2500}) s.add({randn({3, n}), ints({n}), randn({n}, 1), val(1e-6)});
  s.add({randn({2, 3, 40}), ints({3, 40}), none, val(1e-6)});
  s.add_as_is({randn({3, 8}), ints({8})});
  s.error(Code::shape, {"[7]", "[8]"}, {randn({3, 8}), ints({8}), randn({7})});
}
void custom_rms_samples(SampleSink& s) {
  for (const int64_t n : {1, 7, 64, 2500}) s.add({randn({3, n}), randn({n}, 1)});
  s.add({strided(randn({8, 5})), randn({5})});
  s.add_as_is(
      {Tensor::full({2, 8}, 6e4, DType::float16), Tensor::full({8}, 1, DType::float16)});  // x^2 overflows float16
  s.error(Code::shape, {"[512]", "[768]"}, {randn({4, 768}), randn({512})});
}
void onnx_rms_samples(SampleSink& s) {
  s.add({randn({2, 3, 4}), randn({4})});
  s.add({randn({2, 3, 4}), randn({3, 4}), val(1), val(1e-3)});
}

void import_layer_norm(Importing& in) {
  const auto out = in.emit_all("custom::layer_norm", {in.input(0), in.input(1), in.input(2), in.integer("axis", -1),
                                                      in.number("epsilon", 1e-5)});
  for (int i = 0; i < 3; ++i)
    if (i == 0 || in.wants_output(i)) in.output(i, out[static_cast<size_t>(i)]);
}
void import_rms_norm(Importing& in) {
  in.output(0, in.emit("custom::rms_norm_axis",
                       {in.input(0), in.input(1), in.integer("axis", -1), in.number("epsilon", 1e-5)}));
}

OpDecl declared(const char* schema, SamplesFn samples, const char* source, std::vector<OnnxImport> imports = {}) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  Kernel k = cpu("layer_norm_cpu", bind_layer_norm);
  k.workspace = layer_norm_bytes;
  d.kernels = {k};
  d.oracle = layer_norm_oracle;
  d.samples = samples;
  d.tolerance = norm_wise(1e-6, 8e-4, 6e-3);
  // The rows of a constant: what is left of x - mean is rounding.
  d.tolerance.f32.floor = d.tolerance.f16.floor = d.tolerance.bf16.floor = 1e-6;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.flags = kInPlace;
  d.imports = std::move(imports);
  d.source = source;
  return d;
}

}  // namespace

std::vector<Tensor> layer_norm_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const LayerNormSpec s = layer_norm_spec(a);
  const Tensor& in = operands[static_cast<size_t>(s.input)];
  const auto x = in.to_doubles();
  const Shape tail(in.shape().begin() + s.axis, in.shape().end());
  const auto weights = [&](int operand, double fallback) {
    if (operand < 0) return std::vector<double>(static_cast<size_t>(s.n), fallback);
    Tensor w = operands[static_cast<size_t>(operand)];
    while (w.rank() > static_cast<int64_t>(tail.size())) w = w.select(0, 0);
    return w.expand(tail).to_doubles();
  };
  const auto w = weights(s.weight, 1), b = weights(s.bias, 0);
  std::vector<double> y(x.size()), means, rstds;
  for (int64_t r = 0; r < s.rows; ++r) {
    const double* row = x.data() + r * s.n;
    double mean = 0, squares = 0;
    if (!s.rms)
      for (int64_t i = 0; i < s.n; ++i) mean += row[i] / static_cast<double>(s.n);
    for (int64_t i = 0; i < s.n; ++i) squares += (row[i] - mean) * (row[i] - mean);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(s.n) + s.eps);
    for (int64_t i = 0; i < s.n; ++i)
      y[static_cast<size_t>(r * s.n + i)] =
          (row[i] - mean) * rstd * w[static_cast<size_t>(i)] + b[static_cast<size_t>(i)];
    means.push_back(mean);
    rstds.push_back(rstd);
  }
  std::vector<Tensor> out = {Tensor::of<double>(in.shape(), std::span<const double>(y))};
  if (s.saves) {
    Shape lead = in.shape();
    for (int64_t d = s.axis; d < in.rank(); ++d) lead[static_cast<size_t>(d)] = 1;
    out.push_back(Tensor::of<double>(lead, std::span<const double>(means)));
    out.push_back(Tensor::of<double>(lead, std::span<const double>(rstds)));
  }
  return out;
}

namespace decls {

Decls layer_norm() {
  return {
      declared(
          "aten::native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
          "(Tensor, Tensor, Tensor)",
          native_samples, "ATen"),
      declared("aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
               "eps=1e-05, "
               "bool cudnn_enable=True) -> Tensor",
               layer_samples, "ATen"),
      declared(
          "custom::layer_norm(Tensor input, Tensor? weight=None, Tensor? bias=None, int axis=-1, float eps=1e-05) -> "
          "(Tensor, Tensor, Tensor)",
          onnx_samples, "ONNX LayerNormalization: an axis, weights that broadcast",
          {{"LayerNormalization", import_layer_norm}}),
      declared("aten::rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
               rms_samples, "ATen"),
      declared("custom::rms_norm(Tensor x, Tensor weight, float epsilon=1e-6) -> Tensor", custom_rms_samples,
               "Zhang, Sennrich 2019; a float16 result stays finite"),
      declared("custom::rms_norm_axis(Tensor input, Tensor? weight=None, int axis=-1, float eps=1e-05) -> Tensor",
               onnx_rms_samples, "ONNX RMSNormalization: an axis, weights that broadcast",
               {{"RMSNormalization", import_rms_norm}}),
  };
}

}  // namespace decls
}  // namespace nbx
