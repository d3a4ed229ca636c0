// SPDX-License-Identifier: Apache-2.0
// One tensor in, one out: math, rounding and tests.
#include <cmath>
#include <limits>

#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"

namespace nbx::decls {

using namespace pointwise;

namespace {

using X = const double*;
using N = const int64_t*;

void any_samples(SampleSink& s) { unary_samples(s, kReal); }
void number_samples(SampleSink& s) { unary_samples(s, kInt | kFloat); }
void float_samples(SampleSink& s) { unary_samples(s, kFloat); }
void wide_samples(SampleSink& s) { unary_samples(s, kReal, -90, 90); }
void positive_samples(SampleSink& s) { unary_samples(s, kReal, 1e-3, 50); }
void unit_samples(SampleSink& s) { unary_samples(s, kReal, -1, 1); }
void above_one_samples(SampleSink& s) { unary_samples(s, kReal, 1, 50); }
void integer_samples(SampleSink& s) {
  s.error(Code::dtype, {"float32"}, {randn({3})});
  s.add_as_is({rand_ints({5, 13}, -20, 20, DType::int64)});
  s.add_as_is({rand_ints({130}, -128, 128, DType::int8)});
  s.add_as_is({strided(rand_ints({7, 3}, 0, 256, DType::uint8))});
  s.add_as_is({rand_ints({33}, 0, 2, DType::bool_)});
}

// A function of floats, to which integers are raised.
Formula math(const char* schema, const char* rule, Math f, double (*f64)(X, X), SamplesFn samples,
             std::vector<OnnxImport> imports = {}) {
  Formula row{schema, rule};
  row.math = f;
  row.f64 = f64;
  row.samples = samples;
  row.imports = std::move(imports);
  return row;
}
Formula real(const char* schema, const char* rule, Real f, double (*f64)(X, X), SamplesFn samples,
             std::vector<OnnxImport> imports = {}, Tolerances tolerance = ulps(1)) {
  Formula row{schema, rule};
  row.real = f;
  row.f64 = f64;
  row.samples = samples;
  row.imports = std::move(imports);
  row.tolerance = tolerance;
  return row;
}
// Integers are their own result.
Val keep_integers(const Lowering& l) {
  if (is_integral(l.types.compute)) return l.operand("self");
  return l.b.step(fn(*l.formula.real, l.lane()), l.types.result, {l.operand("self")});
}
Formula rounding(const char* schema, const char* rule, Real f, double (*f64)(X, X),
                 std::vector<OnnxImport> imports = {}) {
  Formula row = real(schema, rule, f, f64, number_samples, std::move(imports), exact());
  row.lower = keep_integers;
  row.i64 = [](N x, N) { return x[0]; };
  return row;
}
// A test of floats; integers have one answer.
template <bool answer>
Val test(const Lowering& l) {
  const Val x = l.in[0];
  if (!is_floating(l.b.dtype(x))) {
    const Val flag = l.b.cast(x, DType::bool_);
    return l.b.step(fn(answer ? Bool::set : Bool::clear), DType::bool_, {flag});
  }
  return l.b.step(fn(*l.formula.real, l.lane()), DType::bool_, {l.operand("self")});
}
template <bool answer>
Formula testing(const char* schema, const char* rule, Real f, double (*f64)(X, X),
                std::vector<OnnxImport> imports = {}) {
  Formula row = real(schema, rule, f, f64, any_samples, std::move(imports), exact());
  row.lower = test<answer>;
  row.i64 = [](N, N) -> int64_t { return answer; };
  return row;
}

double decimals_scale(const Args& args) {
  return std::pow(10.0, std::abs(static_cast<double>(args.integer("decimals"))));
}

Val lower_round_decimals(const Lowering& l) {
  if (is_integral(l.types.compute)) return l.operand("self");
  Params p;
  p.f[0] = decimals_scale(l.args);
  const Real f = l.args.integer("decimals") < 0 ? Real::round_unscaled : Real::round_scaled;
  return l.b.step(fn(l.args.integer("decimals") == 0 ? Real::round : f, l.lane()), l.types.result, {l.operand("self")},
                  p);
}
std::vector<Tensor> oracle_round_decimals(const Args& args, const std::vector<Tensor>& in) {
  if (is_integral(args.tensor("self").dtype)) return {in[0]};
  const double scale = decimals_scale(args);
  std::vector<double> out = in[0].to_doubles();
  for (double& v : out)
    v = args.integer("decimals") < 0 ? std::nearbyint(v / scale) * scale : std::nearbyint(v * scale) / scale;
  return {Tensor::of<double>(in[0].shape(), std::span<const double>(out))};
}

struct Limits {
  double nan, high, low;
};
Limits nan_limits(const Args& args) {
  double top = 0;
  switch (args.tensor("self").dtype) {
    case DType::float16:
      top = 65504;
      break;
    case DType::bfloat16:
      top = 3.3895313892515355e38;
      break;
    case DType::float64:
      top = std::numeric_limits<double>::max();
      break;
    case DType::float8_e4m3fn:
      top = 448;
      break;
    case DType::float8_e5m2:
      top = 57344;
      break;
    default:
      top = std::numeric_limits<float>::max();
      break;
  }
  return {args.has("nan") ? args.number("nan") : 0, args.has("posinf") ? args.number("posinf") : top,
          args.has("neginf") ? args.number("neginf") : -top};
}
Val lower_nan_to_num(const Lowering& l) {
  if (!is_floating(l.types.compute)) return l.operand("self");
  const Limits limits = nan_limits(l.args);
  Params p;
  p.f[0] = limits.nan;
  p.f[1] = limits.high;
  p.f[2] = limits.low;
  return l.b.step(fn(Real::nan_to_num, l.lane()), l.types.result, {l.operand("self")}, p);
}
std::vector<Tensor> oracle_nan_to_num(const Args& args, const std::vector<Tensor>& in) {
  if (!is_floating(args.tensor("self").dtype)) return {in[0]};
  const Limits limits = nan_limits(args);
  std::vector<double> out = in[0].to_doubles();
  for (double& v : out) v = std::isnan(v) ? limits.nan : std::isinf(v) ? (v > 0 ? limits.high : limits.low) : v;
  return {Tensor::of<double>(in[0].shape(), std::span<const double>(out))};
}

Val lower_isinf_signed(const Lowering& l) {
  if (!is_floating(l.types.compute)) return test<false>(l);
  Params p;
  p.f[0] = l.args.flag("detect_negative");
  p.f[1] = l.args.flag("detect_positive");
  return l.b.step(fn(Real::isinf_signed, l.lane()), DType::bool_, {l.operand("self")}, p);
}
std::vector<Tensor> oracle_isinf_signed(const Args& args, const std::vector<Tensor>& in) {
  Tensor out = Tensor::zeros(in[0].shape(), DType::bool_);
  const std::vector<double> x = in[0].to_doubles();
  for (size_t i = 0; i < x.size(); ++i)
    out.mutable_data<bool>()[i] = std::isinf(x[i]) && args.flag(x[i] > 0 ? "detect_positive" : "detect_negative");
  return {out};
}
void import_isinf(Importing& node) {
  node.output(0, node.emit("custom::isinf_signed", {node.input(0), node.integer("detect_negative", 1) != 0,
                                                    node.integer("detect_positive", 1) != 0}));
}

// square of bool is int64.
Val lower_square(const Lowering& l) {
  const Val x = l.operand("self", l.types.result);
  const Lane lane = lane_of(l.types.result);
  const bool floating = is_floating(l.types.result);
  return l.b.step(floating ? fn(Real::square, lane) : fn(Int::square, lane), l.types.result, {x});
}
Val lower_sign(const Lowering& l) {
  if (l.types.compute == DType::bool_) return l.operand("self");
  const Fn f = is_floating(l.types.compute) ? fn(Real::sign, l.lane()) : fn(Int::sign, l.lane());
  return l.b.step(f, l.types.result, {l.operand("self")});
}
Val lower_logical_not(const Lowering& l) {
  return l.b.step(fn(Bool::bit_not), DType::bool_, {l.b.cast(l.in[0], DType::bool_)});
}

}  // namespace

Decls unary() {
  std::vector<Formula> rows = {
      math("aten::exp(Tensor self) -> Tensor", "exp", Math::exp, [](X x, X) { return std::exp(x[0]); }, wide_samples,
           {{"Exp", import_unary}}),
      math(
          "aten::exp2(Tensor self) -> Tensor", "exp2", Math::exp2, [](X x, X) { return std::exp2(x[0]); },
          wide_samples),
      math(
          "aten::expm1(Tensor self) -> Tensor", "expm1", Math::expm1, [](X x, X) { return std::expm1(x[0]); },
          wide_samples),
      math("aten::log(Tensor self) -> Tensor", "log", Math::log, [](X x, X) { return std::log(x[0]); },
           positive_samples, {{"Log", import_unary}}),
      math(
          "aten::log2(Tensor self) -> Tensor", "log2", Math::log2, [](X x, X) { return std::log2(x[0]); },
          positive_samples),
      math(
          "aten::log10(Tensor self) -> Tensor", "log10", Math::log10, [](X x, X) { return std::log10(x[0]); },
          positive_samples),
      math(
          "aten::log1p(Tensor self) -> Tensor", "log1p", Math::log1p, [](X x, X) { return std::log1p(x[0]); },
          positive_samples),
      math("aten::sin(Tensor self) -> Tensor", "sin", Math::sin, [](X x, X) { return std::sin(x[0]); }, wide_samples,
           {{"Sin", import_unary}}),
      math("aten::cos(Tensor self) -> Tensor", "cos", Math::cos, [](X x, X) { return std::cos(x[0]); }, wide_samples,
           {{"Cos", import_unary}}),
      math("aten::tan(Tensor self) -> Tensor", "tan", Math::tan, [](X x, X) { return std::tan(x[0]); }, wide_samples,
           {{"Tan", import_unary}}),
      math("aten::asin(Tensor self) -> Tensor", "asin", Math::asin, [](X x, X) { return std::asin(x[0]); },
           unit_samples, {{"Asin", import_unary}}),
      math("aten::acos(Tensor self) -> Tensor", "acos", Math::acos, [](X x, X) { return std::acos(x[0]); },
           unit_samples, {{"Acos", import_unary}}),
      math("aten::atan(Tensor self) -> Tensor", "atan", Math::atan, [](X x, X) { return std::atan(x[0]); },
           wide_samples, {{"Atan", import_unary}}),
      math("aten::sinh(Tensor self) -> Tensor", "sinh", Math::sinh, [](X x, X) { return std::sinh(x[0]); },
           wide_samples, {{"Sinh", import_unary}}),
      math("aten::cosh(Tensor self) -> Tensor", "cosh", Math::cosh, [](X x, X) { return std::cosh(x[0]); },
           wide_samples, {{"Cosh", import_unary}}),
      math("aten::tanh(Tensor self) -> Tensor", "tanh", Math::tanh, [](X x, X) { return std::tanh(x[0]); }, any_samples,
           {{"Tanh", import_unary}}),
      math("aten::asinh(Tensor self) -> Tensor", "asinh", Math::asinh, [](X x, X) { return std::asinh(x[0]); },
           wide_samples, {{"Asinh", import_unary}}),
      math("aten::acosh(Tensor self) -> Tensor", "acosh", Math::acosh, [](X x, X) { return std::acosh(x[0]); },
           above_one_samples, {{"Acosh", import_unary}}),
      math("aten::atanh(Tensor self) -> Tensor", "atanh", Math::atanh, [](X x, X) { return std::atanh(x[0]); },
           unit_samples, {{"Atanh", import_unary}}),
      math("aten::erf(Tensor self) -> Tensor", "erf", Math::erf, [](X x, X) { return std::erf(x[0]); }, any_samples,
           {{"Erf", import_unary}}),
      math(
          "aten::erfc(Tensor self) -> Tensor", "erfc", Math::erfc, [](X x, X) { return std::erfc(x[0]); }, any_samples),

      real("aten::sqrt(Tensor self) -> Tensor", "sqrt", Real::sqrt, [](X x, X) { return std::sqrt(x[0]); },
           positive_samples, {{"Sqrt", import_unary}}),
      real(
          "aten::rsqrt(Tensor self) -> Tensor", "rsqrt", Real::rsqrt, [](X x, X) { return 1 / std::sqrt(x[0]); },
          positive_samples, {}, ulps(2)),
      real("aten::reciprocal(Tensor self) -> Tensor", "reciprocal", Real::reciprocal, [](X x, X) { return 1 / x[0]; },
           any_samples, {{"Reciprocal", import_unary}}),

      rounding("aten::floor(Tensor self) -> Tensor", "floor", Real::floor, [](X x, X) { return std::floor(x[0]); },
               {{"Floor", import_unary}}),
      rounding("aten::ceil(Tensor self) -> Tensor", "ceil", Real::ceil, [](X x, X) { return std::ceil(x[0]); },
               {{"Ceil", import_unary}}),
      rounding("aten::trunc(Tensor self) -> Tensor", "trunc", Real::trunc, [](X x, X) { return std::trunc(x[0]); }),
      rounding("aten::round(Tensor self) -> Tensor", "round", Real::round, [](X x, X) { return std::nearbyint(x[0]); },
               {{"Round", import_unary}}),
      real(
          "aten::frac(Tensor self) -> Tensor", "frac", Real::frac, [](X x, X) { return x[0] - std::trunc(x[0]); },
          float_samples, {}, exact()),

      testing<false>("aten::isnan(Tensor self) -> Tensor", "isnan", Real::isnan,
                     [](X x, X) -> double { return std::isnan(x[0]); }, {{"IsNaN", import_unary}}),
      testing<false>("aten::isinf(Tensor self) -> Tensor", "isinf", Real::isinf,
                     [](X x, X) -> double { return std::isinf(x[0]); }),
      testing<true>("aten::isfinite(Tensor self) -> Tensor", "isfinite", Real::isfinite,
                    [](X x, X) -> double { return std::isfinite(x[0]); }),
  };

  Formula row{"aten::neg(Tensor self) -> Tensor", "neg"};
  row.real = Real::neg;
  row.whole = Int::neg;
  row.f64 = [](X x, X) { return -x[0]; };
  row.i64 = [](N x, N) { return -x[0]; };
  row.tolerance = exact();
  row.samples = number_samples;
  row.imports = {{"Neg", import_unary}};
  rows.push_back(row);

  row = Formula{"aten::abs(Tensor self) -> Tensor", "abs"};
  row.real = Real::abs;
  row.whole = Int::abs;
  row.f64 = [](X x, X) { return std::fabs(x[0]); };
  row.i64 = [](N x, N) -> int64_t { return x[0] < 0 ? -x[0] : x[0]; };
  row.tolerance = exact();
  row.samples = number_samples;
  row.imports = {{"Abs", import_unary}};
  row.aliases = {"aten::absolute"};
  rows.push_back(row);

  row = Formula{"aten::sign(Tensor self) -> Tensor", "sign"};
  row.lower = lower_sign;
  row.f64 = [](X x, X) -> double { return (x[0] > 0) - (x[0] < 0); };
  row.i64 = [](N x, N) -> int64_t { return (x[0] > 0) - (x[0] < 0); };
  row.tolerance = exact();
  row.samples = any_samples;
  row.imports = {{"Sign", import_unary}};
  rows.push_back(row);

  row = Formula{"aten::square(Tensor self) -> Tensor", "square"};
  row.lower = lower_square;
  row.f64 = [](X x, X) { return x[0] * x[0]; };
  row.i64 = [](N x, N) { return x[0] * x[0]; };
  row.tolerance = ulps(1);
  row.samples = any_samples;
  rows.push_back(row);

  row = Formula{"aten::logical_not(Tensor self) -> Tensor", "logical_not"};
  row.lower = lower_logical_not;
  row.f64 = [](X x, X) -> double { return x[0] == 0; };
  row.i64 = [](N x, N) -> int64_t { return x[0] == 0; };
  row.tolerance = exact();
  row.samples = any_samples;
  row.imports = {{"Not", import_unary}};
  rows.push_back(row);

  row = Formula{"aten::bitwise_not(Tensor self) -> Tensor", "bitwise_not"};
  row.whole = Int::bit_not;
  row.boolean = Bool::bit_not;
  row.oracle = [](const Args& args, const std::vector<Tensor>& in) -> std::vector<Tensor> {
    std::vector<int64_t> out = in[0].to_ints();
    for (int64_t& v : out) v = args.tensor("self").dtype == DType::bool_ ? v == 0 : ~v;
    return {Tensor::of<int64_t>(in[0].shape(), std::span<const int64_t>(out))};
  };
  row.tolerance = exact();
  row.samples = integer_samples;
  row.imports = {{"BitwiseNot", import_unary}};
  rows.push_back(row);

  row = Formula{"aten::round.decimals(Tensor self, *, int decimals) -> Tensor", "round"};
  row.lower = lower_round_decimals;
  row.oracle = oracle_round_decimals;
  row.tolerance = ulps(4, 1);
  row.samples = [](SampleSink& s) {
    // Quarters and eighths: scaled by 100 they are exact in each dtype, so all agree on the ties.
    const Tensor eighths = rand_ints({3, 5}, -80, 80).to(DType::float32);
    s.add({eighths}, {{"decimals", val(-1)}});
    s.add({eighths}, {{"decimals", val(0)}});
    s.add_as_is({Tensor::of<float>({4}, {1.2345f, -6.789f, 0.5f, 2.25f})}, {{"decimals", val(2)}});
    s.add_as_is({rand_ints({5}, -9, 9)}, {{"decimals", val(2)}});
  };
  rows.push_back(row);

  row = Formula{"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
                "nan_to_num"};
  row.lower = lower_nan_to_num;
  row.oracle = oracle_nan_to_num;
  row.tolerance = exact();
  row.samples = [](SampleSink& s) {
    any_samples(s);
    s.add({special_floats(), val(2.0), val(3.0), val(-4.0)});
  };
  rows.push_back(row);

  row = Formula{"custom::isinf_signed(Tensor self, bool detect_negative=True, bool detect_positive=True) -> Tensor",
                "isinf"};
  row.lower = lower_isinf_signed;
  row.oracle = oracle_isinf_signed;
  row.tolerance = exact();
  row.samples = [](SampleSink& s) {
    s.add({special_floats()});
    s.add({special_floats(), val(false)});
    s.add({special_floats(), val(true), val(false)});
    s.add_as_is({rand_ints({5}, -9, 9)});
  };
  row.imports = {{"IsInf", import_isinf}};
  row.source = "ONNX IsInf";
  rows.push_back(row);

  return declare(std::move(rows));
}

}  // namespace nbx::decls
