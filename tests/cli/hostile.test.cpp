// SPDX-License-Identifier: Apache-2.0
// Models that ask for the impossible. Each is refused with one line that names the file and the value, and little
// memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/command.h"
#include "io/npy.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx::cli {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

std::string attribute(const std::string& name, const std::vector<int64_t>& values) {
  std::string ints;
  for (const int64_t v : values) ints += field(8, static_cast<uint64_t>(v));
  return field(5, field(1, name) + ints + field(20, uint64_t{7}));
}
std::string body_attribute(const std::string& name, const OnnxGraph& body) {
  return field(5, field(1, name) + field(6, body.bytes()) + field(20, uint64_t{5}));
}

// The nodes read x (float32) and what the initializers define, and give y.
std::string model_of(std::vector<std::string> nodes, std::vector<std::string> initializers = {},
                     std::vector<int64_t> dims = {2, 3}) {
  OnnxGraph g;
  g.nodes = std::move(nodes);
  g.initializers = std::move(initializers);
  g.inputs = {onnx_value("x", 1, dims)};
  g.outputs = {field(1, std::string("y"))};
  return onnx_model(g);
}

// trip times: the state is doubled, or copied as it is; with a scan output when asked for.
std::string loop_of(int64_t trip, bool grows, bool scans, bool nested) {
  OnnxGraph body;
  body.nodes = {
      grows ? onnx_node("Concat", {"s", "s"}, {"so"},
                        field(5, field(1, std::string("axis")) + field(3, uint64_t{0}) + field(20, uint64_t{2})))
            : onnx_node("Relu", {"s"}, {"so"}),
      onnx_node("Identity", {"c"}, {"co"})};
  body.inputs = {onnx_value("i", 7, {}), onnx_value("c", 9, {}), field(1, std::string("s"))};
  body.outputs = {onnx_value("co", 9, {}), field(1, std::string("so"))};
  if (scans) {
    body.nodes.push_back(onnx_node("Identity", {"so"}, {"scan"}));
    body.outputs.push_back(field(1, std::string("scan")));
  }
  if (nested) {
    OnnxGraph outer = body;
    outer.nodes[0] = onnx_node("Loop", {"trip", "", "s"}, {"so"}, body_attribute("body", body));
    body = outer;
  }
  std::vector<std::string> outputs{"y"};
  if (scans) outputs.push_back("scanned");
  return model_of({onnx_node("Loop", {"trip", "", "x"}, outputs, body_attribute("body", body))},
                  {onnx_scalar("trip", trip)});
}

class Hostile : public ::testing::Test {
 protected:
  std::string input(const Shape& shape) {
    write_npy(folder / "x.npy", Tensor::zeros(shape, DType::float32));
    return "x=" + (folder / "x.npy");
  }
  void refuses(const std::string& name, const std::string& model, const std::vector<std::string>& parts,
               const Shape& shape = {2, 3}) {
    SCOPED_TRACE(name);
    const std::string file = folder.write(name + ".onnx", model);
    const Result r = run("nbx", {"run", file, "-i", input(shape)});
    EXPECT_EQ(r.code, 2) << r.err << r.out;
    EXPECT_EQ(r.err.rfind("nbx: error: ", 0), 0u) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_NAMES(r.err, file);
    for (const std::string& part : parts) EXPECT_NAMES(r.err, part);
#if !NBX_SANITIZED
    EXPECT_LT(r.peak_kib, 200 << 10);
#endif
  }
  TempFolder folder;
};

TEST_F(Hostile, AShapeBeyondTheMachineIsRefusedWithWhatItNeeds) {
  const std::string needs = "bytes, ";  // "... need N bytes, M are available"
  refuses("expand", model_of({onnx_node("Expand", {"x", "s"}, {"y"})}, {onnx_ints("s", {kHuge, 2, 3})}), {needs, "y"});
  refuses("expand_used",
          model_of({onnx_node("Expand", {"x", "s"}, {"e"}), onnx_node("Relu", {"e"}, {"y"})},
                   {onnx_ints("s", {kHuge, 2, 3})}),
          {needs});
  refuses("tile", model_of({onnx_node("Tile", {"x", "s"}, {"y"})}, {onnx_ints("s", {kHuge, 1})}), {needs, "y"});
  refuses("pad", model_of({onnx_node("Pad", {"x", "s"}, {"y"})}, {onnx_ints("s", {0, 0, kHuge, 0})}), {needs, "y"});
  refuses("fill", model_of({onnx_node("ConstantOfShape", {"s"}, {"y"})}, {onnx_ints("s", {kHuge, 4})}), {needs, "y"});
  refuses("range",
          model_of({onnx_node("Range", {"a", "b", "d"}, {"y"})},
                   {onnx_scalar("a", 0), onnx_scalar("b", 1'000'000'000'000'000'000), onnx_scalar("d", 1)}),
          {needs, "y"});
  // Each alone would fit into some machine, all of them into none.
  std::vector<std::string> many;
  OnnxGraph g;
  for (int i = 0; i < 64; ++i) {
    const std::string name = "y" + std::to_string(i);
    g.nodes.push_back(onnx_node("ConstantOfShape", {"s"}, {name}));
    g.outputs.push_back(field(1, name));
  }
  g.inputs = {onnx_value("x", 1, {2, 3})};
  g.initializers = {onnx_ints("s", {int64_t{1} << 36})};
  refuses("many", onnx_model(g), {needs});
}

