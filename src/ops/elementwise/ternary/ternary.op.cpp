// SPDX-License-Identifier: Apache-2.0
// Three operands: addcmul, addcdiv, lerp; ONNX's PRelu, whose slope broadcasts.
#include <cmath>

#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"
#include "shape/broadcast.h"

namespace nbx::decls {

using namespace pointwise;

namespace {

using X = const double*;
using N = const int64_t*;

void three_samples(SampleSink& s) {
  const auto third = [](const Shape& shape) { return rand_uniform(shape, 0.5, 4, 7); };
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{2, 1030}})
    s.add({randn(shape), randn(shape, 2), third(shape)});
  s.add({randn({4, 1, 5}), strided(randn({3, 5}, 2)), third({3, 1})}, {{"value", val(-3.5)}});
  s.add({randn({40}), randn({40}, 2), third({40})}, {{"value", val(2)}});
  s.add({randn({1}), randn({5, 6}, 2), third({6})}, {{"value", val(0.5)}});
  s.error(Code::shape, {"[3]", "[4]"}, {randn({3}), randn({4}), third({3})});
}

void check_value(const Args& args) {
  const DType result = types_of(*find_formula(args.schema().full_name()), args).result;
  require(!is_integral(result, true) || args.scalar("value").category() != Category::floating, Code::dtype,
          "{}: value is a floating number and the result {}; pass an integer", args.op(), name(result));
}

// The three operands as they are: lerp's number as the weight.
void lerp_samples(SampleSink& s) {
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{2, 1030}})
    s.add({randn(shape), randn(shape, 2), rand_uniform(shape, -0.5, 1.5)});
  s.add({randn({4, 1, 5}), strided(randn({3, 5}, 2)), rand_uniform({3, 1}, 0, 1)});
  s.error(Code::dtype, {"float16"}, {randn({3}), randn({3}).to(DType::float16), randn({3})});
}
void lerp_number_samples(SampleSink& s) {
  for (const double w : {0.25, 0.5, 0.75, 1.5}) s.add({randn({3, 50}), randn({50}, 2), val(w)});
}
double lerp(double a, double b, double w) { return std::fabs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w); }
Metas infer_lerp(const Args& args) {
  const Formula& f = *find_formula(args.schema().full_name());
  std::vector<Operand> operands;
  Shape shape;
  for (const char* param : f.operands) {
    if (!std::holds_alternative<TensorRef>(args.value(param))) {
      require(args.scalar(param).category() != Category::complex, Code::unsupported,
              "lerp: complex weights are not supported yet");
      continue;
    }
    operands.push_back(operand(args.tensor(param)));
    shape = broadcast(shape, args.tensor(param).shape, args.schema().full_name());
  }
  const RuleResult r = op_dtypes("lerp", operands);
  require(!is_complex(r.result), Code::unsupported, "lerp: complex operands are not supported yet; pass real tensors");
  return {Meta(r.result, shape)};
}
Val lower_lerp(const Lowering& l) {
  const DType type = l.b.dtype(l.in[0]);
  return l.b.step(fn(Real::lerp, lane_of(type)), type,
                  {l.operand("self", type), l.operand("end", type), l.operand("weight", type)});
}
std::vector<Tensor> oracle_lerp(const Args& args, const std::vector<Tensor>& in) {
  const Shape shape = infer_lerp(args).front().shape;
  std::vector<double> a = doubles_as(in[0], shape);
  const std::vector<double> b = doubles_as(in[1], shape);
  const std::vector<double> w =
      in.size() > 2 ? doubles_as(in[2], shape) : std::vector<double>(a.size(), args.scalar("weight").as_double());
  for (size_t i = 0; i < a.size(); ++i) a[i] = lerp(a[i], b[i], w[i]);
  return {Tensor::of<double>(shape, std::span<const double>(a))};
}

