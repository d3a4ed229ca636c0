// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backend/cpu/targets.h"
#include "ops/eager.h"
#include "ops/elementwise/activation.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/fuse.h"

namespace nbx {
namespace {

// A random chain, run call by call and fused.
class Chains {
 public:
  explicit Chains(uint64_t seed) : random_(seed) {}

  // Inputs of several dtypes and layouts that broadcast to `shape`; then calls of the ops below on what exists.
  void build(const Shape& shape, int length) {
    const DType types[] = {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32, DType::int64};
    for (int i = 0; i < 4; ++i) {
      Shape s = shape;
      if (i > 0)
        for (int64_t& e : s)
          if (pick(3) == 0) e = 1;
      if (i == 3) s.erase(s.begin());
      const DType type = types[pick(6)];
      Tensor t =
          is_floating(type) ? rand_uniform(s, -3, 3, pick(1000)).to(type) : rand_ints(s, -9, 9, type, pick(1000));
      tensors.push_back(pick(3) == 0 ? strided(t) : t);
    }
    static const char* unary[] = {"aten::relu", "aten::sigmoid", "aten::tanh",      "aten::neg",
                                  "aten::exp",  "aten::erf",     "aten::square",    "aten::isnan",
                                  "aten::sin",  "aten::abs",     "aten::hardswish", "aten::floor"};
    static const char* binary[] = {"aten::add.Tensor", "aten::mul.Tensor", "aten::sub.Tensor", "aten::maximum",
                                   "aten::gt.Tensor",  "aten::div.Tensor", "aten::logical_or"};
    static const DType casts[] = {DType::float16, DType::bfloat16, DType::float32, DType::int16, DType::float8_e5m2};
    while (static_cast<int>(calls.size()) < length) {
      const int a = pick(static_cast<int>(tensors.size())), b = pick(static_cast<int>(tensors.size()));
      // Every call keeps the whole shape by starting from the first input or an earlier result.
      const int whole = calls.empty() ? 0 : 4 + pick(static_cast<int>(calls.size()));
      SampleArgs args;
      std::vector<int> ids;
      const char* op = nullptr;
      switch (pick(5)) {
        case 0:
          op = unary[pick(12)], args = {tensors[static_cast<size_t>(whole)]}, ids = {whole};
          break;
        case 1:
          op = binary[pick(7)], args = {tensors[static_cast<size_t>(whole)], tensors[static_cast<size_t>(a)]},
          ids = {whole, a};
          break;
        case 2:
          op = "aten::mul.Tensor", args = {tensors[static_cast<size_t>(whole)], val(0.3)}, ids = {whole};
          break;
        case 3:
          op = "aten::to.dtype", args = {tensors[static_cast<size_t>(whole)], val(casts[pick(5)])}, ids = {whole};
          break;
        default:
          op = "aten::where.self", ids = {a, whole, b};
          args = {tensors[static_cast<size_t>(a)], tensors[static_cast<size_t>(whole)],
                  tensors[static_cast<size_t>(b)]};
      }
      try {
        Call call = make_call(require_op(op), args);
        std::vector<Tensor> out = run_call(call);
        calls.push_back(call);
        sources.push_back(ids);
        tensors.push_back(out[0]);
      } catch (const Error&) {
        // A dtype this op does not take: another draw.
      }
    }
  }
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  std::vector<Tensor> tensors;  // four inputs, then results
  std::vector<Call> calls;
  std::vector<std::vector<int>> sources;

