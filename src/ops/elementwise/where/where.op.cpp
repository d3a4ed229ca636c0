// SPDX-License-Identifier: Apache-2.0
// Selection by a mask: where in its four overloads, masked_fill.
#include <limits>

#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"
#include "shape/broadcast.h"

namespace nbx::decls {

using namespace pointwise;

namespace {

Fn select(DType type) {
  const Lane lane = lane_of(type);
  if (lane == Lane::b8) return fn(Bool::where);
  return lane == Lane::f32 || lane == Lane::f64 ? fn(Real::where, lane) : fn(Int::where, lane);
}

Metas infer_where(const Args& args) {
  const Formula& f = *find_formula(args.schema().full_name());
  const Meta& condition = args.tensor("condition");
  require(condition.dtype == DType::bool_ || condition.dtype == DType::uint8, Code::dtype,
          "where: condition is {}; it must be bool", name(condition.dtype));
  const Types types = types_of(f, args);
  Shape shape = condition.shape;
  for (const char* param : f.operands)
    if (std::holds_alternative<TensorRef>(args.value(param)))
      shape = broadcast(shape, args.tensor(param).shape, args.schema().full_name());
  return {Meta(types.result, shape)};
}
Val lower_where(const Lowering& l) {
  const Val condition = l.b.cast(l.in[static_cast<size_t>(l.args.operand("condition"))], DType::bool_);
  const DType type = l.types.result;
  return l.b.step(select(type), type, {condition, l.operand("self", type), l.operand("other", type)});
}
template <class T, class Values>
std::vector<Tensor> chosen(const std::vector<int64_t>& condition, const Shape& shape, const Values& x,
                           const Values& y) {
  std::vector<T> out(condition.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = condition[i] != 0 ? x[i] : y[i];
  return {Tensor::of<T>(shape, std::span<const T>(out))};
}
std::vector<Tensor> oracle_where(const Args& args, const std::vector<Tensor>& in) {
  const Meta out = infer_where(args).front();
  const auto is_tensor = [&](const char* p) { return std::holds_alternative<TensorRef>(args.value(p)); };
  const auto tensor = [&](const char* p) { return in[static_cast<size_t>(args.operand(p))]; };
  const std::vector<int64_t> condition = ints_as(tensor("condition"), out.shape);
  const size_t n = condition.size();
  if (!is_floating(out.dtype)) {
    const auto values = [&](const char* p) {
      return is_tensor(p) ? ints_as(tensor(p), out.shape) : std::vector<int64_t>(n, args.scalar(p).as_int());
    };
    return chosen<int64_t>(condition, out.shape, values("self"), values("other"));
  }
  const auto values = [&](const char* p) {
    return is_tensor(p) ? doubles_as(tensor(p), out.shape) : std::vector<double>(n, args.scalar(p).as_double());
  };
  return chosen<double>(condition, out.shape, values("self"), values("other"));
}

Tensor mask(const Shape& shape) { return rand_ints(shape, 0, 2, DType::bool_); }

Formula where_row(const char* schema, SamplesFn samples) {
  Formula row{schema, "where"};
  row.operands = {"self", "other"};
  row.infer = infer_where;
  row.lower = lower_where;
  row.oracle = oracle_where;
  row.round_numbers = true;
  row.tolerance = ulps(0.5, 0.5);  // a number is rounded to the dtype, nothing else happens
  row.samples = samples;
  return row;
}

Metas infer_masked_fill(const Args& args) {
  const Meta &x = args.tensor("self"), &m = args.tensor("mask");
  require(m.dtype == DType::bool_, Code::dtype, "masked_fill: mask is {}; it must be bool", name(m.dtype));
  if (std::holds_alternative<TensorRef>(args.value("value"))) {
    const Meta& value = args.tensor("value");
    require(value.rank() == 0, Code::shape, "masked_fill: value is {}; it must be a number or a 0-d tensor",
            to_string(value));
  }
  types_of(*find_formula(args.schema().full_name()), args);
  return {x.with(broadcast(x.shape, m.shape, "masked_fill"))};
}
Val lower_masked_fill(const Lowering& l) {
  const DType type = l.b.dtype(l.in[0]);
  return l.b.step(select(type), type,
                  {l.in[static_cast<size_t>(l.args.operand("mask"))], l.operand("value", type), l.in[0]});
}
std::vector<Tensor> oracle_masked_fill(const Args& args, const std::vector<Tensor>& in) {
  const Meta out = infer_masked_fill(args).front();
  const std::vector<int64_t> condition = ints_as(in[1], out.shape);
  const bool tensor = in.size() > 2;
  if (!is_floating(out.dtype))
    return chosen<int64_t>(
        condition, out.shape,
        std::vector<int64_t>(condition.size(), tensor ? in[2].item_int() : args.scalar("value").as_int()),
        ints_as(in[0], out.shape));
  return chosen<double>(condition, out.shape,
                        std::vector<double>(condition.size(), tensor ? in[2].item() : args.scalar("value").as_double()),
                        doubles_as(in[0], out.shape));
}
Formula fill_row(const char* schema, SamplesFn samples) {
  Formula row{schema, "masked_fill"};
  row.operands = {"self", "value"};
  row.infer = infer_masked_fill;
  row.lower = lower_masked_fill;
  row.oracle = oracle_masked_fill;
  row.round_numbers = true;
  row.tolerance = ulps(0.5, 0.5);
  row.samples = samples;
  return row;
}

void import_where(Importing& node) {
  node.output(0, node.emit("aten::where.self", {node.input(0), node.input(1), node.input(2)}));
}

}  // namespace

Decls where() {
  Formula self =
      where_row("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", [](SampleSink& s) {
        s.add({mask({}), randn({}), randn({}, 2)});
        s.add({mask({2, 1030}), randn({2, 1030}), randn({1030}, 2)});
        s.add({mask({0, 3}), randn({3}), randn({1}, 2)});
        s.add({mask({4, 1, 5}), strided(randn({3, 5})), randn({3, 1}, 2)});
        s.add({strided(mask({6, 7})), special_floats().narrow(0, 0, 7), randn({}, 2)});
        s.add_as_is({mask({9}), rand_ints({9}, -9, 9), rand_ints({9}, -9, 9, DType::int32)});
        s.add_as_is({mask({9}), rand_ints({9}, 0, 2, DType::bool_), rand_ints({}, -9, 9)});
        s.add_as_is({mask({9}), rand_ints({9}, 0, 2, DType::bool_), rand_ints({9}, 0, 2, DType::bool_, 3)});
        s.add_as_is({mask({9}), rand_ints({9}, -9, 9, DType::int8), randn({9})});
        s.add_as_is({mask({9}), randn({9}).to(DType::float16), randn({9}).to(DType::bfloat16)});
        s.error(Code::dtype, {"float32"}, {randn({3}), randn({3}), randn({3})});
        s.error(Code::shape, {"[3]", "[4]"}, {mask({3}), randn({4}), randn({3})});
      });
  self.imports = {{"Where", import_where, 9}};
  return declare({
      self,
      where_row("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
                [](SampleSink& s) {
                  s.add({mask({3, 40}), val(1.5), randn({40})});
                  s.add_as_is({mask({9}), val(2), rand_ints({9}, -9, 9, DType::int8)});
                }),
      where_row("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
                [](SampleSink& s) {
                  s.add({mask({3, 40}), randn({40}), val(-0.1)});
                  s.add_as_is({mask({9}), rand_ints({9}, -9, 9), val(0.5)});
                }),
      where_row("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
                [](SampleSink& s) {
                  s.add_as_is({mask({3, 40}), val(1.5), val(-0.1)});
                  s.add_as_is({mask({9}), val(3), val(4)});
                  s.add_as_is({mask({9}), val(true), val(false)});
                }),
      fill_row("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
               [](SampleSink& s) {
                 s.add({randn({3, 40}), mask({40}), val(-1e30)});
                 s.add({randn({1, 4}), mask({3, 1}), val(-std::numeric_limits<double>::infinity())});
                 s.add_as_is({rand_ints({9}, -9, 9), mask({9}), val(2)});
                 s.add_as_is({mask({9}), mask({9}), val(1)});
                 s.error(Code::dtype, {"mask", "int64"}, {randn({3}), rand_ints({3}, 0, 2), val(1.0)});
               }),
      fill_row("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
               [](SampleSink& s) {
                 s.add({randn({3, 40}), mask({40}), randn({}, 3)});
                 s.add_as_is({randn({9}).to(DType::float16), mask({9}), randn({}, 3)});
                 s.error(Code::shape, {"value"}, {randn({3}), mask({3}), randn({3})});
               }),
  });
}

}  // namespace nbx::decls
