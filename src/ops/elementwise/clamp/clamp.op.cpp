// SPDX-License-Identifier: Apache-2.0
// clamp, clamp_min and clamp_max, with bounds that are numbers or tensors. min > max gives max; a NaN anywhere gives
// NaN.
#include <algorithm>
#include <cmath>

#include "ops/elementwise/binary/oracles.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/samples.h"

namespace nbx::decls {

using namespace pointwise;
using namespace pointwise::oracles;

namespace {

bool has(const Args& args, const char* param) { return args.schema().find(param) >= 0 && args.has(param); }

void check_bounds(const Args& args) {
  require(has(args, "min") || has(args, "max"), Code::value, "clamp: At least one of 'min' or 'max' must not be None");
}
Val lower_clamp(const Lowering& l) {
  Val v = l.operand("self");
  const Lane lane = l.lane();
  const DType type = l.types.result;
  const auto bound = [&](const char* param, Real real, Int whole, Bool boolean, Real fixed, Int fixed_whole) {
    if (!has(l.args, param)) return;
    const auto known = l.number(param);
    if (known && lane != Lane::b8) {
      Params p;
      p.f[0] = known->as_double();
      p.i[0] = known->as_int();
      v = l.b.step(is_floating(l.types.compute) ? fn(fixed, lane) : fn(fixed_whole, lane), type, {v}, p);
      return;
    }
    const Fn f = lane == Lane::b8 ? fn(boolean) : is_floating(l.types.compute) ? fn(real, lane) : fn(whole, lane);
    v = l.b.step(f, type, {v, l.operand(param)});
  };
  bound("min", Real::maximum, Int::maximum, Bool::bit_or, Real::clamp_min, Int::clamp_min);
  bound("max", Real::minimum, Int::minimum, Bool::bit_and, Real::clamp_max, Int::clamp_max);
  return v;
}
std::vector<Tensor> oracle_clamp(const Args& args, const std::vector<Tensor>& in) {
  const Meta out = infer_pointwise(args).front();
  const auto is_tensor = [&](const char* p) { return std::holds_alternative<TensorRef>(args.value(p)); };
  const auto tensor = [&](const char* p) { return in[static_cast<size_t>(args.operand(p))]; };
  if (!is_floating(out.dtype)) {
    std::vector<int64_t> v = ints_as(tensor("self"), out.shape);
    const auto bound = [&](const char* p, bool low) {
      if (!has(args, p)) return;
      const std::vector<int64_t> b =
          is_tensor(p) ? ints_as(tensor(p), out.shape) : std::vector<int64_t>(v.size(), args.scalar(p).as_int());
      for (size_t i = 0; i < v.size(); ++i) v[i] = low ? std::max(v[i], b[i]) : std::min(v[i], b[i]);
    };
    bound("min", true);
    bound("max", false);
    return {Tensor::of<int64_t>(out.shape, std::span<const int64_t>(v))};
  }
  std::vector<double> v = doubles_as(tensor("self"), out.shape);
  const auto bound = [&](const char* p, bool low) {
    if (!has(args, p)) return;
    const std::vector<double> b =
        is_tensor(p) ? doubles_as(tensor(p), out.shape) : std::vector<double>(v.size(), args.scalar(p).as_double());
    for (size_t i = 0; i < v.size(); ++i) v[i] = low ? nan_max(v[i], b[i]) : nan_min(v[i], b[i]);
  };
  bound("min", true);
  bound("max", false);
  return {Tensor::of<double>(out.shape, std::span<const double>(v))};
}

Formula row_of(const char* schema, const char* rule, std::vector<const char*> operands, SamplesFn samples,
               std::vector<std::string> aliases = {}) {
  Formula row{schema, rule};
  row.operands = std::move(operands);
  row.lower = lower_clamp;
  row.oracle = oracle_clamp;
  row.check = check_bounds;
  row.tolerance = ulps(0.5, 0.5);  // a bound is rounded to the dtype
  row.samples = samples;
  row.aliases = std::move(aliases);
  return row;
}

// ONNX Clip: attributes before opset 11, tensors that may be absent after.
void import_clip(Importing& node) {
  if (node.opset() < 11) {
    node.output(0, node.emit("aten::clamp", {node.input(0), node.number("min", -3.4028234663852886e+38),
                                             node.number("max", 3.4028234663852886e+38)}));
    return;
  }
  const bool low = node.has_input(1), high = node.has_input(2);
  if (!low && !high) return node.output(0, node.emit("aten::alias", {node.input(0)}));
  const auto bound = [&](int i, bool present) -> Value { return present ? Value(node.input(i)) : Value(None{}); };
  node.output(0, node.emit("aten::clamp.Tensor", {node.input(0), bound(1, low), bound(2, high)}));
}

}  // namespace

Decls clamp() {
  Formula tensors = row_of(
      "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "clamp_min",
      {"self", "min", "max"},
      [](SampleSink& s) {
        s.add({randn({2, 1030}), Tensor::full({}, -0.5, DType::float32), Tensor::full({}, 0.75, DType::float32)});
        s.add({randn({3, 40}), randn({40}, 2), randn({3, 1}, 3)});
        s.add({strided(randn({6, 7})), none, randn({7}, 3)});
        s.add({special_floats(), randn({30}, 2), none});
        s.add_as_is({rand_ints({40}, -9, 9), rand_ints({40}, -5, 5, DType::int32, 3), none});
        s.add_as_is({rand_ints({40}, -9, 9), none, randn({40}, 3)});
        s.error(Code::value, {"min", "max"}, {randn({3}), none, none});
      },
      {"aten::clip.Tensor"});
  tensors.imports = {{"Clip", import_clip, 6}};
  return declare({
      row_of("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "clamp_min.Scalar",
             {"self", "min", "max"},
             [](SampleSink& s) {
               unary_samples(s, kReal, -4, 4, {val(-1), val(2)});
               s.add({randn({40}), val(0.75), val(-0.5)});
               s.add({randn({40}), none, val(0.1)});
               s.add_as_is({rand_ints({40}, -9, 9), val(-1.5)});
               s.error(Code::value, {"min", "max"}, {randn({3}), none, none});
             },
             {"aten::clip"}),
      tensors,
      row_of("aten::clamp_min(Tensor self, Scalar min) -> Tensor", "clamp_min.Scalar", {"self", "min"},
             [](SampleSink& s) {
               unary_samples(s, kReal, -4, 4, {val(1)});
               s.add({special_floats(), val(std::nan(""))});
             }),
      row_of("aten::clamp_max(Tensor self, Scalar max) -> Tensor", "clamp_max.Scalar", {"self", "max"},
             [](SampleSink& s) { unary_samples(s, kReal, -4, 4, {val(1)}); }),
      row_of("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", "clamp_min", {"self", "min"},
             [](SampleSink& s) { binary_samples(s, kReal); }),
      row_of("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", "clamp_max", {"self", "max"},
             [](SampleSink& s) { binary_samples(s, kReal); }),
  });
}

}  // namespace nbx::decls