 private:
  std::mt19937_64 random_;
};

TEST(Fuse, ARandomChainGivesTheBitsOfItsCallsOnEveryTargetAndForAnyNumberOfThreads) {
  Team three(3);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (const std::string& target : cpu_targets()) {
      set_cpu_target(target);
      Chains c(seed);
      const Shape shapes[] = {{3, 5, 7}, {2, 700}, {1, 3}, {5, 1, 64}, {30, 2100}};
      c.build(shapes[seed % 5], 3 + static_cast<int>(seed % 12));
      std::vector<Args> args;
      for (const Call& call : c.calls) args.push_back(known_args(call));
      std::vector<ChainStep> steps;
      for (size_t i = 0; i < c.calls.size(); ++i) {
        steps.push_back({c.calls[i].op, &args[i], c.sources[i], static_cast<int>(4 + i)});
      }
      const int last = static_cast<int>(c.tensors.size()) - 1, middle = 4 + static_cast<int>(c.calls.size()) / 2;
      const std::vector<int> results = {last, middle};
      const auto fused = fuse(steps, results);
      ASSERT_TRUE(fused.has_value()) << "seed " << seed;
      std::vector<Tensor> inputs;
      for (const int id : fused->inputs) inputs.push_back(c.tensors[static_cast<size_t>(id)]);
      std::vector<Tensor> got;
      try {
        got = call("custom::pointwise", {inputs, Value(fused->program)}, {}, {&three});
      } catch (const Error& e) {
        FAIL() << "seed " << seed << ": " << e.what() << "\n" << fused->program;
      }
      for (size_t i = 0; i < 2; ++i)
        EXPECT_TRUE(same_bits(got[i], c.tensors[static_cast<size_t>(results[i])].contiguous()))
            << "seed " << seed << " on " << target << ", result " << i << ": " << fused->program;
    }
    set_cpu_target("");
  }
}

TEST(Fuse, AProgramPrintsAsItIsParsed) {
  const std::string text =
      "v0 = aten::mul.Tensor(%0, 0.5); v1 = aten::add.Tensor(v0, %1, alpha=2); v2 = aten::gelu(v1, "
      "approximate='tanh'); "
      "v3 = aten::to.dtype(v2, bfloat16); v4 = aten::clamp(v3, max=inf); return v4, v1";
  EXPECT_EQ(pointwise::print_chain(pointwise::parse_chain(text, 2)), text);
}

TEST(Fuse, AMalformedProgramIsAnErrorThatNamesTheColumn) {
  for (const char* text :
       {"", "return", "return v0", "v0 = aten::relu(%0)", "v0 = aten::relu(%0; return v0",
        "v0 = aten::relu(%7); return v0", "v0 = aten::relu(v0); return v0", "v1 = aten::relu(%0); return v1",
        "v0 = aten::relu(%0); return v0 and more", "v0 = aten::gelu(%0, approximate='none); return v0",
        "v0 = aten::relu(%99999999999999999999); return v0"}) {
    try {
      pointwise::parse_chain(text, 2);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::value) << text << ": " << e.what();
      EXPECT_NE(std::string(e.what()).find("column"), std::string::npos) << e.what();
    }
  }
}

TEST(Fuse, AChainOfAThousandCallsIsOnePass) {
  Tensor x = randn({3, 1000});
  std::string program = "v0 = aten::relu(%0); ";
  Tensor wanted = call("aten::relu", {x})[0];
  for (int i = 1; i < 1000; ++i) {
    program += "v" + std::to_string(i) + " = aten::sub.Tensor(v" + std::to_string(i - 1) + ", 0." +
               std::to_string(100 + i) + "); ";
    wanted = call("aten::sub.Tensor", {wanted, val((100 + i) / std::pow(10.0, i < 900 ? 3 : 4))})[0];
  }
  const Tensor got = call("custom::pointwise", {std::vector<Tensor>{x}, Value(program + "return v999")})[0];
  EXPECT_TRUE(same_bits(got, wanted));
}

TEST(Fuse, RefusesAComplexOperandAndAnOpThatIsNotPointwise) {
  const Call glu = make_call(require_op("aten::glu"), {randn({4})});
  EXPECT_FALSE(can_join(*glu.op, known_args(glu)));
  const Call relu = make_call(require_op("aten::relu"), {randn({4})});
  EXPECT_TRUE(can_join(*relu.op, known_args(relu)));
}

