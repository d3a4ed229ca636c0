// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/passes/pass.h"
#include "ops/registry.h"

namespace nbx {
namespace {

TensorRef ref(int id) { return TensorRef{id}; }

std::string verify_error(const Graph& g) {
  try {
    verify(g, "the test");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::internal);
    return e.what();
  }
  return {};
}

Graph small() {
  Graph g;
  const int x = g.add_input("x", {DType::float32, std::vector<DimSpec>{{2, {}}, {3, {}}}});
  const TensorRef a = g.add("aten::relu", {ref(x)});
  const TensorRef b = g.add("aten::tanh", {a});
  g.outputs = {b.id};
  return g;
}

TEST(Verify, AcceptsASoundGraph) { EXPECT_EQ(verify_error(small()), ""); }

TEST(Verify, SeesANodeThatReadsWhatIsNotMadeYet) {
  Graph g = small();
  std::swap(g.nodes[0], g.nodes[1]);
  EXPECT_NE(verify_error(g).find("before it is made"), std::string::npos);
}

TEST(Verify, SeesATensorThatIsWrittenTwice) {
  Graph g = small();
  g.nodes[1].outputs = g.nodes[0].outputs;
  EXPECT_NE(verify_error(g).find("written twice"), std::string::npos);
}

TEST(Verify, SeesAnIdOutOfRange) {
  Graph g = small();
  g.nodes[0].values[0] = ref(99);
  EXPECT_NE(verify_error(g).find("99"), std::string::npos);
}

TEST(Verify, SeesAnOutputThatNothingMakes) {
  Graph g = small();
  g.outputs.push_back(g.add_tensor("loose"));
  EXPECT_NE(verify_error(g).find("not made"), std::string::npos);
}

TEST(Graph, ArgumentsAreBoundToTheSchema) {
  Graph g = small();
  EXPECT_THROW(g.add("aten::relu", {}), Error);
  EXPECT_THROW(g.add("aten::relu", {std::string("x")}), Error);
  EXPECT_THROW(g.add("aten::no_such_op", {ref(0)}), Error);
}

TEST(DropDead, KeepsInputsAndWhatOutputsNeed) {
  Graph g = small();
  g.add("aten::exp", {ref(0)});
  g.add_constant(Tensor::zeros({4}, DType::float32), "unused");
  EXPECT_TRUE(drop_dead(g));
  EXPECT_EQ(verify_error(g), "");
  EXPECT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.tensors.size(), 3u);
  EXPECT_EQ(g.inputs.size(), 1u);
  EXPECT_FALSE(drop_dead(g));
}

TEST(FoldConstants, ComputesWhatDependsOnConstantsAlone) {
  Graph g;
  const int x = g.add_input("x", {});
  const int two = g.add_constant(Tensor::full({3}, 2, DType::float32));
  const TensorRef four = g.add("aten::mul.Tensor", {ref(two), ref(two)});
  const TensorRef y = g.add("aten::add.Tensor", {ref(x), four});
  g.outputs = {y.id};
  EXPECT_TRUE(fold_constants(g));
  EXPECT_EQ(verify_error(g), "");
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.tensors[static_cast<size_t>(four.id)].constant.to_doubles(), (std::vector<double>{4, 4, 4}));
}

TEST(FoldConstants, LeavesAResultThatIsMuchLargerThanItsOperands) {
  Graph g;
  const TensorRef big = g.add("aten::zeros", {Ints{1024, 1024}});
  g.outputs = {big.id};
  EXPECT_FALSE(fold_constants(g));
}

TEST(FoldConstants, LeavesANodeThatFailsToTheRun) {
  Graph g;
  const int a = g.add_constant(Tensor::zeros({2, 3}, DType::float32)),
            b = g.add_constant(Tensor::zeros({2, 3}, DType::float32));
  const TensorRef y = g.add("aten::mm", {ref(a), ref(b)});
  g.outputs = {y.id};
  EXPECT_FALSE(fold_constants(g));
  EXPECT_EQ(g.nodes.size(), 1u);
}