// ONNX PRelu: slope broadcasts to x, integers too.
Val lower_prelu(const Lowering& l) {
  const Val x = l.operand("self"), slope = l.operand("slope");
  if (is_floating(l.types.compute)) return l.b.step(fn(Real::prelu, l.lane()), l.types.result, {x, slope});
  const Val product = l.b.step(fn(Int::mul, l.lane()), l.types.result, {x, slope});
  const Val zero = l.b.constant(Scalar{int64_t{0}}, l.types.compute);
  const Val below = l.b.step(fn(Int::lt, l.lane()), DType::bool_, {x, zero});
  return l.b.step(fn(Int::where, l.lane()), l.types.result, {below, product, x});
}

}  // namespace

Decls ternary() {
  std::vector<Formula> rows;
  Formula row{"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", "addcmul"};
  row.operands = {"self", "tensor1", "tensor2"};
  row.real = Real::addcmul;
  row.whole = Int::addcmul;
  row.scalars = {"value"};
  row.check = check_value;
  row.f64 = [](X x, X p) { return x[0] + p[0] * x[1] * x[2]; };
  row.i64 = [](N x, N p) { return x[0] + p[0] * x[1] * x[2]; };
  row.tolerance = ulps(4, 1, 2e-6, 1e-5);
  row.samples = [](SampleSink& s) {
    three_samples(s);
    s.add_as_is({rand_ints({9}, -9, 9), rand_ints({9}, -9, 9, DType::int64, 3), rand_ints({9}, -9, 9, DType::int64, 4)},
                {{"value", val(3)}});
    s.error(Code::dtype, {"int64"}, {rand_ints({2}, 0, 3), rand_ints({2}, 0, 3), rand_ints({2}, 0, 3)},
            {{"value", val(0.5)}});
  };
  rows.push_back(row);

  row = Formula{"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", "addcdiv"};
  row.operands = {"self", "tensor1", "tensor2"};
  row.real = Real::addcdiv;
  row.scalars = {"value"};
  row.f64 = [](X x, X p) { return x[0] + p[0] * x[1] / x[2]; };
  row.tolerance = ulps(4, 1, 2e-6, 1e-5);
  row.samples = [](SampleSink& s) {
    three_samples(s);
    s.error(Code::dtype, {"int64"}, {rand_ints({2}, 0, 3), rand_ints({2}, 0, 3), rand_ints({2}, 1, 3)});
  };
  rows.push_back(row);

  row = Formula{"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"};
  row.operands = {"self", "end", "weight"};
  row.infer = infer_lerp;
  row.lower = lower_lerp;
  row.oracle = oracle_lerp;
  row.tolerance = ulps(4, 1, 6e-7, 1e-5);
  row.samples = lerp_samples;
  rows.push_back(row);
  row.schema = "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor";
  row.samples = lerp_number_samples;
  rows.push_back(row);

  row = Formula{"custom::prelu_broadcast(Tensor self, Tensor slope) -> Tensor", "mul"};
  row.operands = {"self", "slope"};
  row.lower = lower_prelu;
  row.f64 = [](X x, X) { return x[0] > 0 ? x[0] : x[0] * x[1]; };
  row.i64 = [](N x, N) { return x[0] < 0 ? x[0] * x[1] : x[0]; };
  row.tolerance = ulps(1);
  row.source = "ONNX PRelu";
  row.imports = {{"PRelu", import_binary, 7}};
  row.samples = [](SampleSink& s) {
    s.add({randn({2, 3, 5}), randn({3, 1}, 4)});
    s.add({randn({2, 40}), randn({1}, 4)});
    s.add_as_is({rand_ints({2, 40}, -9, 9), rand_ints({40}, -9, 9, DType::int64, 4)});
    s.error(Code::shape, {"[3]", "[4]"}, {randn({3}), randn({4})});
  };
  rows.push_back(row);
  return declare(std::move(rows));
}

}  // namespace nbx::decls
