// SPDX-License-Identifier: Apache-2.0
#include "golden/ops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "golden/golden.h"
#include "io/safetensors.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

constexpr const char* kTolerances =
    R"({"relu":{"float32":{"suggest":{"kind":"exact"}}},"exp":{"float32":{"suggest":{"kind":"ulp","ulp":4}}}})";

// A case of one operand and one result, both float32[3].
std::string one(const std::string& id, const std::string& op, const std::string& in, const std::string& out,
                const std::string& more = "") {
  return R"({"id":")" + id + R"(","op":")" + op + R"(","overload":"default","family":"unary","dtype":"float32",)" +
         R"("args":{"self":{"tensor":0}},"tensors":[{"key":")" + in +
         R"(","dtype":"float32","sizes":[3],"strides":[1],"offset":0}],"out":[{"key":")" + out +
         R"(","dtype":"float32","sizes":[3],"strides":[1],"offset":0)" + more + "}]}\n";
}

void write_data(const TempFolder& folder, const std::string& cases, const std::string& errors = "") {
  folder.write("tolerances.json", kTolerances);
  folder.write("manifest.jsonl", cases);
  folder.write("errors.jsonl", errors);
  write_safetensors(folder / "unary.safetensors", {{"a", Tensor::of<float>({3}, {-1, 0, 2})},
                                                   {"relu", Tensor::of<float>({3}, {0, 0, 2})},
                                                   {"flat", Tensor::of<float>({6}, {-1, 9, 0, 9, 2, 9})}});
  write_safetensors(folder / "errors.safetensors", {{"a", Tensor::of<float>({3}, {-1, 0, 2})}});
}

int run(const std::string& folder, const std::string& only = "") {
  std::string dir = folder, flag = "--only", part = only;
  char* argv[] = {dir.data(), flag.data(), part.data()};
  return golden_ops(only.empty() ? 1 : 3, argv);
}

TEST(GoldenOps, ARightCasePassesAWrongOneIsShownAndAnUnknownOpIsSkippedWithItsReason) {
  const TempFolder folder;
  write_data(folder, one("relu.good", "relu", "a", "relu") + one("relu.bad", "relu", "a", "a") +
                         one("unheard_of.f32", "unheard_of", "a", "a"));
  const OpsReport report = check_ops({folder / ""});
  EXPECT_EQ(report.total.passed, 1);
  EXPECT_EQ(report.total.failed, 1);
  EXPECT_EQ(report.total.skipped, 1);
  EXPECT_EQ(report.by_op.at("relu").failed, 1);
  ASSERT_EQ(report.lines.size(), 1u);
  EXPECT_NAMES(report.lines[0], "FAIL relu.bad: element [0] is 0, should be -1; 1 of 3 differ, largest error 1");
  EXPECT_EQ(report.skipped_because.at("aten::unheard_of is not declared"), 1);
  EXPECT_EQ(run(folder / ""), 1);
  EXPECT_EQ(run(folder / "", "relu.good"), 0);
}

TEST(GoldenOps, AnOperandIsTheViewThatTheCaseDescribesAfterItsSteps) {
  const TempFolder folder;
  std::string line = one("relu.strided", "relu", "flat", "relu");
  const std::string dense = R"("strides":[1],"offset":0}],"out")";
  line.replace(line.find(dense), dense.size(),
               R"("strides":[2],"offset":0,"prep":[["flip",[0]],["contiguous"],["flip",[0]]]}],"out")");
  write_data(folder, line);
  EXPECT_EQ(check_ops({folder / ""}).total.passed, 1);
}

TEST(GoldenOps, AnAliasMustBeAViewWithItsStridesAndOffset) {
  const TempFolder folder;
  const auto select = [](const char* id, int offset) {
    return fmt::format(
        R"({{"id":"{}","op":"select","overload":"int","family":"unary","dtype":"float32","args":{{"self":{{"tensor":0}},)"
        R"("dim":0,"index":1}},"tensors":[{{"key":"flat","dtype":"float32","sizes":[2,3],"strides":[1,2],"offset":0}}],)"
        R"("out":[{{"key":"nines","dtype":"float32","sizes":[3],"strides":[2],"offset":{},"alias":0}}]}})"
        "\n",
        id, offset);
  };
  write_data(folder, select("select.right", 1) + select("select.wrong", 2));
  write_safetensors(folder / "unary.safetensors", {{"nines", Tensor::of<float>({3}, {9, 9, 9})},
                                                   {"flat", Tensor::of<float>({6}, {-1, 9, 0, 9, 2, 9})}});
  const OpsReport report = check_ops({folder / ""});
  EXPECT_EQ(report.total.passed, 1);
  ASSERT_EQ(report.lines.size(), 1u);
  EXPECT_NAMES(report.lines[0], "FAIL select.wrong");
  EXPECT_NAMES(report.lines[0], "offset 1, should be");
}

