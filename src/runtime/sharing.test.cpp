// SPDX-License-Identifier: Apache-2.0
// One model under many sessions, threads and shapes, and what a session may take.
#include <gtest/gtest.h>
#include <nbx/session.h>

#include <algorithm>
#include <random>
#include <thread>

#include "graph/graph.h"
#include "memory/process.h"
#include "ops/eager.h"
#include "ops/registry.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NBX_KEEPS_FREED_MEMORY 1
#elif defined(__has_feature)
#define NBX_KEEPS_FREED_MEMORY (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define NBX_KEEPS_FREED_MEMORY 0
#endif

namespace nbx {
namespace {

// conv → relu → mean → linear over a free batch and picture size.
std::shared_ptr<const Model> small_net() {
  Graph g;
  g.name = "small_net";
  TypeSpec type;
  type.dtype = DType::float32;
  type.dims.emplace();
  for (const int64_t extent : {-1, 3, -1, -1}) type.dims->push_back({extent, {}});
  const int x = g.add_input("x", type);
  const int w1 = g.add_constant(randn({8, 3, 3, 3}, 1), "w1", true);
  const int w2 = g.add_constant(randn({5, 8}, 3), "w2", true);
  const TensorRef c = g.add("custom::conv", {TensorRef{x}, TensorRef{w1}}, {{"pads", Ints{1, 1, 1, 1}}});
  const TensorRef m = g.add("aten::mean.dim", {g.add("aten::relu", {c}), Ints{2, 3}});
  g.outputs = {g.add("aten::linear", {m, TensorRef{w2}}).id};
  g.tensors[static_cast<size_t>(g.outputs[0])].name = "y";
  return Model::from_graph(std::move(g));
}

TEST(Sharing, SessionsOfOneModelRunAtTheSameTimeAndGiveTheSameBits) {
  const auto model = small_net();
  std::vector<Tensor> inputs, wanted;
  {
    Session alone(model, {.threads = 1});
    for (int i = 0; i < 6; ++i) {
      inputs.push_back(randn({1 + i % 3, 3, 7 + i, 9}, static_cast<uint64_t>(i)));
      wanted.push_back(alone.run({{"x", inputs.back()}})[0]);
    }
  }
  Session shared(model, {.threads = 2});
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      Session own(model, {.threads = 1 + static_cast<int>(t % 2)});
      Session& session = t < 2 ? shared : own;
      for (int turn = 0; turn < 20; ++turn) {
        const size_t i = (t + static_cast<size_t>(turn)) % inputs.size();
        wrong[t] += !same_bits(session.run({{"x", inputs[i]}})[0], wanted[i]);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_EQ(shared.stats().runs, 40);
}

TEST(Sharing, AThousandShapesStayWithinTheProgramCacheAndTheLargestPlan) {
  const auto model = small_net();
  Session session(model, {.threads = 1, .max_programs = 8});
  Session largest(model, {.threads = 1});
  largest.run({{"x", Tensor::zeros({4, 3, 40, 40}, DType::float32)}});
  std::mt19937 draw(7);
  const auto upto = [&](int n) { return static_cast<int64_t>(draw() % static_cast<unsigned>(n)) + 1; };
  int64_t settled = 0;
  for (int i = 0; i < 1000; ++i) {
    session.run({{"x", Tensor::zeros({upto(4), 3, upto(40), upto(40)}, DType::float32)}});
    if (i == 200) settled = resident_bytes().value_or(0);
  }
  EXPECT_EQ(session.stats().programs, 8);
  EXPECT_EQ(session.stats().runs, 1000);
  EXPECT_LE(session.stats().arena_bytes, largest.stats().arena_bytes);
  // 800 programs that were kept would be several megabytes; a sanitizer keeps freed memory.
  const int64_t grown = resident_bytes().value_or(0) - settled;
  EXPECT_TRUE(NBX_KEEPS_FREED_MEMORY || grown < int64_t{2} << 20) << grown;
}

std::string refusal(Session& session, const Tensor& x) {
  try {
    session.run({{"x", x}});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::budget) << e.what();
    return e.what();
  }
  return "not refused";
}

TEST(Sharing, APlanOverTheLimitIsRefusedWithTheFiguresAndSmallerInputsStillRun) {
  const auto model = small_net();
  const Tensor large = randn({2, 3, 64, 64}), small = randn({1, 3, 8, 8});
  Session free(model, {.threads = 1});
  free.run({{"x", large}});
  const int64_t needed = free.stats().arena_bytes;
  Session tight(model, {.threads = 1, .memory_limit = needed - 1});
  const std::string text = refusal(tight, large);
  EXPECT_NE(text.find(std::to_string(needed)), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(needed - 1)), std::string::npos) << text;
  EXPECT_TRUE(same_bits(tight.run({{"x", small}})[0], free.run({{"x", small}})[0]));
  Session enough(model, {.threads = 1, .memory_limit = needed});
  EXPECT_TRUE(same_bits(enough.run({{"x", large}})[0], free.run({{"x", large}})[0]));
  EXPECT_THROW(Session(model, {.memory_limit = -1}), Error);
}

TEST(Sharing, ALoopWhoseStateDoublesIsStoppedAtTheLimit) {
  Graph body;
  body.name = "body";
  TypeSpec number;
  number.dtype = DType::int64;
  body.add_input("i", number);
  const int go = body.add_input("go", {});
  const int state = body.add_input("state", {});
  const TensorRef twice = body.add("aten::cat", {TensorRefs{TensorRef{state}, TensorRef{state}}, int64_t{0}});
  body.outputs = {go, twice.id};
  Graph g;
  g.name = "doubling";
  const int x = g.add_input("x", {});
  const int n = g.add_constant(Tensor::scalar<int64_t>(60), "n");
  const auto out = g.add_node(require_op("custom::loop"),
                              {TensorRef{n}, None{}, TensorRefs{TensorRef{x}}, TensorRefs{}}, {}, 1, "double");
  g.nodes.back().bodies = {std::make_shared<const Graph>(body)};
  g.outputs = {out[0]};
  Session session(Model::from_graph(std::move(g)), {.threads = 1, .memory_limit = 1 << 20});
  const std::string text = refusal(session, Tensor::zeros({16}, DType::float32));
  EXPECT_NE(text.find("double"), std::string::npos) << text;
  EXPECT_NE(text.find("1048576"), std::string::npos) << text;
}

}  // namespace
}  // namespace nbx