TEST_F(Hostile, AProductThatLeaves63BitsIsNamed) {
  const int64_t most = int64_t{1} << 62;
  refuses("expand", model_of({onnx_node("Expand", {"x", "s"}, {"y"})}, {onnx_ints("s", {most, 2, 3})}),
          {std::to_string(most)});
  refuses("tile", model_of({onnx_node("Tile", {"x", "s"}, {"y"})}, {onnx_ints("s", {most, most})}),
          {std::to_string(most)});
  refuses("pad", model_of({onnx_node("Pad", {"x", "s"}, {"y"})}, {onnx_ints("s", {most, most, most, most})}),
          {std::to_string(most)});
  refuses("reshape", model_of({onnx_node("Reshape", {"x", "s"}, {"y"})}, {onnx_ints("s", {kHuge, kHuge})}),
          {std::to_string(kHuge)});
  refuses("fill", model_of({onnx_node("ConstantOfShape", {"s"}, {"y"})}, {onnx_ints("s", {most, most})}),
          {std::to_string(most)});
  refuses("range",
          model_of({onnx_node("Range", {"a", "b", "d"}, {"y"})},
                   {onnx_scalar("a", INT64_MIN), onnx_scalar("b", INT64_MAX), onnx_scalar("d", 1)}),
          {"too many"});
}

TEST_F(Hostile, AWindowOrStepBeyondReasonIsNamed) {
  const std::vector<int64_t> dims{1, 1, 4, 4};
  const Shape shape{1, 1, 4, 4};
  const std::string huge = std::to_string(kHuge);
  const auto pool = [&](const char* op, int64_t kernel, int64_t pad) {
    return model_of({onnx_node(op, {"x"}, {"y"},
                               attribute("kernel_shape", {kernel, kernel}) + attribute("pads", {pad, pad, pad, pad}))},
                    {}, dims);
  };
  refuses("max", pool("MaxPool", kHuge, kHuge / 2), {huge}, shape);
  refuses("average", pool("AveragePool", kHuge, 0), {huge}, shape);
  const std::string weight = field(1, uint64_t{1}) + field(1, uint64_t{1}) + field(1, uint64_t{3}) +
                             field(1, uint64_t{3}) + field(2, uint64_t{1}) + field(8, std::string("w")) +
                             field(9, std::string(36, '\0'));
  const auto conv = [&](const char* name, const std::vector<int64_t>& values) {
    return model_of({onnx_node("Conv", {"x", "w"}, {"y"}, attribute(name, values))}, {weight}, dims);
  };
  refuses("kernel", conv("kernel_shape", {kHuge, kHuge}), {huge}, shape);
  refuses("pads", conv("pads", {kHuge, kHuge, kHuge, kHuge}), {"bytes"}, shape);
  refuses("pads62", conv("pads", {INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2}),
          {std::to_string(INT64_MAX / 2)}, shape);
  refuses("strides", conv("strides", {0, 0}), {"stride"}, shape);
  refuses("dilations", conv("dilations", {INT64_MAX, INT64_MAX}), {std::to_string(INT64_MAX)}, shape);
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const float scale : {1e30f, nan, inf, -1.0f, 0.0f})
    refuses("resize",
            model_of({onnx_node("Resize", {"x", "", "s"}, {"y"})}, {onnx_floats("s", {1, 1, scale, scale})}, dims),
            {"resize"}, shape);
}

