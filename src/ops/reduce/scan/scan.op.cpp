// SPDX-License-Identifier: Apache-2.0
// Running totals along one dim: cumsum, cumprod, cummax, cummin, logcumsumexp, and ONNX CumSum and CumProd.
#include "ops/reduce/scan/scan.h"

#include "shape/strides.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const ScanSpec s = scan_spec(a);
  const Meta& x = a.tensor("self");
  require(!is_complex(x.dtype), Code::dtype, "{}: {} is not supported", a.op(), to_string(x));
  if (s.indices) return {Meta(x.dtype, x.shape), Meta(DType::int64, x.shape)};
  return {Meta(s.out, x.shape)};
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const ScanSpec s = scan_spec(a);
  const Tensor& x = operands[0];
  const bool whole = is_integral(s.out, true) && is_integral(x.dtype(), true);
  const auto values = x.to_doubles();
  const auto wholes = whole ? x.to_ints() : std::vector<int64_t>();
  std::vector<double> out(values.size());
  std::vector<int64_t> exact(values.size()), index(values.size());
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      double total = s.kind == Scan::prod ? 1 : s.kind == Scan::sum ? 0 : s.kind == Scan::min ? INFINITY : -INFINITY;
      uint64_t exact_total = s.kind == Scan::prod ? 1 : 0;
      int64_t at = 0;
      for (int64_t step = 0; step < s.n; ++step) {
        const int64_t j = s.reverse ? s.n - 1 - step : step;
        const auto place = static_cast<size_t>((o * s.n + j) * s.inner + i);
        if (s.exclusive) {
          out[place] = total;
          exact[place] = static_cast<int64_t>(exact_total);
        }
        const double v = values[place];
        const uint64_t w = whole ? static_cast<uint64_t>(wholes[place]) : 0;
        switch (s.kind) {
          case Scan::sum:
            total += v;
            exact_total += w;
            break;
          case Scan::prod:
            total *= v;
            exact_total *= w;
            break;
          case Scan::log_sum_exp: {
            const double top = std::max(total, v);
            if (std::isnan(v) || std::isnan(total))
              total = NAN;
            else if (!std::isinf(top))
              total = top + std::log(std::exp(total - top) + std::exp(v - top));
            else
              total = top;
            break;
          }
          case Scan::max:
          case Scan::min: {
            const bool better =
                std::isnan(v) || (!std::isnan(total) && (s.kind == Scan::max ? v >= total : v <= total));
            if (step == 0 || better) {
              total = v;
              exact_total = w;
              at = j;
            }
            break;
          }
        }
        if (!s.exclusive) {
          out[place] = total;
          exact[place] = static_cast<int64_t>(exact_total);
        }
        index[place] = at;
      }
    }
  }
  Tensor result = whole ? Tensor::of<int64_t>(x.shape(), std::span<const int64_t>(exact)).to(s.out)
                        : Tensor::of<double>(x.shape(), std::span<const double>(out));
  if (!whole && !is_floating(s.out)) result = result.to(s.out);
  if (s.indices) return {result, Tensor::of<int64_t>(x.shape(), std::span<const int64_t>(index))};
  return {result};
}

void samples(SampleSink& s) {
  for (const int64_t n : {1, 6, 300}) s.add({rand_uniform({3, n}, 0.95, 1.05), val(1)});
  s.add({rand_uniform({20, 6, 5}, 0.9, 1.1), val(0)});
  s.add({rand_uniform({20, 6, 5}, 0.9, 1.1), val(-2)});
  s.add({strided(randn({4, 9})), val(1)});
  s.add({special_floats(), val(0)});
  s.add({rand_ints({4, 9}, -3, 4), val(1)});
  s.add({rand_ints({4, 9}, -3, 4, DType::int32), val(0)});
  s.add({randn({}), val(0)});
  s.add({randn({3, 0}), val(1)});
  s.error(Code::index, {"2"}, {randn({3, 4}), val(2)});
}
void float_samples(SampleSink& s) {
  for (const int64_t n : {1, 6, 300}) s.add({randn({3, n}), val(1)});
  s.add({special_floats(), val(0)});
  s.add({randn({7, 3}), val(0)});
  s.error(Code::dtype, {"int64"}, {rand_ints({3}, 0, 4), val(0)});
}
void onnx_samples(SampleSink& s) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) {
      s.add({rand_uniform({4, 30}, 0.9, 1.1), val(1), val(exclusive), val(reverse)});
      s.add({rand_ints({4, 6, 5}, 1, 4, DType::int32), val(1), val(exclusive), val(reverse)});
    }
}

void import_scan(Importing& in) {
  in.output(0, in.emit(in.op_type() == "CumSum" ? "custom::cumsum" : "custom::cumprod",
                       {in.input(0), FromTensor{in.input(1)}, in.integer("exclusive", 0) != 0,
                        in.integer("reverse", 0) != 0}));
}

OpDecl declared(const char* schema, SamplesFn make_samples, std::vector<OnnxImport> imports = {}) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = pointwise_cost;
  d.keys = shape_keys;
  d.kernels = {cpu("scan_cpu", bind_scan)};
  d.oracle = oracle;
  d.samples = make_samples;
  d.tolerance = norm_wise(4e-7, 6e-4, 5e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.imports = std::move(imports);
  d.source = d.imports.empty() ? "ATen" : "ONNX CumSum, CumProd";
  return d;
}

}  // namespace

namespace decls {

Decls scan() {
  return {
      declared("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", samples),
      declared("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", samples),
      declared("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", samples),
      declared("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", samples),
      declared("aten::logcumsumexp(Tensor self, int dim) -> Tensor", float_samples),
      declared("custom::cumsum(Tensor self, int dim, bool exclusive=False, bool reverse=False) -> Tensor", onnx_samples,
               {{"CumSum", import_scan}}),
      declared("custom::cumprod(Tensor self, int dim, bool exclusive=False, bool reverse=False) -> Tensor",
               onnx_samples, {{"CumProd", import_scan}}),
  };
}

}  // namespace decls
}  // namespace nbx
