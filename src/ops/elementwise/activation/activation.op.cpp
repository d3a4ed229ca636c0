// SPDX-License-Identifier: Apache-2.0
// Activations: one tensor in, one out, with numbers as parameters; prelu and glu.
#include <algorithm>
#include <cmath>

#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"
#include "shape/broadcast.h"
#include "shape/strides.h"

namespace nbx::decls {

using namespace pointwise;

namespace {

using X = const double*;
using N = const int64_t*;

void float_samples(SampleSink& s) { unary_samples(s, kFloat, -8, 8); }
void number_samples(SampleSink& s) { unary_samples(s, kInt | kFloat, -8, 8); }

Formula row_of(const char* schema, const char* rule, double (*f64)(X, X), SamplesFn samples, Tolerances tolerance,
               std::vector<OnnxImport> imports) {
  Formula row{schema, rule};
  row.f64 = f64;
  row.samples = samples;
  row.tolerance = tolerance;
  row.imports = std::move(imports);
  return row;
}
Formula math(const char* schema, const char* rule, Math f, double (*f64)(X, X), Tolerances tolerance = ulps(4),
             std::vector<OnnxImport> imports = {}, std::vector<const char*> scalars = {},
             SamplesFn samples = float_samples) {
  Formula row = row_of(schema, rule, f64, samples, tolerance, std::move(imports));
  row.math = f;
  row.scalars = std::move(scalars);
  return row;
}
Formula real(const char* schema, const char* rule, Real f, double (*f64)(X, X), Tolerances tolerance = ulps(4),
             std::vector<OnnxImport> imports = {}, std::vector<const char*> scalars = {},
             SamplesFn samples = float_samples) {
  Formula row = row_of(schema, rule, f64, samples, tolerance, std::move(imports));
  row.real = f;
  row.scalars = std::move(scalars);
  return row;
}

// Where float64 cancels near zero, too.
Tolerances near_zero(Tolerances t) {
  t.f64.floor = 2e-15;
  return t;
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double bounded(double x, double low, double high) { return std::isnan(x) ? x : std::min(std::max(x, low), high); }
// In long double the plain formulas do not cancel where a float or a double could see it.
double gelu(double x) {
  return static_cast<double>(0.5L * x * std::erfc(static_cast<long double>(-x) / std::sqrt(2.0L)));
}
double gelu_tanh(double x) {
  const long double v = x, u = std::sqrt(2.0L / std::acos(-1.0L)) * (v + 0.044715L * v * v * v);
  const long double tail = u < 0 ? 2 * std::exp(2 * u) / (1 + std::exp(2 * u)) : 1 + std::tanh(u);
  return static_cast<double>(0.5L * v * tail);
}
double mish(double x) {
  if (x > 100) return x;
  const long double n = std::exp(static_cast<long double>(x)) * (std::exp(static_cast<long double>(x)) + 2);
  return static_cast<double>(x * (n / (n + 2)));
}

void check_gelu(const Args& args) {
  const std::string kind = args.text("approximate");
  require(kind == "none" || kind == "tanh", Code::value, "gelu: approximate is '{}'; it can be 'none' or 'tanh'", kind);
}
Val lower_gelu(const Lowering& l) {
  const Math f = l.args.text("approximate") == "tanh" ? Math::gelu_tanh : Math::gelu;
  return l.b.step(fn(f, l.lane()), l.types.result, {l.operand("self")});
}
std::vector<Tensor> oracle_gelu(const Args& args, const std::vector<Tensor>& in) {
  std::vector<double> out = in[0].to_doubles();
  for (double& v : out) v = args.text("approximate") == "tanh" ? gelu_tanh(v) : gelu(v);
  return {Tensor::of<double>(in[0].shape(), std::span<const double>(out))};
}

// elu and its kin are one function of three numbers.
Val elu_step(const Lowering& l, double alpha, double scale, double input_scale) {
  Params p;
  p.f[0] = alpha;
  p.f[1] = scale;
  p.f[2] = input_scale;
  return l.b.step(fn(Math::elu, l.lane()), l.types.result, {l.operand("self")}, p);
}
Val lower_celu(const Lowering& l) {
  const double alpha = l.args.scalar("alpha").as_double();
  return elu_step(l, alpha, 1, 1 / alpha);
}
void check_celu(const Args& args) {
  require(args.scalar("alpha").as_double() != 0, Code::value, "celu: alpha is 0; it divides by alpha");
}
Val lower_selu(const Lowering& l) { return elu_step(l, 1.6732632423543772848, 1.0507009873554804934, 1); }

// Integers are clamped as integers.
Val clamp_step(const Lowering& l, double low, double high) {
  Params p;
  p.f[0] = low;
  p.f[1] = high;
  p.i[0] = Scalar{low}.as_int();
  p.i[1] = Scalar{high}.as_int();
  const bool floating = is_floating(l.types.compute);
  return l.b.step(floating ? fn(Real::clamp, l.lane()) : fn(Int::clamp, l.lane()), l.types.result, {l.operand("self")},
                  p);
}
Val lower_relu6(const Lowering& l) { return clamp_step(l, 0, 6); }
Val lower_hardtanh(const Lowering& l) {
  return clamp_step(l, l.args.scalar("min_val").as_double(), l.args.scalar("max_val").as_double());
}

// prelu: a weight of one element, or one an element of dim 1.
int64_t channels(const Meta& x) { return x.rank() < 2 ? 1 : x.dim(1); }
Metas infer_prelu(const Args& args) {
  const Meta &x = args.tensor("self"), &w = args.tensor("weight");
  op_dtypes("prelu", x.dtype);
  require(w.dtype == x.dtype, Code::dtype, "prelu: self is {}, weight {}; both must have one dtype", name(x.dtype),
          name(w.dtype));
  require(w.rank() <= 1, Code::shape, "prelu: weight is {}; it must be 0-d or 1-d", to_string(w));
  require(w.numel() == 1 || (x.rank() >= 2 && w.numel() == channels(x)), Code::shape,
          "prelu: weight has {} elements, self {} has {} channels (dim 1); pass a weight of 1 or {} elements",
          w.numel(), to_string(x), channels(x), channels(x));
  return {x.like()};
}
Bound bind_prelu(const Args& args, const Metas& outputs) {
  const Meta &x = args.tensor("self"), &w = args.tensor("weight");
  Input weight = input_of(args.operand("weight"), w);
  if (w.numel() == 1) {
    weight.shape = {};
    weight.strides = {};
  } else {
    weight.shape = Shape(static_cast<size_t>(x.rank() - 1), 1);
    weight.strides = Strides(static_cast<size_t>(x.rank() - 1), 0);
    weight.shape[0] = w.numel();
    weight.strides[0] = w.strides[0];
  }
  Builder b;
  const Val v = b.add_input(input_of(args.operand("self"), x)), slope = b.add_input(weight);
  b.output(b.step(fn(Real::prelu, lane_of(x.dtype)), x.dtype, {v, slope}));
  return compile(b, outputs.front().shape);
}
std::vector<Tensor> oracle_prelu(const Args& args, const std::vector<Tensor>& in) {
  const Meta& x = args.tensor("self");
  Tensor slope = in[1].view({in[1].numel()});
  if (in[1].numel() > 1) {
    Shape shape(static_cast<size_t>(x.rank() - 1), 1);
    shape[0] = in[1].numel();
    slope = slope.view(shape);
  } else {
    slope = slope.view({});
  }
  std::vector<double> out = in[0].to_doubles();
  const std::vector<double> w = doubles_as(slope, x.shape);
  for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] > 0 ? out[i] : out[i] * w[i];
  return {Tensor::of<double>(x.shape, std::span<const double>(out))};
}

// glu: the first half along dim times the sigmoid of the second.
Metas infer_glu(const Args& args) {
  const Meta& x = args.tensor("self");
  op_dtypes("glu", x.dtype);
  require(x.rank() > 0, Code::shape, "glu: self is 0-d; it needs a dim to halve");
  const int64_t dim = wrap_dim(args.integer("dim"), x.rank(), "glu");
  require(x.dim(dim) % 2 == 0, Code::shape, "glu: dim {} of {} has {} elements; it must be even", dim, to_string(x),
          x.dim(dim));
  Shape shape = x.shape;
  shape[static_cast<size_t>(dim)] /= 2;
  return {x.with(shape)};
}
Bound bind_glu(const Args& args, const Metas& outputs) {
  const Meta& x = args.tensor("self");
  const size_t dim = static_cast<size_t>(wrap_dim(args.integer("dim"), x.rank(), "glu"));
  Input first = input_of(args.operand("self"), x);
  first.shape = outputs.front().shape;
  Input second = first;
  second.offset = x.strides[dim] * first.shape[dim];
  Builder b;
  const Val v = b.add_input(first), gate = b.add_input(second);
  // One op, one rounding: the gate stays in float32.
  const Lane lane = lane_of(x.dtype);
  const DType wide = dtype_of_lane(lane);
  const Val sigma = b.step(fn(Math::sigmoid, lane), wide, {gate});
  b.output(b.step(fn(Real::mul, lane), x.dtype, {v, sigma}));
  return compile(b, outputs.front().shape);
}
std::vector<Tensor> oracle_glu(const Args& args, const std::vector<Tensor>& in) {
  const int64_t dim = args.integer("dim"), half = in[0].dim(dim) / 2;
  const Tensor first = in[0].narrow(dim, 0, half);
  std::vector<double> out = first.to_doubles();
  const std::vector<double> gate = in[0].narrow(dim, half, half).to_doubles();
  for (size_t i = 0; i < out.size(); ++i) out[i] *= sigmoid(gate[i]);
  return {Tensor::of<double>(first.shape(), std::span<const double>(out))};
}

OpDecl whole_op(const char* schema, InferFn infer, Bound (*bind)(const Args&, const Metas&), OracleFn oracle,
                SamplesFn samples, Tolerances tolerance) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = pointwise_cost;
  d.keys = shape_keys;
  d.kernels = {cpu("pointwise_cpu", bind, true)};
  d.oracle = oracle;
  d.samples = samples;
  d.tolerance = tolerance;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.source = "ATen";
  return d;
}
void prelu_samples(SampleSink& s) {
  s.add({randn({2, 3, 5}), randn({3}, 4)});
  s.add({strided(randn({2, 3, 5})), spaced(randn({3}, 4))});
  s.add({randn({7}), randn({1}, 4)});
  s.add({randn({4, 3}), randn({}, 4)});
  s.add({randn({}), randn({1}, 4)});
  s.error(Code::shape, {"4", "3"}, {randn({2, 3}), randn({4})});
  s.error(Code::dtype, {"float16"}, {randn({2, 3}), randn({3}).to(DType::float16)});
}
void glu_samples(SampleSink& s) {
  s.add({randn({4, 6})});
  s.add({randn({4, 6, 3}), val(0)});
  s.add({strided(randn({4, 6})), val(-1)});
  s.add({randn({0, 4})});
  s.error(Code::shape, {"3"}, {randn({2, 3})});
  s.error(Code::index, {"2"}, {randn({2, 4}), val(2)});
}

void import_alpha(Importing& node) {
  const std::string& type = node.op_type();
  const TensorRef x = node.input(0);
  if (type == "LeakyRelu")
    node.output(0, node.emit("aten::leaky_relu", {x, node.number("alpha", 0.01)}));
  else if (type == "ThresholdedRelu")
    node.output(0, node.emit("aten::threshold", {x, node.number("alpha", 1.0), 0.0}));
  else if (type == "Elu")
    node.output(0, node.emit("aten::elu", {x, node.number("alpha", 1.0)}));
  else if (type == "Celu")
    node.output(0, node.emit("aten::celu", {x, node.number("alpha", 1.0)}));
  else if (type == "Selu")
    node.output(0, node.emit("aten::elu", {x, node.number("alpha", 1.67326319217681884765625),
                                           node.number("gamma", 1.05070102214813232421875)}));
  else if (type == "Gelu")
    node.output(0, node.emit("aten::gelu", {x}, {{"approximate", node.text("approximate", "none")}}));
  else if (type == "HardSigmoid")
    node.output(0, node.emit("custom::hard_sigmoid", {x, node.number("alpha", 0.2), node.number("beta", 0.5)}));
  else if (type == "Shrink")
    node.output(0, node.emit("custom::shrink", {x, node.number("lambd", 0.5), node.number("bias", 0.0)}));
  else if (type == "Swish")
    node.output(0, node.emit("custom::swish", {x, node.number("alpha", 1.0)}));
}
void import_plain(Importing& node) {
  const std::string& type = node.op_type();
  const char* op = type == "Softplus" ? "aten::softplus" : type == "HardSwish" ? "aten::hardswish" : "custom::softsign";
  node.output(0, node.emit(op, {node.input(0)}));
}

Val lower_swish(const Lowering& l) {
  const double alpha = l.args.scalar("alpha").as_double();
  const Val x = l.operand("self");
  if (alpha == 1) return l.b.step(fn(Math::silu, l.lane()), l.types.result, {x});
  const DType wide = dtype_of_lane(l.lane());
  Params p;
  p.f[0] = alpha;
  const Val sigma = l.b.step(fn(Math::sigmoid, l.lane()), wide, {l.b.step(fn(Real::scale, l.lane()), wide, {x}, p)});
  return l.b.step(fn(Real::mul, l.lane()), l.types.result, {x, sigma});
}

}  // namespace