TEST(LoadPasses, ConstantsThatABodyCapturesAreKnownInside) {
  Graph g;
  const int flag = g.add_input("flag", {});
  const int x = g.add_input("x", {});
  const int w = g.add_constant(Tensor::full({2, 3}, 2, DType::float32), "w", true);
  auto body = std::make_shared<Graph>();
  const int bx = body->add_input("x", {}), bw = body->add_input("w", {});
  const TensorRef doubled = body->add("aten::mul.Tensor", {ref(bw), 2.0});
  body->outputs = {body->add("aten::add.Tensor", {ref(bx), doubled}).id};
  const auto out = g.add_node(require_op("custom::if"), {ref(flag), TensorRefs{ref(x), ref(w)}}, {}, 1);
  g.nodes.back().bodies = {body, body};
  g.outputs = {out[0]};
  run_load_passes(g);
  EXPECT_EQ(verify_error(g), "");
  const Graph& inside = *g.nodes[0].bodies[0];
  EXPECT_EQ(inside.nodes.size(), 1u);
  EXPECT_EQ(inside.inputs.size(), 2u);
}

Graph conv_and_norm() {
  Graph g;
  const int x = g.add_input("x", {});
  const int w = g.add_constant(Tensor::full({2, 1, 1, 1}, 3, DType::float32), "w", true);
  const TensorRef c = g.add("custom::conv", {ref(x), ref(w)});
  const auto stat = [&](double a, double b) {
    return ref(g.add_constant(Tensor::of<float>({2}, {static_cast<float>(a), static_cast<float>(b)})));
  };
  const TensorRef n =
      g.add("aten::batch_norm", {c, stat(2, 1), stat(0.5, 0), stat(1, -1), stat(4, 1), false, 0.1, 0.0, false});
  g.outputs = {n.id};
  return g;
}

TEST(FoldBatchNorm, GoesIntoTheWeightsAndTheBias) {
  Graph g = conv_and_norm();
  EXPECT_TRUE(fold_batch_norm(g));
  EXPECT_EQ(verify_error(g), "");
  ASSERT_EQ(g.nodes.size(), 1u);
  const auto value = [&](const char* param) {
    const int i = g.nodes[0].op->parsed.find(param);
    return g.tensors[static_cast<size_t>(std::get<TensorRef>(g.nodes[0].values[static_cast<size_t>(i)]).id)]
        .constant.to_doubles();
  };
  EXPECT_EQ(value("weight"), (std::vector<double>{3, 3}));   // 3 * 2 / sqrt(4), 3 * 1 / sqrt(1)
  EXPECT_EQ(value("bias"), (std::vector<double>{-0.5, 1}));  // 0.5 - 1 * 1, 0 + 1 * 1
}

TEST(FoldBatchNorm, TakesProductsAndSumsWithConstants) {
  Graph g;
  const int x = g.add_input("x", {});
  const int w = g.add_constant(Tensor::full({2, 1, 1, 1}, 3, DType::float32), "w", true);
  const TensorRef c = g.add("custom::conv", {ref(x), ref(w)});
  const TensorRef m = g.add("aten::mul.Tensor", {ref(g.add_constant(Tensor::of<float>({1}, {2.0f}))), c});
  const TensorRef s =
      g.add("aten::add.Tensor", {m, ref(g.add_constant(Tensor::of<float>({2}, {5.0f, 6.0f}).reshape({2, 1, 1})))});
  g.outputs = {s.id};
  EXPECT_TRUE(fold_batch_norm(g));
  EXPECT_EQ(verify_error(g), "");
  ASSERT_EQ(g.nodes.size(), 1u);
  const auto value = [&](const char* param) {
    const int i = g.nodes[0].op->parsed.find(param);
    return g.tensors[static_cast<size_t>(std::get<TensorRef>(g.nodes[0].values[static_cast<size_t>(i)]).id)]
        .constant.to_doubles();
  };
  EXPECT_EQ(value("weight"), (std::vector<double>{6, 6}));
  EXPECT_EQ(value("bias"), (std::vector<double>{5, 6}));
}

TEST(FoldBatchNorm, LeavesAConvolutionThatOthersReadToo) {
  Graph g = conv_and_norm();
  g.outputs.push_back(g.nodes[0].outputs[0]);
  EXPECT_FALSE(fold_batch_norm(g));
  EXPECT_EQ(g.nodes.size(), 2u);
}

}  // namespace
}  // namespace nbx