TEST(Pointwise, WritingOverAnOperandGivesTheSameBits) {
  for (const char* name : {"aten::relu", "aten::gelu", "aten::sin", "aten::neg", "aten::mish", "aten::add.Tensor"}) {
    const OpDecl& op = require_op(name);
    const Tensor x = rand_uniform({3, 701}, -200, 200), y = randn({701});
    SampleArgs operands = {x};
    if (op.parsed.params.size() > 1 && op.parsed.params[1].type == ParamType::tensor) operands.push_back(y);
    const Call c = make_call(op, operands);
    const Tensor wanted = run_call(c)[0];
    const Tensor room = x.clone();
    const Args args = known_args(c);
    const Bound bound = op.kernels[0].bind(args, op.infer(args));
    const void* in[2] = {room.raw(), y.raw()};
    void* out[1] = {room.raw_mutable()};
    Team alone(1);
    bound(nbx::Run{in, out, nullptr, alone});
    EXPECT_TRUE(same_bits(room, wanted)) << name;
  }
}

TEST(Pointwise, AnElementDoesNotDependOnItsNeighbours) {
  // Where a vector form has a slow path for some lanes, the others must not notice.
  const Tensor odd = special_floats();
  for (const char* name : {"aten::sin", "aten::cos", "aten::exp", "aten::log", "aten::log1p", "aten::erf", "aten::tanh",
                           "aten::gelu", "aten::softplus", "aten::mish", "aten::expm1", "aten::exp2"}) {
    for (const std::string& target : cpu_targets()) {
      set_cpu_target(target);
      const Tensor x = rand_uniform({64}, -5, 5);
      const Tensor alone = call(name, {x})[0];
      Tensor mixed = x.clone();
      for (int64_t i = 0; i < 64; i += 3) mixed.mutable_data<float>()[i] = odd.data<float>()[i % 30];
      const Tensor got = call(name, {mixed})[0];
      for (int64_t i = 0; i < 64; ++i)
        if (i % 3 != 0) {
          const float a = got.data<float>()[i], b = alone.data<float>()[i];
          ASSERT_TRUE(a == b || (a != a && b != b))
              << name << " on " << target << ", element " << i << ": " << a << ", " << b;
        }
    }
    set_cpu_target("");
  }
}

TEST(Activation, IsFoundWithItsNumbers) {
  const auto spec = [](const char* op, SampleArgs args, SampleKeywords keywords = {}) {
    args.insert(args.begin(), randn({3}));
    const Call c = make_call(require_op(op), args, keywords);
    return as_activation(*c.op, known_args(c));
  };
  EXPECT_EQ(spec("aten::relu", {}), (ActivationSpec{ActivationKind::relu}));
  EXPECT_EQ(spec("aten::clamp", {val(-1), val(2)}), (ActivationSpec{ActivationKind::clamp, -1, 2}));
  EXPECT_EQ(spec("aten::relu6", {}), (ActivationSpec{ActivationKind::clamp, 0, 6}));
  EXPECT_EQ(spec("aten::clamp.Tensor", {Tensor::full({}, 0, DType::float32), Tensor::full({}, 6, DType::float32)}),
            (ActivationSpec{ActivationKind::clamp, 0, 6}));
  EXPECT_EQ(spec("aten::gelu", {}, {{"approximate", val("tanh")}}), (ActivationSpec{ActivationKind::gelu_tanh}));
  EXPECT_EQ(spec("aten::leaky_relu", {val(0.25)}), (ActivationSpec{ActivationKind::leaky_relu, 0.25f}));
  EXPECT_EQ(spec("aten::exp", {}), std::nullopt);
  EXPECT_EQ(spec("aten::clamp.Tensor", {randn({3}), none}), std::nullopt);
}

}  // namespace
}  // namespace nbx
