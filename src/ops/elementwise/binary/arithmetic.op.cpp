// SPDX-License-Identifier: Apache-2.0
// Two operands: sums, products, quotients and extremes. An operand is a tensor or a plain number.
#include "ops/elementwise/binary/oracles.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"

namespace nbx::decls {

using namespace pointwise;
using namespace pointwise::oracles;

namespace {

// alpha of add and sub.
void check_alpha(const Args& args) {
  const Scalar alpha = args.scalar("alpha");
  const DType result = types_of(*find_formula(args.schema().full_name()), args).result;
  require(alpha.category() != Category::boolean || result == DType::bool_, Code::dtype,
          "{}: alpha is a bool, the result {}; pass a number", args.op(), name(result));
  require(!is_integral(result, true) || alpha.category() != Category::floating, Code::dtype,
          "{}: alpha is {}, a floating number, and the result {}; pass an integer", args.op(), alpha.as_double(),
          name(result));
}
Val scaled_sum(const Lowering& l, const char* first, const char* second, double sign) {
  const Scalar alpha = l.args.scalar("alpha");
  const Val x = l.operand(first), y = l.operand(second);
  const Lane lane = l.lane();
  if (lane == Lane::b8) return alpha.as_int() == 0 ? x : l.b.step(fn(Bool::bit_or), DType::bool_, {x, y});
  const bool floating = is_floating(l.types.compute), plain = alpha.as_double() == 1;
  Params p;
  p.f[0] = sign * alpha.as_double();
  p.i[0] = static_cast<int64_t>(sign) * alpha.as_int();
  Fn f;
  if (floating)
    f = fn(!plain ? Real::add_scaled : sign > 0 ? Real::add : Real::sub, lane);
  else
    f = fn(!plain ? Int::add_scaled : sign > 0 ? Int::add : Int::sub, lane);
  return l.b.step(f, l.types.result, {x, y}, p);
}
Val lower_add(const Lowering& l) { return scaled_sum(l, "self", "other", 1); }
Val lower_sub(const Lowering& l) { return scaled_sum(l, "self", "other", -1); }
Val lower_rsub(const Lowering& l) { return scaled_sum(l, "other", "self", -1); }

const char* mode_rule(const Args& args) {
  const Value& mode = args.value("rounding_mode");
  if (is_none(mode)) return "div";
  const std::string text = args.text("rounding_mode");
  require(text == "floor" || text == "trunc", Code::value,
          "div: rounding_mode is '{}'; it can be None, 'trunc' or 'floor'", text);
  return text == "floor" ? "div_floor" : "div_trunc";
}
Val quotient(const Lowering& l, const std::string& mode) {
  const Val x = l.operand("self"), y = l.operand("other");
  const Lane lane = l.lane();
  const bool floating = is_floating(l.types.compute);
  if (!floating) return l.b.step(fn(mode == "floor" ? Int::div_floor : Int::div_trunc, lane), l.types.result, {x, y});
  if (mode == "floor") {
    Params p;
    p.i[0] = l.types.result == DType::float16 ? 1 : l.types.result == DType::bfloat16 ? 2 : 0;
    return l.b.step(fn(Math::div_floor, lane), l.types.result, {x, y}, p);
  }
  // The quotient is rounded to the dtype before it is truncated, as ATen's.
  const Val q = l.b.step(fn(Real::div, lane), l.types.result, {x, y});
  return mode.empty() ? q : l.b.step(fn(Real::trunc, lane), l.types.result, {q});
}
Val lower_div(const Lowering& l) { return quotient(l, ""); }
Val lower_floor_divide(const Lowering& l) { return quotient(l, "floor"); }
Val lower_div_mode(const Lowering& l) {
  return quotient(l, is_none(l.args.value("rounding_mode")) ? "" : l.args.text("rounding_mode"));
}
std::vector<Tensor> oracle_quotient(const Args& args, const std::vector<Tensor>& in) {
  const Types types = types_of(*find_formula(args.schema().full_name()), args);
  const Shape shape = infer_pointwise(args).front().shape;
  std::string mode = "floor";
  if (args.schema().find("rounding_mode") >= 0)
    mode = is_none(args.value("rounding_mode")) ? "" : args.text("rounding_mode");
  const bool number = !std::holds_alternative<TensorRef>(args.value("other"));
  if (is_floating(types.compute)) {
    const auto round = [&](double v) { return rounded_to(v, types.compute); };
    std::vector<double> x = doubles_as(in[0], shape);
    std::vector<double> y =
        number ? std::vector<double>(x.size(), args.scalar("other").as_double()) : doubles_as(in[1], shape);
    for (size_t i = 0; i < x.size(); ++i) {
      // A number meets a half tensor in float32.
      const auto as_operand = [&](double v, bool single) {
        return single && is_half(types.compute) ? rounded_to(v, DType::float32) : round(v);
      };
      const double a = as_operand(x[i], in[0].rank() == 0), b = as_operand(y[i], number || in[1].rank() == 0);
      x[i] = mode == "floor" ? floor_quotient(a, b, round) : mode == "trunc" ? std::trunc(round(a / b)) : a / b;
    }
    return {Tensor::of<double>(shape, std::span<const double>(x))};
  }
  std::vector<int64_t> x = ints_as(in[0], shape);
  std::vector<int64_t> y =
      number ? std::vector<int64_t>(x.size(), args.scalar("other").as_int()) : ints_as(in[1], shape);
  for (size_t i = 0; i < x.size(); ++i) x[i] = mode == "floor" ? floor_quotient(x[i], y[i]) : x[i] / y[i];
  return {Tensor::of<int64_t>(shape, std::span<const int64_t>(x))};
}

// ONNX Div: integers truncate.
const char* onnx_div_rule(const Args& args) {
  return is_integral(args.tensor("self").dtype) && is_integral(args.tensor("other").dtype) ? "div_trunc" : "div";
}
Val lower_onnx_div(const Lowering& l) { return quotient(l, is_floating(l.types.compute) ? "" : "trunc"); }

void import_mod(Importing& node) {
  // fmod=1: the sign of the dividend, as C; 0: of the divisor, as Python.
  const char* op = node.integer("fmod", 0) != 0 ? "aten::fmod.Tensor" : "aten::remainder.Tensor";
  node.output(0, node.emit(op, {node.input(0), node.input(1)}));
}

void sum_samples(SampleSink& s) {
  binary_samples(s, kReal);
  s.add({randn({3, 40}), randn({40}, 2)}, {{"alpha", val(0.5)}});
  s.add({randn({70}), val(1.1)});
  s.add_as_is({val(2), rand_ints({5}, -9, 9, DType::int32)}, {{"alpha", val(3)}});
  s.error(Code::dtype, {"alpha", "int64"}, {rand_ints({3}, 0, 5), rand_ints({3}, 0, 5)}, {{"alpha", val(0.5)}});
  s.error(Code::dtype, {"alpha", "float32"}, {randn({3}), randn({3})}, {{"alpha", val(true)}});
}
void difference_samples(SampleSink& s) {
  binary_samples(s, kInt | kFloat);
  s.add({randn({3, 40}), randn({40}, 2)}, {{"alpha", val(0.5)}});
  s.add({val(1.1), randn({70})});
  s.add_as_is({val(2), rand_ints({5}, -9, 9, DType::int32)}, {{"alpha", val(3)}});
}
template <unsigned takes>
void pair_samples(SampleSink& s) {
  binary_samples(s, takes);
}
template <unsigned takes>
void divisor_samples(SampleSink& s) {
  binary_samples(s, takes, -4, 4, true);
}
template <unsigned takes>
void whole_divisor_samples(SampleSink& s) {
  divisor_samples<takes>(s);
  s.error(Code::value, {"ZeroDivisionError"}, {rand_ints({3}, 1, 5), Tensor::zeros({}, DType::int64)});
}
void number_samples(SampleSink& s) {
  s.add({randn({3, 40}), val(1.5)});
  s.add({strided(randn({3, 40})), val(3)});
  s.add({special_floats(), val(-2.5)});
  s.add_as_is({rand_ints({5, 9}, -20, 20), val(3)});
  s.add_as_is({rand_ints({9}, -20, 20, DType::int32), val(2.5)});
  s.add_as_is({rand_ints({9}, 0, 20, DType::uint8), val(7)});
}
void mode_samples(SampleSink& s) {
  for (const char* mode : {"floor", "trunc"}) {
    s.add({randn({3, 40}), rand_uniform({40}, 0.25, 4)}, {{"rounding_mode", val(mode)}});
    s.add_as_is({rand_ints({5, 9}, -20, 20), rand_ints({9}, 1, 7)}, {{"rounding_mode", val(mode)}});
    s.add_as_is({rand_ints({5, 9}, -20, 20), val(-4)}, {{"rounding_mode", val(mode)}});
    s.add({randn({3, 40}), val(0.375)}, {{"rounding_mode", val(mode)}});
  }
  s.add_as_is({rand_ints({9}, -20, 20), val(3)}, {{"rounding_mode", none}});
  s.error(Code::value, {"ceil"}, {randn({3}), val(2)}, {{"rounding_mode", val("ceil")}});
}

Formula pair(const char* schema, const char* rule, double (*f64)(X, X), int64_t (*i64)(N, N), SamplesFn samples,
             Tolerances tolerance, std::vector<OnnxImport> imports = {}, std::vector<std::string> aliases = {}) {
  Formula row{schema, rule};
  row.operands = {"self", "other"};
  row.f64 = f64;
  row.i64 = i64;
  row.samples = samples;
  row.tolerance = tolerance;
  row.imports = std::move(imports);
  row.aliases = std::move(aliases);
  return row;
}
Formula with_lower(Formula row, Val (*lower)(const Lowering&), std::vector<const char*> scalars = {}) {
  row.lower = lower;
  row.scalars = std::move(scalars);
  if (!row.scalars.empty()) row.check = check_alpha;
  return row;
}
Formula with_fns(Formula row, std::optional<Real> real, std::optional<Math> math, std::optional<Int> whole,
                 std::optional<Bool> boolean = {}) {
  row.real = real;
  row.math = math;
  row.whole = whole;
  row.boolean = boolean;
  return row;
}
// The same row for a plain number as the other operand.
Formula for_number(Formula row, const char* schema, std::vector<std::string> aliases = {}) {
  row.schema = schema;
  row.samples = number_samples;
  row.imports = {};
  row.aliases = std::move(aliases);
  return row;
}

}  // namespace

Decls arithmetic() {
  const Formula add =
      with_lower(pair(
                     "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "add",
                     [](X x, X p) { return x[0] + p[0] * x[1]; }, [](N x, N p) { return x[0] + p[0] * x[1]; },
                     sum_samples, ulps(1, 1, 5e-7, 1e-6),
                     {{"Add", import_binary, 7}, {"Sum", import_variadic, 8}, {"Mean", import_variadic, 8}}),
                 lower_add, {"alpha"});
  const Formula sub = with_lower(
      pair(
          "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "sub",
          [](X x, X p) { return x[0] - p[0] * x[1]; }, [](N x, N p) { return x[0] - p[0] * x[1]; }, difference_samples,
          ulps(1, 1, 5e-7, 1e-6), {{"Sub", import_binary, 7}}, {"aten::subtract.Tensor"}),
      lower_sub, {"alpha"});
  const Formula rsub =
      with_lower(pair(
                     "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "sub",
                     [](X x, X p) { return x[1] - p[0] * x[0]; }, [](N x, N p) { return x[1] - p[0] * x[0]; },
                     difference_samples, ulps(1, 1, 5e-7, 1e-6)),
                 lower_rsub, {"alpha"});
  const Formula mul =
      with_fns(pair(
                   "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", "mul", [](X x, X) { return x[0] * x[1]; },
                   [](N x, N) { return x[0] * x[1]; }, pair_samples<kReal>, ulps(1), {{"Mul", import_binary, 7}},
                   {"aten::multiply.Tensor"}),
               Real::mul, {}, Int::mul, Bool::bit_and);
  const Formula div = with_lower(
      pair("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", "div", [](X x, X) { return x[0] / x[1]; }, nullptr,
           divisor_samples<kReal>, ulps(1), {}, {"aten::divide.Tensor", "aten::true_divide.Tensor"}),
      lower_div);
  Formula floor_divide = with_lower(pair("aten::floor_divide(Tensor self, Tensor other) -> Tensor", "floor_divide",
                                         nullptr, nullptr, whole_divisor_samples<kInt | kFloat>, ulps(1)),
                                    lower_floor_divide);
  floor_divide.oracle = oracle_quotient;
  const Formula remainder = with_fns(
      pair(
          "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", "remainder",
          [](X x, X) { return floor_mod(x[0], x[1]); }, [](N x, N) { return x[0] - floor_quotient(x[0], x[1]) * x[1]; },
          whole_divisor_samples<kInt | kFloat>, ulps(1), {{"Mod", import_mod, 10}}),
      {}, Math::remainder, Int::remainder);
  const Formula fmod = with_fns(pair(
                                    "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", "fmod",
                                    [](X x, X) { return std::fmod(x[0], x[1]); }, [](N x, N) { return x[0] % x[1]; },
                                    whole_divisor_samples<kInt | kFloat>, exact()),
                                {}, Math::fmod, Int::fmod);
  Formula onnx_div =
      with_lower(pair(
                     "custom::onnx_div(Tensor self, Tensor other) -> Tensor", "div", [](X x, X) { return x[0] / x[1]; },
                     [](N x, N) { return x[0] / x[1]; },
                     [](SampleSink& s) {
                       s.add({randn({3, 40}), rand_uniform({40}, 0.25, 4)});
                       s.add_as_is({rand_ints({5, 9}, -20, 20), rand_ints({9}, 1, 7)});
                       s.add_as_is({rand_ints({5, 9}, -20, 20, DType::int32), rand_ints({1}, -7, -1, DType::int32)});
                     },
                     ulps(1), {{"Div", import_binary, 7}}),
                 lower_onnx_div);
  onnx_div.rule_of = onnx_div_rule;
  onnx_div.source = "ONNX Div";
  Formula div_mode =
      with_lower(pair("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", "div",
                      nullptr, nullptr, mode_samples, ulps(1), {}, {"aten::divide.Tensor_mode"}),
                 lower_div_mode);
  div_mode.rule_of = mode_rule;
  div_mode.oracle = oracle_quotient;

  std::vector<Formula> rows = {
      add,
      for_number(add, "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
      sub,
      for_number(sub, "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                 {"aten::subtract.Scalar"}),
      rsub,
      for_number(rsub, "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
      mul,
      for_number(mul, "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", {"aten::multiply.Scalar"}),
      div,
      for_number(div, "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
                 {"aten::divide.Scalar", "aten::true_divide.Scalar"}),
      floor_divide,
      for_number(floor_divide, "aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor"),
      remainder,
      for_number(remainder, "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor"),
      fmod,
      for_number(fmod, "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor"),
      onnx_div,
      div_mode,
  };
  Formula row = div_mode;
  row.schema = "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor";
  row.aliases = {"aten::divide.Scalar_mode"};
  row.samples = [](SampleSink& s) {
    s.add({randn({3, 40}), val(0.375)}, {{"rounding_mode", val("floor")}});
    s.add_as_is({rand_ints({5, 9}, -20, 20), val(-4)}, {{"rounding_mode", val("trunc")}});
    s.add_as_is({rand_ints({5, 9}, -20, 20), val(-4)}, {{"rounding_mode", none}});
  };
  rows.push_back(row);

  row = remainder;
  row.schema = "aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor";
  row.imports = {};
  row.samples = [](SampleSink& s) {
    s.add({val(5.5), rand_uniform({3, 40}, 0.25, 4)});
    s.add_as_is({val(-7), rand_ints({40}, 1, 9)});
  };
  rows.push_back(row);

  rows.push_back(with_fns(pair(
                              "aten::maximum(Tensor self, Tensor other) -> Tensor", "maximum",
                              [](X x, X) { return nan_max(x[0], x[1]); }, [](N x, N) { return std::max(x[0], x[1]); },
                              pair_samples<kReal>, exact(), {{"Max", import_variadic, 8}}, {"aten::max.other"}),
                          Real::maximum, {}, Int::maximum, Bool::bit_or));
  rows.push_back(with_fns(pair(
                              "aten::minimum(Tensor self, Tensor other) -> Tensor", "minimum",
                              [](X x, X) { return nan_min(x[0], x[1]); }, [](N x, N) { return std::min(x[0], x[1]); },
                              pair_samples<kReal>, exact(), {{"Min", import_variadic, 8}}, {"aten::min.other"}),
                          Real::minimum, {}, Int::minimum, Bool::bit_and));
  rows.push_back(with_fns(
      pair(
          "aten::fmax(Tensor self, Tensor other) -> Tensor", "fmax", [](X x, X) { return std::fmax(x[0], x[1]); },
          [](N x, N) { return std::max(x[0], x[1]); }, pair_samples<kReal>, exact()),
      Real::fmax, {}, Int::maximum, Bool::bit_or));
  rows.push_back(with_fns(
      pair(
          "aten::fmin(Tensor self, Tensor other) -> Tensor", "fmin", [](X x, X) { return std::fmin(x[0], x[1]); },
          [](N x, N) { return std::min(x[0], x[1]); }, pair_samples<kReal>, exact()),
      Real::fmin, {}, Int::minimum, Bool::bit_and));
  rows.push_back(with_fns(pair(
                              "aten::atan2(Tensor self, Tensor other) -> Tensor", "atan2",
                              [](X x, X) { return std::atan2(x[0], x[1]); }, nullptr, pair_samples<kReal>, ulps(2)),
                          {}, Math::atan2, {}));
  return declare(std::move(rows));
}

}  // namespace nbx::decls
