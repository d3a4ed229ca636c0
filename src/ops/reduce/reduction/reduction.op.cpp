// SPDX-License-Identifier: Apache-2.0
// Reductions to numbers: ATen's sum, mean, prod, amax, all, var, ... and ONNX's Reduce*.
#include "ops/reduce/dims.h"
#include "ops/reduce/reduction/spec.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const ReductionSpec s = reduction_spec(a);
  const Shape shape = reduced_shape(a.tensor("self").shape, s.over, s.keepdim);
  Metas out = {Meta(s.out, shape)};
  if (s.wants_mean) out.push_back(Meta(s.out, shape));
  return out;
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  const ReductionSpec s = reduction_spec(a);
  c.flops = a.tensor("self").numel() * (s.passes.two ? 3 : 1);
  c.workspace = reduction_bytes(a);
  return c;
}

OpDecl declared(const char* schema, SamplesFn samples, const char* source, Tolerances tolerance) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  Kernel k = cpu("reduce_cpu", bind_reduction, true);
  k.workspace = reduction_bytes;
  d.kernels = {k};
  d.oracle = reduction_oracle;
  d.samples = samples;
  d.tolerance = tolerance;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.source = source;
  return d;
}

// Axes: an attribute before 18 (Sum: 13), then an input, which may only be known at the run.
void import_reduce(Importing& in, const char* kind, int axes_input_since) {
  Value axes = None{};
  bool noop = false;
  if (in.opset() >= axes_input_since) {
    if (in.has_input(1)) axes = FromTensor{in.input(1)};
    noop = in.integer("noop_with_empty_axes", 0) != 0;
  } else if (in.has("axes")) {
    axes = in.ints("axes");
  }
  in.output(0, in.emit("custom::reduce", {in.input(0), std::string(kind), axes, in.integer("keepdims", 1) != 0, noop}));
}

void import_global_pool(Importing& in) {
  const std::string kind = in.op_type() == "GlobalAveragePool" ? "mean"
                           : in.op_type() == "GlobalMaxPool"   ? "max"
                                                               : "lp";
  in.output(0, in.emit("custom::global_pool",
                       {in.input(0), kind, kind == "lp" ? static_cast<double>(in.integer("p", 2)) : 2.0}));
}

template <const char* const& kind, int since>
void import_kind(Importing& in) {
  import_reduce(in, kind, since);
}
constexpr const char *const kSum = "sum", *kMean = "mean", *kMax = "max", *kMin = "min", *kProd = "prod", *kL1 = "l1",
                            *kL2 = "l2", *kSumSquare = "sum_square", *kLogSum = "log_sum", *kLogSumExp = "log_sum_exp";

}  // namespace

namespace decls {

Decls reduction() {
  // Float32 blocks joined in double: the error of a sum stays near that of one block. Of a whole tensor's sum there is
  // only the one result to measure it by, and that may have cancelled (scalar target, 60 normal numbers: 6.6e-7 of the
  // mean).
  const Tolerances sums = norm_wise(2e-6, 6e-4, 5e-3), same = exact();
  const auto op = [](const char* schema, SamplesFn samples, Tolerances t) {
    return declared(schema, samples, "ATen", t);
  };
  Decls d = {
      op("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", sum_samples, sums),
      op("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
         sum_dim_samples, sums),
      op("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", float_whole_samples, sums),
      op("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
         mean_dim_samples, sums),
      op("aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
         nansum_samples, sums),
      op("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", whole_samples, sums),
      op("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
         dim_samples, sums),
      op("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", extreme_dims_samples, same),
      op("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", extreme_dims_samples, same),
      op("aten::max(Tensor self) -> Tensor", whole_samples, same),
      op("aten::min(Tensor self) -> Tensor", whole_samples, same),
      op("aten::all(Tensor self) -> Tensor", whole_samples, same),
      op("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", dim_samples, same),
      op("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", dims_samples, same),
      op("aten::any(Tensor self) -> Tensor", whole_samples, same),
      op("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", dim_samples, same),
      op("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", dims_samples, same),
      op("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", whole_samples, same),
      op(
          "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
          [](SampleSink& s) {
            s.add({randn({4, 5, 6}), ints({0, 2})});
            s.add({rand_ints({4, 50}, 0, 2), ints({1})});
            s.add({special_floats(), ints({0})});
          },
          same),
      op("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", logsumexp_samples, sums),
      op("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
         "dtype=None) -> Tensor",
         norm_samples, sums),
  };
  // A mean near zero is as exact as the terms it cancels from.
  Tolerances spread = norm_wise(2e-6, 8e-4, 5e-3);
  spread.f32.floor = spread.f16.floor = spread.bf16.floor = 1e-7;
  const char* two[] = {"(Tensor self, bool unbiased=True)",
                       "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)",
                       "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"};
  const char* overloads[] = {"", ".dim", ".correction"};
  const SamplesFn samples[] = {spread_whole_samples, spread_dim_samples, spread_correction_samples};
  for (const char* name : {"var", "std", "var_mean", "std_mean"}) {
    const bool pair = std::string(name).find('_') != std::string::npos;
    for (int i = 0; i < 3; ++i)
      d.push_back(
          op((std::string("aten::") + name + overloads[i] + two[i] + (pair ? " -> (Tensor, Tensor)" : " -> Tensor"))
                 .c_str(),
             samples[i], spread));
  }
  OpDecl onnx = declared(
      "custom::reduce(Tensor self, str kind, int[]? axes=None, bool keepdims=True, bool noop_with_empty_axes=False) -> "
      "Tensor",
      onnx_reduce_samples,
      "ONNX Reduce*: as ATen's, but the dtype stays and no axes means all of them or, on request, none", sums);
  onnx.imports = {
      {"ReduceSum", import_kind<kSum, 13>},       {"ReduceMean", import_kind<kMean, 18>},
      {"ReduceMax", import_kind<kMax, 18>},       {"ReduceMin", import_kind<kMin, 18>},
      {"ReduceProd", import_kind<kProd, 18>},     {"ReduceL1", import_kind<kL1, 18>},
      {"ReduceL2", import_kind<kL2, 18>},         {"ReduceSumSquare", import_kind<kSumSquare, 18>},
      {"ReduceLogSum", import_kind<kLogSum, 18>}, {"ReduceLogSumExp", import_kind<kLogSumExp, 18>},
  };
  d.push_back(std::move(onnx));
  OpDecl global =
      declared("custom::global_pool(Tensor self, str kind, float p=2.0) -> Tensor", global_pool_samples,
               "ONNX GlobalAveragePool, GlobalMaxPool, GlobalLpPool: over every dim after the channels", sums);
  global.imports = {{"GlobalAveragePool", import_global_pool},
                    {"GlobalMaxPool", import_global_pool},
                    {"GlobalLpPool", import_global_pool, 2}};
  d.push_back(std::move(global));
  return d;
}

}  // namespace decls

}  // namespace nbx
