// SPDX-License-Identifier: Apache-2.0
// pow in its three overloads, and ONNX's, which keeps the base's dtype.
#include "ops/elementwise/binary/oracles.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"
#include "shape/broadcast.h"

namespace nbx::decls {

using namespace pointwise;
using namespace pointwise::oracles;

namespace {

// Small powers as products and roots: exact where pow would be one step off, and far cheaper.
Val to_constant(const Lowering& l, Val x, double e, DType result) {
  const Lane lane = lane_of(result);
  const DType wide = dtype_of_lane(lane);
  if (e == 1) return x;
  if (e == 2) return l.b.step(fn(Real::square, lane), result, {x});
  if (e == 3) return l.b.step(fn(Real::cube, lane), result, {x});
  if (e == 0.5) return l.b.step(fn(Real::sqrt, lane), result, {x});
  if (e == -0.5) return l.b.step(fn(Real::rsqrt, lane), result, {x});
  if (e == -1) return l.b.step(fn(Real::reciprocal, lane), result, {x});
  if (e == -2) return l.b.step(fn(Real::reciprocal, lane), result, {l.b.step(fn(Real::square, lane), wide, {x})});
  return l.b.step(fn(Math::pow, lane), result, {x, l.b.wide_constant(e, wide)});
}

Val lower_pow(const Lowering& l) {
  const DType type = l.types.compute;
  const Lane lane = l.lane();
  const Val x = l.operand("self"), y = l.operand("exponent");
  if (lane == Lane::b8)  // x^1 = x, x^0 = 1
    return l.b.step(fn(Bool::bit_or), DType::bool_, {x, l.b.step(fn(Bool::bit_not), DType::bool_, {y})});
  if (!is_floating(type)) return l.b.step(fn(Int::pow, lane), l.types.result, {x, y});
  const auto e = l.number("exponent");
  if (e && e->category() != Category::complex) return to_constant(l, x, e->as_double(), l.types.result);
  return l.b.step(fn(Math::pow, lane), l.types.result, {x, y});
}
void check_pow(const Args& args) {
  const Types types = types_of(*find_formula(args.schema().full_name()), args);
  if (!is_integral(types.common) || std::holds_alternative<TensorRef>(args.value("exponent"))) return;
  const int64_t e = args.scalar("exponent").as_int();
  require(e >= 0, Code::value,
          "pow: Integers to negative integer powers are not allowed: {} to the power {}; convert to a "
          "floating type first",
          name(types.common), e);
}

Formula row_of(const char* schema, const char* rule, SamplesFn samples) {
  Formula row{schema, rule};
  row.operands = {"self", "exponent"};
  row.lower = lower_pow;
  row.check = check_pow;
  row.f64 = [](X x, X) { return std::pow(x[0], x[1]); };
  row.i64 = [](N x, N) { return int_power(x[0], x[1]); };
  row.samples = samples;
  row.tolerance = ulps(4, 1);
  return row;
}
void tensor_samples(SampleSink& s) {
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{2, 1030}})
    s.add({rand_uniform(shape, 0.1, 4), rand_uniform(shape, -4, 4, 3)});
  s.add({strided(rand_uniform({5, 9}, -3, 3)), rand_ints({9}, -4, 5).to(DType::float32)});
  s.add({special_floats(), special_floats().flip({0}).contiguous()});
  s.add_as_is({rand_ints({5, 13}, -5, 6), rand_ints({13}, -2, 9, DType::int64, 5)});
  s.add_as_is({rand_ints({130}, -128, 128, DType::int8), rand_ints({130}, 0, 9, DType::int8, 5)});
  s.add_as_is({rand_ints({9}, -9, 9, DType::int32), rand_uniform({9}, 0, 2)});
  s.error(Code::dtype, {"bool"}, {rand_ints({3}, 0, 2, DType::bool_), rand_ints({3}, 0, 2, DType::bool_)});
  s.error(Code::shape, {"[3]", "[4]"}, {randn({3}), randn({4})});
}
void number_samples(SampleSink& s) {
  for (const double e : {2.0, 3.0, -1.0, -2.0, 1.0, 0.0, 5.0, -3.0}) s.add({rand_uniform({2, 130}, -3, 3), val(e)});
  for (const double e : {0.5, -0.5, 1.7, -2.25}) s.add({rand_uniform({2, 130}, 0.1, 4), val(e)});
  s.add({rand_uniform({40}, -3, 3), val(2)});
  s.add_as_is({rand_ints({5, 13}, -5, 6), val(3)});
  s.add_as_is({rand_ints({5, 13}, 0, 6, DType::uint8), val(true)});
  s.add_as_is({rand_ints({5, 13}, 0, 2, DType::bool_), val(false)});
  s.error(Code::value, {"-1"}, {rand_ints({3}, 1, 5), val(-1)});
}
void base_samples(SampleSink& s) {
  s.add({val(2.0), rand_uniform({2, 130}, -4, 4)});
  s.add({val(3), rand_uniform({2, 130}, -4, 4)});
  s.add_as_is({val(-2), rand_ints({40}, 0, 9)});
}

