// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/session.h>

#include <atomic>
#include <thread>

#include "backend/null/device.h"
#include "graph/graph.h"
#include "ops/eager.h"
#include "runtime/record.h"
#include "support/counted_new.h"

namespace nbx {
namespace {

TensorRef ref(int id) { return TensorRef{id}; }
TypeSpec type(DType dtype, std::initializer_list<int64_t> extents) {
  TypeSpec t;
  t.dtype = dtype;
  t.dims.emplace();
  for (const int64_t e : extents) t.dims->push_back({e, {}});
  return t;
}

// conv → relu → pool → linear → softmax over a free batch and picture size.
Graph small_net() {
  Graph g;
  g.name = "small_net";
  const int x = g.add_input("x", type(DType::float32, {-1, 3, -1, -1}));
  const int w1 = g.add_constant(randn({8, 3, 3, 3}, 1), "w1", true), b1 = g.add_constant(randn({8}, 2), "b1", true);
  const int w2 = g.add_constant(randn({5, 8}, 3), "w2", true), b2 = g.add_constant(randn({5}, 4), "b2", true);
  const TensorRef c = g.add("custom::conv", {ref(x), ref(w1), ref(b1)}, {{"pads", Ints{1, 1, 1, 1}}});
  const TensorRef r = g.add("aten::relu", {c});
  const TensorRef m = g.add("aten::mean.dim", {r, Ints{2, 3}});
  const TensorRef l = g.add("aten::linear", {m, ref(w2), ref(b2)});
  const TensorRef s = g.add("aten::softmax.int", {l, int64_t{-1}});
  g.outputs = {s.id};
  g.tensors[static_cast<size_t>(s.id)].name = "y";
  return g;
}

std::vector<Tensor> eager_small_net(const Tensor& x) {
  Tensor t = call("custom::conv", {x, randn({8, 3, 3, 3}, 1), randn({8}, 2)}, {{"pads", ints({1, 1, 1, 1})}})[0];
  t = call("aten::relu", {t})[0];
  t = call("aten::mean.dim", {t, ints({2, 3})})[0];
  t = call("aten::linear", {t, randn({5, 8}, 3), randn({5}, 4)})[0];
  return call("aten::softmax.int", {t, val(-1)});
}

TEST(Session, EqualsTheEagerRunWithoutFusion) {
  SessionOptions options;
  options.threads = 1;
  options.fuse = false;
  Session session(Model::from_graph(small_net()), options);
  const Tensor x = randn({2, 3, 9, 11});
  EXPECT_TRUE(same_bits(session.run({{"x", x}})[0], eager_small_net(x)[0]));
}

TEST(Session, GivesTheSameBitsForEveryThreadCountAndRun) {
  const auto model = Model::from_graph(small_net());
  const Tensor x = randn({3, 3, 32, 40});
  Tensor first;
  for (const int threads : {1, 2, 3, 7}) {
    SessionOptions options;
    options.threads = threads;
    Session session(model, options);
    for (int i = 0; i < 3; ++i) {
      const Tensor y = session.run({{"x", x}})[0];
      if (!first.defined()) first = y;
      EXPECT_TRUE(same_bits(first, y)) << threads << " threads, run " << i;
    }
  }
}

TEST(Session, AllocatesNothingAfterTheFirstRunOfAShape) {
  SessionOptions options;
  options.threads = 2;
  Session session(Model::from_graph(small_net()), options);
  std::vector<Tensor> a{randn({2, 3, 9, 11})}, b{randn({1, 3, 20, 8})}, out_a, out_b;
  session.run(a, out_a);
  session.run(b, out_b);
  const int64_t before = allocations();
  for (int i = 0; i < 5; ++i) {
    session.run(a, out_a);
    session.run(b, out_b);
  }
  EXPECT_EQ(allocations() - before, 0);
}

TEST(Session, WritesIntoOutputsThatFitAndReplacesOthers) {
  Session session(Model::from_graph(small_net()), {.threads = 1});
  std::vector<Tensor> in{randn({2, 3, 9, 11})}, out;
  session.run(in, out);
  const void* place = out[0].raw();
  session.run(in, out);
  EXPECT_EQ(out[0].raw(), place);
  in[0] = randn({4, 3, 9, 11});
  session.run(in, out);
  EXPECT_EQ(out[0].shape(), (Shape{4, 5}));
}

TEST(Session, AnOutputThatIsAlsoAnInputIsNotOverwrittenWhileItIsRead) {
  Graph g;
  const int x = g.add_input("x", type(DType::float32, {4}));
  const TensorRef y = g.add("aten::flip", {ref(x), Ints{0}});
  g.outputs = {y.id};
  Session session(Model::from_graph(std::move(g)), {.threads = 1});
  const Tensor x0 = Tensor::of<float>({4}, {1, 2, 3, 4});
  std::vector<Tensor> in{x0}, out{x0};
  session.run(in, out);
  EXPECT_EQ(out[0].to_doubles(), (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(x0.to_doubles(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Session, KeepsAsManyProgramsAsItIsTold) {
  Session session(Model::from_graph(small_net()), {.threads = 1, .max_programs = 2});
  for (int i = 1; i <= 6; ++i) session.run({{"x", randn({i, 3, 8, 8})}});
  EXPECT_EQ(session.stats().programs, 2);
  session.run({{"x", randn({1, 3, 8, 8})}});
  EXPECT_EQ(session.stats().runs, 7);
}

std::string error_text(const std::function<void()>& fn, Code code) {
  try {
    fn();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}
#define EXPECT_NAMES(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Session, BadInputsAreNamed) {
  Session session(Model::from_graph(small_net()), {.threads = 1});
  std::string t = error_text([&] { session.run({}); }, Code::value);
  EXPECT_NAMES(t, "'x' is missing");
  t = error_text([&] { session.run({{"x", randn({2, 4, 9, 9})}}); }, Code::shape);
  EXPECT_NAMES(t, "float32[2, 4, 9, 9]");
  EXPECT_NAMES(t, "3");
  t = error_text([&] { session.run({{"x", Tensor::zeros({1, 3, 8, 8}, DType::int64)}}); }, Code::dtype);
  EXPECT_NAMES(t, "int64");
  t = error_text([&] { session.run({{"x", randn({1, 3, 8, 8})}, {"z", randn({1})}}); }, Code::value);
  EXPECT_NAMES(t, "'z'");
  // The session is none the worse for it.
  EXPECT_EQ(session.run({{"x", randn({1, 3, 8, 8})}})[0].shape(), (Shape{1, 5}));
}

Graph branching() {
  Graph g;
  const int x = g.add_input("x", type(DType::float32, {-1}));
  const int flag = g.add_input("flag", type(DType::bool_, {}));
  auto then_body = std::make_shared<Graph>(), else_body = std::make_shared<Graph>();
  const int tx = then_body->add_input("x", {});
  then_body->outputs = {then_body->add("aten::mul.Tensor", {ref(tx), 2.0}).id};
  const int ex = else_body->add_input("x", {});
  else_body->outputs = {else_body->add("aten::cat", {TensorRefs{ref(ex), ref(ex)}, int64_t{0}}).id};
  const auto out = g.add_node(require_op("custom::if"), {ref(flag), TensorRefs{ref(x)}}, {}, 1);
  g.nodes.back().bodies = {then_body, else_body};
  g.outputs = {g.add("aten::neg", {ref(out[0])}).id};
  return g;
}

TEST(Session, TakesTheBranchOfEachRun) {
  Session session(Model::from_graph(branching()), {.threads = 1});
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(session.run({{"x", x}, {"flag", Tensor::scalar<bool>(true)}})[0].to_doubles(),
              (std::vector<double>{-2, -4}));
    EXPECT_EQ(session.run({{"x", x}, {"flag", Tensor::scalar<bool>(false)}})[0].to_doubles(),
              (std::vector<double>{-1, -2, -1, -2}));
  }
  EXPECT_EQ(session.stats().programs, 3);  // the condition, and one a branch
}

TEST(Session, LoopsRunTheirBodyAndStackItsResults) {
  Graph g;
  const int x = g.add_input("x", type(DType::float32, {2}));
  const int n = g.add_input("n", type(DType::int64, {}));
  auto body = std::make_shared<Graph>();
  body->add_input("i", {});
  const int cond = body->add_input("cond", {});
  const int state = body->add_input("state", {});
  const int outer = body->add_input("outer", {});
  const TensorRef next = body->add("aten::add.Tensor", {ref(state), ref(outer)});
  body->outputs = {cond, next.id, next.id};
  const auto out =
      g.add_node(require_op("custom::loop"), {ref(n), None{}, TensorRefs{ref(x)}, TensorRefs{ref(x)}}, {}, 2);
  g.nodes.back().bodies = {body};
  g.outputs = {out[0], out[1]};
  Session session(Model::from_graph(std::move(g)), {.threads = 1});
  for (const int64_t steps : {3, 1, 3}) {
    const auto y = session.run({{"x", Tensor::of<float>({2}, {1, 10})}, {"n", Tensor::scalar<int64_t>(steps)}});
    EXPECT_EQ(y[0].to_doubles(), (std::vector<double>{1.0 + steps, 10.0 + 10 * steps}));
    EXPECT_EQ(y[1].shape(), (Shape{steps, 2}));
  }
}

TEST(Session, ShapesThatDependOnValuesFollowThem) {
  Graph g;
  const int x = g.add_input("x", type(DType::float32, {-1}));
  const TensorRef where = g.add("aten::nonzero", {ref(x)});  // [n, 1]
  const TensorRef index = g.add("aten::squeeze.dim", {where, int64_t{1}});
  const TensorRef picked = g.add("aten::index_select", {ref(x), int64_t{0}, index});
  g.outputs = {g.add("aten::mul.Tensor", {picked, 10.0}).id};
  Session session(Model::from_graph(std::move(g)), {.threads = 1});
  EXPECT_EQ(session.run({{"x", Tensor::of<float>({4}, {0, 2, 0, 3})}})[0].to_doubles(), (std::vector<double>{20, 30}));
  EXPECT_EQ(session.run({{"x", Tensor::of<float>({4}, {5, 0, 0, 0})}})[0].to_doubles(), (std::vector<double>{50}));
  EXPECT_EQ(session.run({{"x", Tensor::of<float>({4}, {0, 0, 0, 0})}})[0].shape(), (Shape{0}));
}

TEST(Session, OutputsMayBeInputsConstantsAndViews) {
  Graph g;
  const int x = g.add_input("x", type(DType::float32, {2, 3}));
  const int c = g.add_constant(Tensor::of<float>({2}, {7, 8}));
  const TensorRef t = g.add("aten::t", {ref(x)});
  const TensorRef e = g.add("aten::exp", {ref(x)});
  g.outputs = {x, c, t.id, e.id, e.id};
  Session session(Model::from_graph(std::move(g)), {.threads = 1});
  const Tensor x0 = randn({2, 3});
  const auto y = session.run({{"x", x0}});
  EXPECT_TRUE(same_bits(y[0], x0));
  EXPECT_EQ(y[1].to_doubles(), (std::vector<double>{7, 8}));
  EXPECT_TRUE(same_bits(y[2], x0.transpose(0, 1).contiguous()));
  EXPECT_TRUE(same_bits(y[3], y[4]));
}

TEST(Session, CancelStopsARunWithAnError) {
  Graph g;
  const int n = g.add_input("n", type(DType::int64, {}));
  auto body = std::make_shared<Graph>();
  body->add_input("i", {});
  const int cond = body->add_input("cond", {});
  const int state = body->add_input("state", {});
  body->outputs = {cond, body->add("aten::add.Tensor", {ref(state), int64_t{1}}).id};
  const auto out = g.add_node(require_op("custom::loop"), {ref(n), None{}, TensorRefs{ref(n)}, TensorRefs{}}, {}, 1);
  g.nodes.back().bodies = {body};
  g.outputs = {out[0]};
  Session session(Model::from_graph(std::move(g)), {.threads = 1});
  std::atomic<bool> done{false};
  std::thread stopper([&] {
    while (!done) {
      session.cancel();
      std::this_thread::yield();
    }
  });
  EXPECT_THROW(session.run({{"n", Tensor::scalar<int64_t>(int64_t{1} << 50)}}), Error);
  done = true;
  stopper.join();
}

TEST(Session, AProfiledRunNamesEveryOpWithItsBytesAndFlops) {
  Session session(Model::from_graph(small_net()), {.threads = 1});
  session.profile(true);
  session.run({{"x", randn({2, 3, 9, 11})}});
  const auto& events = session.last_profile();
  ASSERT_FALSE(events.empty());
  int64_t flops = 0;
  for (const ProfileEvent& e : events) {
    EXPECT_FALSE(e.op.empty());
    EXPECT_GT(e.bytes, 0) << e.op;
    flops += e.flops;
  }
  EXPECT_GE(flops, 2 * 2 * 8 * 9 * 11 * 27);  // the convolution alone
}

TEST(NullDevice, IsAskedForTheLaunchesThatARunMakes) {
  const auto model = Model::from_graph(small_net());
  NullDevice device;
  const Recording r = record_launches(model->graph(), {Meta(DType::float32, {2, 3, 9, 11})}, Profile{}, device);
  EXPECT_TRUE(r.complete);
  Session session(model, {.threads = 1});
  session.profile(true);
  session.run({{"x", randn({2, 3, 9, 11})}});
  const auto& events = session.last_profile();
  ASSERT_EQ(device.launches().size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(device.launches()[i].op, events[i].op);
    EXPECT_EQ(device.launches()[i].kernel, events[i].kernel);
    EXPECT_EQ(device.launches()[i].flops, events[i].flops);
    EXPECT_FALSE(device.launches()[i].keys.empty());
  }
  EXPECT_EQ(r.arena_bytes, session.stats().arena_bytes);
}

TEST(Session, ThePlanMeetsItsLowerBoundOnAChain) {
  Session session(Model::from_graph(small_net()), {.threads = 1});
  session.run({{"x", randn({2, 3, 16, 16})}});
  const SessionStats stats = session.stats();
  EXPECT_GT(stats.arena_bytes, 0);
  EXPECT_EQ(stats.arena_bytes, stats.lower_bound_bytes);
}

}  // namespace
}  // namespace nbx
