// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "ops/registry.h"
#include "plan/lowered.h"
#include "plan/symbols.h"

namespace nbx {
namespace {

TypeSpec float32_of(std::initializer_list<int64_t> extents) {
  TypeSpec t;
  t.dtype = DType::float32;
  t.dims.emplace();
  for (const int64_t e : extents) t.dims->push_back({e, {}});
  return t;
}
TensorRef ref(int id) { return TensorRef{id}; }

Stage lowered(const Graph& g, const Metas& inputs, bool fuse = true) {
  PathState path = begin_path(g, inputs);
  LowerOptions options;
  options.fuse = fuse;
  return lower_stage(path, options);
}

TEST(Lower, ViewsLaunchNothing) {
  Graph g;
  const int x = g.add_input("x", float32_of({2, 3, 4}));
  const TensorRef a = g.add("aten::transpose.int", {ref(x), int64_t{0}, int64_t{2}});
  const TensorRef b = g.add("aten::slice.Tensor", {a, int64_t{0}, int64_t{1}, int64_t{3}});
  const TensorRef c = g.add("aten::relu", {b});
  g.outputs = {c.id};
  const Stage stage = lowered(g, {Meta(DType::float32, {2, 3, 4})});
  ASSERT_EQ(stage.steps.size(), 1u);
  EXPECT_EQ(stage.steps[0].op->parsed.name, "relu");
}

TEST(Lower, AChainOfAnyLengthIsOneStep) {
  Graph g;
  const int x = g.add_input("x", float32_of({8, 16}));
  const int bias = g.add_input("bias", float32_of({16}));
  TensorRef t = ref(x);
  for (int i = 0; i < 12; ++i) {
    t = g.add("aten::add.Tensor", {t, ref(bias)});
    t = g.add("aten::tanh", {t});
  }
  g.outputs = {t.id};
  const Metas inputs{Meta(DType::float32, {8, 16}), Meta(DType::float32, {16})};
  EXPECT_EQ(lowered(g, inputs).steps.size(), 1u);
  EXPECT_EQ(lowered(g, inputs, false).steps.size(), 24u);
}

TEST(Lower, AResultReadOutsideAChainIsStillMade) {
  Graph g;
  const int x = g.add_input("x", float32_of({8, 16}));
  const TensorRef a = g.add("aten::tanh", {ref(x)});
  const TensorRef s = g.add("aten::sum.dim_IntList", {a, Ints{1}});
  const TensorRef b = g.add("aten::exp", {a});
  g.outputs = {b.id, s.id, a.id};
  const Stage stage = lowered(g, {Meta(DType::float32, {8, 16})});
  EXPECT_EQ(stage.outputs.size(), 3u);
  EXPECT_LE(stage.steps.size(), 3u);
}

TEST(Lower, BiasAndActivationMoveIntoTheProduct) {
  Graph g;
  const int x = g.add_input("x", float32_of({4, 8}));
  const int w = g.add_constant(Tensor::full({8, 16}, 0.5, DType::float32), "w", true);
  const int b = g.add_constant(Tensor::full({16}, 0.25, DType::float32), "b", true);
  const TensorRef p = g.add("aten::matmul", {ref(x), ref(w)});
  const TensorRef q = g.add("aten::add.Tensor", {p, ref(b)});
  const TensorRef y = g.add("aten::relu", {q});
  g.outputs = {y.id};
  const Stage stage = lowered(g, {Meta(DType::float32, {4, 8})});
  ASSERT_EQ(stage.steps.size(), 1u);
  EXPECT_EQ(stage.steps[0].op->parsed.full_name(), "custom::matmul_fused");
  EXPECT_EQ(stage.steps[0].args.text("activation"), "relu");
}

// What the graph makes of a product: the one call that stands for it, or the number of calls.
std::string after_product(const std::function<TensorRef(Graph&, TensorRef)>& spell) {
  Graph g;
  const int x = g.add_input("x", float32_of({4, 8}));
  const int w = g.add_constant(Tensor::full({8, 16}, 0.5, DType::float32), "w", true);
  g.outputs = {spell(g, g.add("aten::matmul", {ref(x), ref(w)})).id};
  const Stage stage = lowered(g, {Meta(DType::float32, {4, 8})});
  return stage.steps.size() == 1 && stage.steps[0].args.schema().find("activation") >= 0
             ? stage.steps[0].args.text("activation")
             : std::to_string(stage.steps.size());
}

TEST(Lower, ActivationsThatAreSpelledOutMoveIntoTheProduct) {
  const auto number = [](Graph& g, double v) { return ref(g.add_constant(Tensor::full({}, v, DType::float32))); };
  const auto hardswish = [&](double three) {
    return [&, three](Graph& g, TensorRef x) {
      const TensorRef gate = g.add("aten::clamp", {g.add("aten::add.Tensor", {x, number(g, three)}), 0.0, 6.0});
      return g.add("custom::onnx_div", {g.add("aten::mul.Tensor", {x, gate}), number(g, 6)});
    };
  };
  EXPECT_EQ(after_product(hardswish(3)), "hardswish");
  EXPECT_EQ(after_product(hardswish(2.5)), "2");
  EXPECT_EQ(after_product([&](Graph& g, TensorRef x) {
              const TensorRef e = g.add("aten::erf", {g.add("custom::onnx_div", {x, number(g, 1.4142135)})});
              const TensorRef one = g.add("aten::add.Tensor", {e, number(g, 1)});
              return g.add("aten::mul.Tensor", {g.add("aten::mul.Tensor", {x, one}), number(g, 0.5)});
            }),
            "gelu");
  EXPECT_EQ(
      after_product([&](Graph& g, TensorRef x) {
        const TensorRef cube = g.add("aten::mul.Tensor", {x, g.add("aten::mul.Tensor", {x, x})});
        const TensorRef sum = g.add("aten::add.Tensor", {x, g.add("aten::mul.Tensor", {number(g, 0.044715), cube})});
        const TensorRef t = g.add("aten::tanh", {g.add("aten::mul.Tensor", {sum, number(g, 0.7978846)})});
        const TensorRef half =
            g.add("aten::mul.Tensor", {g.add("aten::add.Tensor", {t, number(g, 1)}), number(g, 0.5)});
        return g.add("aten::mul.Tensor", {x, half});
      }),
      "gelu_tanh");
  EXPECT_EQ(after_product([&](Graph& g, TensorRef x) {
              return g.add("aten::mul.Tensor", {x, g.add("aten::sigmoid", {x})});
            }),
            "silu");
}

TEST(Lower, ShapeArithmeticIsFoldedAway) {
  Graph g;
  const int x = g.add_input("x", float32_of({-1, 6}));
  const TensorRef shape = g.add("aten::_shape_as_tensor", {ref(x)});
  const TensorRef first = g.add("aten::slice.Tensor", {shape, int64_t{0}, int64_t{0}, int64_t{1}});
  const int rest = g.add_constant(Tensor::of<int64_t>({2}, {2, 3}));
  const TensorRef target = g.add("aten::cat", {TensorRefs{first, ref(rest)}});
  const TensorRef y = g.add("aten::reshape", {ref(x), FromTensor{target}});
  const TensorRef z = g.add("aten::relu", {y});
  g.outputs = {z.id};
  const Stage stage = lowered(g, {Meta(DType::float32, {5, 6})});
  EXPECT_TRUE(stage.finished);
  ASSERT_EQ(stage.steps.size(), 1u);
}

TEST(Lower, WhatNeedsAValueWaitsForIt) {
  Graph g;
  const int x = g.add_input("x", float32_of({6}));
  TypeSpec ints;
  ints.dtype = DType::int64;
  const int n = g.add_input("n", ints);
  const TensorRef y = g.add("aten::reshape", {ref(x), FromTensor{ref(n)}});
  const TensorRef z = g.add("aten::relu", {y});
  g.outputs = {z.id};
  PathState path = begin_path(g, {Meta(DType::float32, {6}), Meta(DType::int64, {2})});
  LowerOptions options;
  const Stage first = lower_stage(path, options);
  EXPECT_FALSE(first.finished);
  ASSERT_EQ(first.wants.size(), 1u);
  resume_path(path, first, {Tensor::of<int64_t>({2}, {2, 3})}, {});
  const Stage second = lower_stage(path, options);
  EXPECT_TRUE(second.finished);
  ASSERT_EQ(second.outputs.size(), 1u);
  EXPECT_EQ(path.cells[static_cast<size_t>(second.outputs[0].second)].meta.shape, (Shape{2, 3}));
}

TEST(Lower, AnErrorNamesTheNode) {
  Graph g;
  const int x = g.add_input("x", float32_of({2, 3}));
  const int w = g.add_constant(Tensor::zeros({4, 5}, DType::float32));
  const auto out = g.add_node(*find_op("aten::mm"), {ref(x), ref(w)}, {}, -1, "layer7.proj");
  g.outputs = {out[0]};
  try {
    lowered(g, {Meta(DType::float32, {2, 3})});
    FAIL() << "must be refused";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::shape);
    EXPECT_NE(std::string(e.what()).find("layer7.proj"), std::string::npos) << e.what();
  }
}

Graph with_symbol(int64_t min, int64_t max) {
  Graph g;
  const int x = g.add_input("x", float32_of({-1, 4}));
  Symbol s;
  s.source = Symbol::Source::input_dim;
  s.input = 0;
  s.index = 0;
  s.min = min;
  s.max = max;
  s.name = "batch";
  g.symbols["s0"] = s;
  auto batch = std::make_shared<SymExpr>();
  batch->kind = SymExpr::Kind::symbol;
  batch->symbol = "s0";
  auto two = std::make_shared<SymExpr>();
  two->value = 2;
  auto doubled = std::make_shared<SymExpr>();
  doubled->kind = SymExpr::Kind::mul;
  doubled->args = {batch, two};
  const TensorRef y = g.add("aten::reshape", {ref(x), Syms{doubled, two}});
  g.outputs = {y.id};
  return g;
}

TEST(Symbols, TakeTheirValueFromTheInput) {
  const Graph g = with_symbol(1, 100);
  PathState path = begin_path(g, {Meta(DType::float32, {3, 4})});
  const Stage stage = lower_stage(path, {});
  ASSERT_EQ(stage.outputs.size(), 1u);
  EXPECT_EQ(path.cells[static_cast<size_t>(stage.outputs[0].second)].meta.shape, (Shape{6, 2}));
}

TEST(Symbols, OutsideTheirBoundsAreRefusedByName) {
  const Graph g = with_symbol(1, 2);
  try {
    begin_path(g, {Meta(DType::float32, {3, 4})});
    FAIL() << "must be refused";
  } catch (const Error& e) {
    for (const char* part : {"batch", "3", "2", "'x'"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace nbx