Types onnx_types(const Args& args) {
  const DType base = args.tensor("self").dtype, exponent = args.tensor("exponent").dtype;
  for (const DType t : {base, exponent})
    require(is_integral(t) || is_floating(t), Code::dtype, "Pow: operands are {} and {}; both must be numbers",
            name(base), name(exponent));
  // An integer base with a floating exponent: in double, then truncated to the base's dtype.
  const bool mixed = is_integral(base) && is_floating(exponent);
  return {base, mixed ? DType::float64 : base, base};
}
Metas infer_onnx_pow(const Args& args) {
  onnx_types(args);
  return {Meta(args.tensor("self").dtype, broadcast(args.tensor("self").shape, args.tensor("exponent").shape, "Pow"))};
}
Val lower_onnx_pow(const Lowering& l) {
  const Types t = onnx_types(l.args);
  const Val x = l.operand("self", t.compute);
  const auto e = l.number("exponent");
  if (!is_floating(t.compute))
    return l.b.step(fn(Int::pow, lane_of(t.compute)), t.compute, {x, l.operand("exponent", t.compute)});
  // A floating exponent of another width is not rounded to the base's.
  const DType wide = dtype_of_lane(lane_of(t.compute));
  const Val power = e && is_floating(t.compute)
                        ? to_constant(l, x, e->as_double(), t.compute)
                        : l.b.step(fn(Math::pow, lane_of(t.compute)), t.compute, {x, l.operand("exponent", wide)});
  return l.b.cast(power, t.result);
}
std::vector<Tensor> oracle_onnx_pow(const Args& args, const std::vector<Tensor>& in) {
  const Shape shape = infer_onnx_pow(args).front().shape;
  const DType base = args.tensor("self").dtype;
  if (is_integral(base) && is_integral(args.tensor("exponent").dtype)) {
    std::vector<int64_t> x = ints_as(in[0], shape);
    const std::vector<int64_t> e = ints_as(in[1], shape);
    for (size_t i = 0; i < x.size(); ++i) x[i] = int_power(x[i], e[i]);
    return {Tensor::of<int64_t>(shape, std::span<const int64_t>(x))};
  }
  std::vector<double> x = doubles_as(in[0], shape);
  const std::vector<double> e = doubles_as(in[1], shape);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::pow(x[i], e[i]);
  const Tensor out = Tensor::of<double>(shape, std::span<const double>(x));
  return {is_integral(base) ? out.to(base) : out};
}

}  // namespace

Decls power() {
  std::vector<Formula> rows = {
      row_of("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", "pow", tensor_samples),
      row_of("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", "pow.Tensor_Scalar", number_samples),
      row_of("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", "pow", base_samples),
  };
  Formula row{"custom::onnx_pow(Tensor self, Tensor exponent) -> Tensor"};
  row.operands = {"self", "exponent"};
  row.infer = infer_onnx_pow;
  row.lower = lower_onnx_pow;
  row.oracle = oracle_onnx_pow;
  row.tolerance = ulps(4, 1);
  row.source = "ONNX Pow";
  row.imports = {{"Pow", import_binary, 7}};
  row.samples = [](SampleSink& s) {
    s.add({rand_uniform({2, 130}, 0.1, 4), rand_uniform({130}, -4, 4)});
    s.add({rand_uniform({2, 130}, -3, 3), Tensor::full({}, 2, DType::float32)});
    s.add_as_is({rand_uniform({9}, 0.1, 3), rand_ints({9}, -3, 4)});
    s.add_as_is({rand_ints({9}, 0, 9, DType::int32), Tensor::full({1}, 2, DType::int64)});
    s.add_as_is({rand_ints({9}, 0, 9), rand_uniform({9}, 0, 2)});
    s.error(Code::dtype, {"bool"}, {rand_ints({3}, 0, 2, DType::bool_), rand_ints({3}, 0, 2)});
  };
  rows.push_back(row);
  return declare(std::move(rows));
}

}  // namespace nbx::decls