Decls activation() {
  std::vector<Formula> rows = {
      math(
          "aten::sigmoid(Tensor self) -> Tensor", "sigmoid", Math::sigmoid, [](X x, X) { return sigmoid(x[0]); },
          ulps(4), {{"Sigmoid", import_unary}}, {}, [](SampleSink& s) { unary_samples(s, kReal, -30, 30); }),
      math(
          "aten::silu(Tensor self) -> Tensor", "silu", Math::silu, [](X x, X) { return x[0] * sigmoid(x[0]); },
          ulps(4, 1, 7e-38, 6e-38)),
      math("aten::mish(Tensor self) -> Tensor", "mish", Math::mish, [](X x, X) { return mish(x[0]); },
           ulps(4, 1, 1e-37, 1e-37), {{"Mish", import_unary}}),
      math(
          "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", "softplus", Math::softplus,
          [](X x, X p) { return x[0] * p[0] > p[1] ? x[0] : std::log1p(std::exp(x[0] * p[0])) / p[0]; },
          ulps(4, 1, 2e-9, 2e-9), {{"Softplus", import_plain}}, {"beta", "threshold"},
          [](SampleSink& s) {
            float_samples(s);
            s.add({randn({40}), val(2.0), val(1.0)});
          }),
      math(
          "aten::log_sigmoid(Tensor self) -> Tensor", "log_sigmoid", Math::log_sigmoid,
          [](X x, X) { return x[0] < 0 ? x[0] - std::log1p(std::exp(x[0])) : -std::log1p(std::exp(-x[0])); },
          ulps(4, 1, 1e-44)),
      math(
          "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", "elu", Math::elu,
          [](X x, X p) { return x[0] > 0 ? p[1] * x[0] : p[1] * p[0] * std::expm1(p[2] * x[0]); }, ulps(4),
          {{"Elu", import_alpha}, {"Selu", import_alpha}}, {"alpha", "scale", "input_scale"},
          [](SampleSink& s) {
            float_samples(s);
            s.add({randn({40}), val(2.0), val(1.5), val(0.5)});
          }),
      real(
          "aten::hardsigmoid(Tensor self) -> Tensor", "hardsigmoid", Real::hardsigmoid,
          [](X x, X) { return bounded(x[0] + 3, 0, 6) / 6; }, ulps(4, 1, 1e-7, 1e-7)),
      real("aten::hardswish(Tensor self) -> Tensor", "hardswish", Real::hardswish,
           [](X x, X) { return x[0] * (bounded(x[0] + 3, 0, 6) / 6); }, ulps(4, 1, 3e-7, 3e-7),
           {{"HardSwish", import_plain}}),
      real(
          "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", "leaky_relu", Real::leaky_relu,
          [](X x, X p) { return x[0] > 0 ? x[0] : x[0] * p[0]; }, ulps(1), {{"LeakyRelu", import_alpha}},
          {"negative_slope"},
          [](SampleSink& s) {
            float_samples(s);
            s.add({randn({40}), val(0.25)});
          }),
      real("custom::softsign(Tensor self) -> Tensor", "hardsigmoid", Real::softsign,
           [](X x, X) { return x[0] / (1 + std::fabs(x[0])); }, ulps(2), {{"Softsign", import_plain}}),
      real(
          "custom::shrink(Tensor self, float lambd=0.5, float bias=0.0) -> Tensor", "relu", Real::shrink,
          [](X x, X p) { return x[0] < -p[0]  ? x[0] + p[1]
                                : x[0] > p[0] ? x[0] - p[1]
                                              : 0; }, ulps(1),
          {{"Shrink", import_alpha}}, {"lambd", "bias"},
          [](SampleSink& s) {
            s.add({randn({5, 50})});
            s.add({randn({5, 50}), val(1.0), val(0.5)});
          }),
      real(
          "custom::hard_sigmoid(Tensor self, float alpha=0.2, float beta=0.5) -> Tensor", "hardsigmoid",
          Real::hard_sigmoid, [](X x, X p) { return bounded(p[0] * x[0] + p[1], 0, 1); },
          near_zero(ulps(4, 1, 1e-7, 1e-7)), {{"HardSigmoid", import_alpha}}, {"alpha", "beta"},
          [](SampleSink& s) {
            float_samples(s);
            s.add({randn({40}), val(0.5), val(0.25)});
          }),
  };

  Formula row = row_of("aten::gelu(Tensor self, *, str approximate='none') -> Tensor", "gelu", nullptr,
                       [](SampleSink& s) {
                         float_samples(s);
                         s.add({rand_uniform({200}, -8, 8)}, {{"approximate", val("tanh")}});
                         s.error(Code::value, {"fast"}, {randn({2})}, {{"approximate", val("fast")}});
                       },
                       near_zero(ulps(4, 1, 5e-7, 2e-7)), {{"Gelu", import_alpha}});
  row.lower = lower_gelu;
  row.oracle = oracle_gelu;
  row.check = check_gelu;
  rows.push_back(row);

  row = row_of(
      "aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor", "celu",
      [](X x, X p) { return x[0] > 0 ? x[0] : p[0] * std::expm1(x[0] / p[0]); },
      [](SampleSink& s) {
        float_samples(s);
        s.add({randn({40}), val(0.5)});
        s.error(Code::value, {"alpha"}, {randn({2}), val(0.0)});
      },
      ulps(4), {{"Celu", import_alpha}});
  row.lower = lower_celu;
  row.check = check_celu;
  row.scalars = {"alpha"};
  rows.push_back(row);

  row = row_of("aten::selu(Tensor self) -> Tensor", "selu",
               [](X x, X) {
                 return 1.0507009873554804934193349852946 *
                        (x[0] > 0 ? x[0] : 1.6732632423543772848170429916717 * std::expm1(x[0]));
               },
               float_samples, ulps(4), {});
  row.lower = lower_selu;
  rows.push_back(row);

  row = row_of("aten::relu(Tensor self) -> Tensor", "relu", [](X x, X) { return x[0] < 0 ? 0 : x[0]; }, number_samples,
               exact(), {{"Relu", import_unary}});
  row.real = Real::relu;
  row.whole = Int::relu;
  row.i64 = [](N x, N) -> int64_t { return x[0] < 0 ? 0 : x[0]; };
  rows.push_back(row);

  row = row_of("aten::relu6(Tensor self) -> Tensor", "relu6", [](X x, X) { return bounded(x[0], 0, 6); },
               number_samples, exact(), {});
  row.lower = lower_relu6;
  row.i64 = [](N x, N) -> int64_t { return std::clamp<int64_t>(x[0], 0, 6); };
  rows.push_back(row);

  row = row_of(
      "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", "hardtanh",
      [](X x, X p) { return bounded(x[0], p[0], p[1]); },
      [](SampleSink& s) {
        number_samples(s);
        s.add({randn({40}), val(-0.5), val(0.5)});
      },
      exact(), {});
  row.lower = lower_hardtanh;
  row.i64 = [](N x, N p) -> int64_t { return std::min(std::max(x[0], p[0]), p[1]); };
  row.scalars = {"min_val", "max_val"};
  rows.push_back(row);

  row = row_of(
      "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", "threshold",
      [](X x, X p) { return x[0] <= p[0] ? p[1] : x[0]; },
      [](SampleSink& s) {
        unary_samples(s, kInt | kFloat, -4, 4, {val(1), val(20)});
        s.add({randn({40}), val(0.5), val(-2.0)});
      },
      exact(), {{"ThresholdedRelu", import_alpha}});
  row.real = Real::threshold;
  row.whole = Int::threshold;
  row.i64 = [](N x, N p) { return x[0] <= p[0] ? p[1] : x[0]; };
  row.scalars = {"threshold", "value"};
  rows.push_back(row);

  row = row_of(
      "custom::swish(Tensor self, Scalar alpha=1.0) -> Tensor", "gelu",
      [](X x, X p) { return x[0] * sigmoid(p[0] * x[0]); },
      [](SampleSink& s) {
        float_samples(s);
        s.add({randn({40}), val(0.5)});
      },
      ulps(4, 1, 7e-38, 6e-38), {{"Swish", import_alpha}});
  row.lower = lower_swish;
  row.scalars = {"alpha"};
  row.source = "ONNX Swish";
  rows.push_back(row);

  Decls out = declare(std::move(rows));
  out.push_back(whole_op("aten::prelu(Tensor self, Tensor weight) -> Tensor", infer_prelu, bind_prelu, oracle_prelu,
                         prelu_samples, ulps(1)));
  out.back().flags = kInPlace;
  out.push_back(whole_op("aten::glu(Tensor self, int dim=-1) -> Tensor", infer_glu, bind_glu, oracle_glu, glu_samples,
                         ulps(4, 1, 7e-38, 6e-38)));
  return out;
}

}  // namespace nbx::decls