// The window is far wider than the input; the work must be that of the input.
TEST_F(Hostile, AWindowOfTwoBillionPaddedColumnsTakesNoTime) {
  const int64_t kernel = 2'000'000'001, pad = 1'000'000'000;
  const std::string file = folder.write(
      "wide.onnx", model_of({onnx_node("MaxPool", {"x"}, {"y"},
                                       attribute("kernel_shape", {kernel}) + attribute("pads", {pad, pad}))},
                            {}, {1, 1, 4}));
  const Result r = run("nbx", {"run", file, "-i", input({1, 1, 4})});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NAMES(r.out, "y: float32[1, 1, 4]");
}

TEST_F(Hostile, WhatFailsInsideAKernelNamesFileAndNode) {
  refuses("gather", model_of({onnx_node("Gather", {"x", "i"}, {"y"})}, {onnx_ints("i", {kHuge})}),
          {"node 'y'", std::to_string(kHuge)});
  refuses("scatter",
          model_of({onnx_node("GatherND", {"x", "i"}, {"y"})},
                   {field(1, uint64_t{1}) + field(1, uint64_t{2}) + field(2, uint64_t{7}) + field(8, std::string("i")) +
                    field(9, std::string("\7\0\0\0\0\0\0\0\11\0\0\0\0\0\0\0", 16))}),
          {"node 'y'", "7"});
  refuses("divide", model_of({onnx_node("Div", {"a", "b"}, {"y"})}, {onnx_ints("a", {1}), onnx_ints("b", {0})}),
          {"node 'y'", "zero"});
}

TEST_F(Hostile, ANameWithControlCharactersMakesNoSecondLine) {
  const std::string name = "a\nb\x1b[2J";
  refuses("names", model_of({onnx_node("Gather", {"x", "i"}, {"y"}, field(3, name))}, {onnx_ints("i", {kHuge})}),
          {"a\\nb\\x1b[2J"});
}

TEST_F(Hostile, GraphsThatBiteTheirTailAreRefused) {
  refuses(
      "cycle",
      model_of({onnx_node("Add", {"x", "b"}, {"a"}), onnx_node("Relu", {"a"}, {"b"}), onnx_node("Relu", {"b"}, {"y"})}),
      {"cycle"});
  refuses("twice", model_of({onnx_node("Relu", {"x"}, {"y"}), onnx_node("Neg", {"x"}, {"y"})}),
          {"'y'", "defined already"});
  OnnxGraph g;
  g.nodes = {onnx_node("R", {"x"}, {"y"}, field(7, std::string("my")))};
  g.inputs = {onnx_value("x", 1, {2, 3})};
  g.outputs = {field(1, std::string("y"))};
  const std::string function = field(1, std::string("R")) + field(4, std::string("a")) + field(5, std::string("b")) +
                               field(7, onnx_node("R", {"a"}, {"b"}, field(7, std::string("my")))) +
                               field(9, field(1, std::string("my")) + field(2, uint64_t{1})) +
                               field(10, std::string("my"));
  refuses("recursive", onnx_model(g, field(25, function)), {"calls itself"});
}

TEST_F(Hostile, AnInterruptEndsEndlessLoopsAtOnce) {
  for (const bool nested : {false, true}) {
    const std::string file = folder.write("endless.onnx", loop_of(int64_t{1} << 62, false, false, nested));
    const Result r = run("nbx", {"run", file, "-i", input({2, 3})}, 2500);
    EXPECT_EQ(r.code, 130) << r.err;
    EXPECT_NAMES(r.err, "cancelled");
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

TEST_F(Hostile, ALoopStacksWhatItScans) {
  const std::string file = folder.write("scan.onnx", loop_of(5, false, true, false));
  const Result r = run("nbx", {"run", file, "-i", input({2, 3})});
  EXPECT_EQ(r.code, 0) << r.err;
}

// Every cut of a model, and every byte of it turned over: an answer or one line.
TEST_F(Hostile, DamagedModelsNeverEndTheProgram) {
  const std::string good = loop_of(3, false, true, true), in = input({2, 3});
  const auto try_one = [&](const std::string& bytes) {
    const std::string file = folder.write("damaged.onnx", bytes);
    const Result r = run("nbx", {"run", file, "-i", in}, 2500);
    const bool endless = r.code == 130;  // the trip count may be hit
    EXPECT_TRUE(r.code == 0 || r.code == 2 || endless) << r.code << r.err;
    if (r.code == 2) {
      EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    }
  };
  for (size_t i = 0; i < good.size(); i += 17) try_one(good.substr(0, i));
  for (size_t i = 5; i < good.size(); i += 17) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0xff);
    try_one(bytes);
  }
}

}  // namespace
}  // namespace nbx::cli
