// SPDX-License-Identifier: Apache-2.0
// Two operands: comparisons, logic, bits and shifts.
#include "ops/elementwise/binary/oracles.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"

namespace nbx::decls {

using namespace pointwise;
using namespace pointwise::oracles;

namespace {

enum class Test { eq, ne, lt, le, gt, ge };

template <Test test>
Val lower_test(const Lowering& l) {
  constexpr bool swapped = test == Test::gt || test == Test::ge;
  constexpr Test base = test == Test::gt ? Test::lt : test == Test::ge ? Test::le : test;
  const Val x = l.operand(swapped ? "other" : "self"), y = l.operand(swapped ? "self" : "other");
  static constexpr Real reals[] = {Real::eq, Real::ne, Real::lt, Real::le};
  static constexpr Int ints[] = {Int::eq, Int::ne, Int::lt, Int::le};
  static constexpr Bool bools[] = {Bool::eq, Bool::bit_xor, Bool::lt, Bool::le};
  constexpr int i = static_cast<int>(base);
  const Lane lane = l.lane();
  const Fn f = lane == Lane::b8 ? fn(bools[i]) : is_floating(l.types.compute) ? fn(reals[i], lane) : fn(ints[i], lane);
  return l.b.step(f, DType::bool_, {x, y});
}
template <Test test, class T>
bool holds(T a, T b) {
  switch (test) {
    case Test::eq:
      return a == b;
    case Test::ne:
      return a != b;
    case Test::lt:
      return a < b;
    case Test::le:
      return a <= b;
    case Test::gt:
      return a > b;
    default:
      return a >= b;
  }
}

void test_samples(SampleSink& s) {
  binary_samples(s, kReal);
  s.add({rand_ints({3, 50}, -2, 2).to(DType::float32), rand_ints({50}, -2, 2).to(DType::float32)});
}
void test_number_samples(SampleSink& s) {
  s.add({rand_ints({3, 50}, -3, 3).to(DType::float32), val(1)});
  s.add({special_floats(), val(0.5)});
  s.add_as_is({rand_ints({50}, -3, 3), val(2)});
  s.add_as_is({rand_ints({50}, -3, 3), val(1.5)});
  s.add_as_is({rand_ints({50}, 0, 2, DType::bool_), val(true)});
}

template <Test test>
void add_tests(std::vector<Formula>& rows, const char* tensors, const char* numbers, const char* rule,
               std::vector<OnnxImport> imports, std::vector<std::string> aliases) {
  Formula row{tensors, rule};
  row.operands = {"self", "other"};
  row.lower = lower_test<test>;
  row.round_numbers = true;
  row.f64 = [](X x, X) -> double { return holds<test>(x[0], x[1]); };
  row.i64 = [](N x, N) -> int64_t { return holds<test>(x[0], x[1]); };
  row.tolerance = exact();
  row.samples = test_samples;
  row.imports = std::move(imports);
  if (!aliases.empty()) row.aliases = {aliases[0]};
  rows.push_back(row);
  row.schema = numbers;
  row.samples = test_number_samples;
  row.imports = {};
  if (!aliases.empty()) row.aliases = {aliases[1]};
  rows.push_back(row);
}

template <Bool f>
Val lower_logical(const Lowering& l) {
  return l.b.step(fn(f), DType::bool_, {l.b.cast(l.in[0], DType::bool_), l.b.cast(l.in[1], DType::bool_)});
}
Formula logical(const char* schema, const char* rule, Val (*lower)(const Lowering&), double (*f64)(X, X),
                int64_t (*i64)(N, N), const char* onnx) {
  Formula row{schema, rule};
  row.operands = {"self", "other"};
  row.lower = lower;
  row.f64 = f64;
  row.i64 = i64;
  row.tolerance = exact();
  row.samples = test_samples;
  row.imports = {{onnx, import_binary, 7}};
  return row;
}

void bit_samples(SampleSink& s) { binary_samples(s, kInt | kBool); }
void bit_number_samples(SampleSink& s) {
  s.add_as_is({rand_ints({50}, -9, 9), val(5)});
  s.add_as_is({rand_ints({3, 5}, 0, 200, DType::uint8), val(7)});
  s.error(Code::dtype, {"float32"}, {randn({3}), val(1)});
}
void number_bit_samples(SampleSink& s) {
  s.add_as_is({val(5), rand_ints({50}, -9, 9)});
  s.add_as_is({val(-6), rand_ints({3, 5}, -9, 9, DType::int32)});
}
// The three overloads.
void add_bits(std::vector<Formula>& rows, Formula row, const std::vector<const char*>& schemas) {
  row.tolerance = exact();
  row.operands = {"self", "other"};
  row.schema = schemas[0];
  rows.push_back(row);
  row.imports = {};
  row.schema = schemas[1];
  row.samples = bit_number_samples;
  rows.push_back(row);
  row.schema = schemas[2];
  row.samples = number_bit_samples;
  rows.push_back(row);
}
Formula bits(const char* rule, Int whole, Bool boolean, int64_t (*i64)(N, N), const char* onnx) {
  Formula row{nullptr, rule};
  row.whole = whole;
  row.boolean = boolean;
  row.i64 = i64;
  row.samples = bit_samples;
  row.imports = {{onnx, import_binary, 18}};
  return row;
}

int64_t width(DType dtype) { return itemsize(dtype) * 8; }
template <Int f>
Val lower_shift(const Lowering& l) {
  Params p;
  p.i[0] = width(l.types.compute);
  return l.b.step(fn(f, l.lane()), l.types.result, {l.operand("self"), l.operand("other")}, p);
}
std::vector<Tensor> oracle_shift(const Args& args, const std::vector<Tensor>& in) {
  const Formula& f = *find_formula(args.schema().full_name());
  const Types types = types_of(f, args);
  const Shape shape = infer_pointwise(args).front().shape;
  const auto values = [&](const char* param) {
    return std::holds_alternative<TensorRef>(args.value(param))
               ? ints_as(in[static_cast<size_t>(args.operand(param))], shape)
               : std::vector<int64_t>(static_cast<size_t>(numel(shape)), args.scalar(param).as_int());
  };
  std::vector<int64_t> x = values("self");
  const std::vector<int64_t> y = values("other");
  const bool left = std::string_view(f.rule) == "bitwise_left_shift";
  for (size_t i = 0; i < x.size(); ++i) {
    const bool outside = y[i] < 0 || y[i] >= width(types.compute);
    if (outside)
      x[i] = left || x[i] >= 0 ? 0 : -1;
    else
      x[i] = left ? static_cast<int64_t>(static_cast<uint64_t>(x[i]) << y[i]) : x[i] >> y[i];
  }
  return {Tensor::of<int64_t>(shape, std::span<const int64_t>(x))};
}
void shift_samples(SampleSink& s) {
  s.add_as_is({rand_ints({5, 13}, -20, 20), rand_ints({13}, -2, 70, DType::int64, 5)});
  s.add_as_is({rand_ints({130}, -128, 128, DType::int8), rand_ints({130}, -1, 12, DType::int8, 5)});
  s.add_as_is({rand_ints({77}, 0, 256, DType::uint8), rand_ints({77}, 0, 12, DType::uint8, 5)});
  s.add_as_is({rand_ints({9}, -2000, 2000, DType::int32), rand_ints({9}, 0, 40, DType::int32, 5)});
  s.error(Code::dtype, {"bool"}, {rand_ints({3}, 0, 2, DType::bool_), rand_ints({3}, 0, 2, DType::bool_)});
}
template <Int f>
Formula shift(const char* rule) {
  Formula row{nullptr, rule};
  row.lower = lower_shift<f>;
  row.oracle = oracle_shift;
  row.samples = shift_samples;
  return row;
}
void import_shift(Importing& node) {
  const std::string direction = node.text("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    fail(Code::value, "BitShift: direction is '{}'; it can be LEFT or RIGHT", direction);
  node.output(0, node.emit(direction == "LEFT" ? "aten::bitwise_left_shift.Tensor" : "aten::bitwise_right_shift.Tensor",
                           {node.input(0), node.input(1)}));
}

}  // namespace

Decls compare() {
  std::vector<Formula> rows;
  add_tests<Test::eq>(rows, "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor",
                      "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", "eq", {{"Equal", import_binary, 7}}, {});
  add_tests<Test::ne>(rows, "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor",
                      "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", "ne", {},
                      {"aten::not_equal.Tensor", "aten::not_equal.Scalar"});
  add_tests<Test::lt>(rows, "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor",
                      "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", "lt", {{"Less", import_binary, 7}},
                      {"aten::less.Tensor", "aten::less.Scalar"});
  add_tests<Test::le>(rows, "aten::le.Tensor(Tensor self, Tensor other) -> Tensor",
                      "aten::le.Scalar(Tensor self, Scalar other) -> Tensor", "le",
                      {{"LessOrEqual", import_binary, 12}}, {"aten::less_equal.Tensor", "aten::less_equal.Scalar"});
  add_tests<Test::gt>(rows, "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor",
                      "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", "gt", {{"Greater", import_binary, 7}},
                      {"aten::greater.Tensor", "aten::greater.Scalar"});
  add_tests<Test::ge>(rows, "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor",
                      "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", "ge",
                      {{"GreaterOrEqual", import_binary, 12}},
                      {"aten::greater_equal.Tensor", "aten::greater_equal.Scalar"});

  rows.push_back(logical(
      "aten::logical_and(Tensor self, Tensor other) -> Tensor", "logical_and", lower_logical<Bool::bit_and>,
      [](X x, X) -> double { return x[0] != 0 && x[1] != 0; }, [](N x, N) -> int64_t { return x[0] != 0 && x[1] != 0; },
      "And"));
  rows.push_back(logical(
      "aten::logical_or(Tensor self, Tensor other) -> Tensor", "logical_or", lower_logical<Bool::bit_or>,
      [](X x, X) -> double { return x[0] != 0 || x[1] != 0; }, [](N x, N) -> int64_t { return x[0] != 0 || x[1] != 0; },
      "Or"));
  rows.push_back(logical(
      "aten::logical_xor(Tensor self, Tensor other) -> Tensor", "logical_xor", lower_logical<Bool::bit_xor>,
      [](X x, X) -> double { return (x[0] != 0) != (x[1] != 0); },
      [](N x, N) -> int64_t { return (x[0] != 0) != (x[1] != 0); }, "Xor"));

  add_bits(rows,
           bits(
               "bitwise_and", Int::bit_and, Bool::bit_and, [](N x, N) { return x[0] & x[1]; }, "BitwiseAnd"),
           {"aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
            "aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"});
  add_bits(rows,
           bits(
               "bitwise_or", Int::bit_or, Bool::bit_or, [](N x, N) { return x[0] | x[1]; }, "BitwiseOr"),
           {"aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
            "aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"});
  add_bits(rows,
           bits(
               "bitwise_xor", Int::bit_xor, Bool::bit_xor, [](N x, N) { return x[0] ^ x[1]; }, "BitwiseXor"),
           {"aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
            "aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"});
  Formula left = shift<Int::shl>("bitwise_left_shift");
  left.imports = {{"BitShift", import_shift, 11}};
  add_bits(rows, left,
           {"aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
            "aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"});
  add_bits(rows, shift<Int::shr>("bitwise_right_shift"),
           {"aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
            "aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"});
  return declare(std::move(rows));
}

}  // namespace nbx::decls