TEST(GoldenOps, ACallThatMustFailPassesOnlyWithAnError) {
  const TempFolder folder;
  const auto call = [](const char* id, int dim, bool bound) {
    return fmt::format(
        R"({{"id":"{}","op":"unsqueeze","overload":"default","family":"views","dtype":"float32","bound":{},"args":)"
        R"({{"self":{{"tensor":0}},"dim":{}}},"tensors":[{{"key":"a","dtype":"float32","sizes":[3],"strides":[1],)"
        R"("offset":0}}],"error":{{"type":"IndexError","message":"Dimension out of range"}}}})"
        "\n",
        id, bound, dim);
  };
  write_data(folder, "", call("outside", 5, true) + call("inside", 0, true) + call("python", 0, false));
  const OpsReport report = check_ops({folder / ""});
  EXPECT_EQ(report.total.passed, 1);
  EXPECT_EQ(report.total.skipped, 1);
  ASSERT_EQ(report.lines.size(), 1u);
  EXPECT_NAMES(report.lines[0], "FAIL inside: no error, should be IndexError: Dimension out of range");
}

TEST(GoldenOps, ABoundIsAroundTheOracleAndTheReferenceItselfAlwaysPasses) {
  const auto is = [](float got, float out, double oracle, GoldenBound bound) {
    GoldenWant want;
    want.out = Tensor::scalar(out);
    want.oracle = Tensor::scalar(oracle);
    want.bound = bound;
    return golden_difference(Tensor::scalar(got), want).empty();
  };
  const float inf = INFINITY, step = std::ldexp(1.0f, -23);
  const GoldenBound two{GoldenBound::Kind::ulp, 2, 0, 0}, floor{GoldenBound::Kind::ulp, 2, 0.5, 0},
      nrm{GoldenBound::Kind::nrm, 0, 0, 0.25};
  EXPECT_TRUE(is(1 + 2 * step, 1, 1, two));
  EXPECT_FALSE(is(1 + 3 * step, 1, 1, two));
  EXPECT_TRUE(is(1.5f, 1, 1, floor));
  EXPECT_TRUE(is(9, 9, 1, two)) << "bit-equal to the reference";
  EXPECT_TRUE(is(1.25f, 1, 1, nrm));
  EXPECT_FALSE(is(1.375f, 1, 1, nrm));
  EXPECT_TRUE(is(5e-5f, 0, 0, nrm)) << "an oracle of zeros has a floor";
  EXPECT_TRUE(is(inf, 7, 1e60, two)) << "the oracle's class is that after rounding";
  EXPECT_FALSE(is(-inf, 7, 1e60, two));
  EXPECT_FALSE(is(NAN, 1, 1, nrm));
}

TEST(GoldenOps, TheSignOfZeroCountsWhereDataIsMoved) {
  GoldenWant want;
  want.out = Tensor::scalar(0.0f);
  EXPECT_EQ(golden_difference(Tensor::scalar(-0.0f), want), "");
  want.signed_zero = true;
  EXPECT_NE(golden_difference(Tensor::scalar(-0.0f), want), "");
}

TEST(GoldenOps, IndicesAreFreeAmongTiesButMustSelectTheValuesOnce) {
  const Tensor input = Tensor::of<float>({4}, {5, 7, 7, 1}), values = Tensor::of<float>({2}, {7, 7});
  const auto text = [&](int64_t a, int64_t b) {
    return selection_difference(input, -1, Tensor::of<int64_t>({2}, {a, b}), values);
  };
  EXPECT_EQ(text(1, 2), "");
  EXPECT_EQ(text(2, 1), "");
  EXPECT_NAMES(text(1, 1), "second time");
  EXPECT_NAMES(text(0, 1), "does not select");
  EXPECT_NAMES(text(1, 4), "has 4 elements");
}

TEST(GoldenOps, MalformedDataIsAnErrorNamingFileAndLine) {
  const TempFolder folder;
  const auto refused = [&](const std::string& cases) {
    write_data(folder, cases);
    return error_text(Code::file, [&] { check_ops({folder / ""}); });
  };
  const std::string good = one("relu.good", "relu", "a", "relu");
  EXPECT_NAMES(refused(good + "{\n"), "manifest.jsonl:2: ");
  EXPECT_NAMES(refused("{}\n"), "'id'");
  EXPECT_NAMES(refused(one("x", "relu", "absent", "a")), "absent");
  EXPECT_NAMES(refused(one("x", "relu", "flat", "flat")), "6 elements");
  write_data(folder, good);
  folder.write("tolerances.json", "{");
  EXPECT_NAMES(error_text(Code::file, [&] { check_ops({folder / ""}); }), "tolerances.json");
  error_text(Code::value, [&] {
    write_data(folder, good);
    check_ops({folder / "", "no such id"});
  });
}

}  // namespace
}  // namespace nbx
