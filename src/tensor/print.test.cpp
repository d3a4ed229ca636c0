// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/tensor.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace nbx {
namespace {

Tensor tensor_of(const nlohmann::json& one) {
  Shape shape;
  for (const auto& extent : one.at("shape")) shape.push_back(extent.get<int64_t>());
  const Tensor out = Tensor::empty(shape, parse_dtype(one.at("dtype").get<std::string>()));
  const std::string hex = one.at("bytes");
  EXPECT_EQ(static_cast<int64_t>(hex.size()), 2 * out.nbytes());
  auto* to = static_cast<unsigned char*>(out.raw_mutable());
  for (size_t i = 0; i < hex.size() / 2; ++i)
    to[i] = static_cast<unsigned char>(std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
  return out;
}

TEST(Print, EveryArrayReadsAsNumPyPrintedIt) {
  // Made by tests/golden/make_print.py with NumPy; NBX_PRINT_CASES names a larger file of the same form.
  const char* more = std::getenv("NBX_PRINT_CASES");
  std::ifstream file(more ? more : NBX_SOURCE_DIR "/tests/golden/print.json");
  ASSERT_TRUE(file.good());
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 100u);
  int wrong = 0;
  for (const auto& one : cases) {
    PrintOptions options;
    options.precision = one.at("precision");
    options.threshold = one.at("threshold");
    options.edge = one.at("edge");
    options.width = one.at("width");
    const std::string got = to_string(tensor_of(one), options), expected = one.at("text");
    EXPECT_EQ(got, expected) << one.at("dtype") << one.at("shape") << " precision " << options.precision;
    if (got != expected && ++wrong == 10) break;
  }
}

TEST(Print, AViewPrintsItsElementsNotItsMemory) {
  const Tensor t = Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_string(t.transpose(0, 1)), "[[1 4]\n [2 5]\n [3 6]]");
  EXPECT_EQ(to_string(t.flip({1}).select(0, 1)), "[6 5 4]");
}

TEST(Print, HalfAndEightBitFloatsShowTheFewestDigitsThatReadBack) {
  const Tensor t = Tensor::of<float>({3}, {0.1f, 1.5f, -3});
  EXPECT_EQ(to_string(t.to(DType::bfloat16)), "[ 0.1  1.5 -3. ]");
  EXPECT_EQ(to_string(t.to(DType::float8_e4m3fn)), "[ 0.1  1.5 -3. ]");
  EXPECT_EQ(to_string(Tensor::scalar(to_bfloat16(3.14159f))), "3.14");
}

TEST(Print, AHugeExpandedTensorIsSummarised) {
  const Tensor t = Tensor::of<float>({1, 1}, {2.5f}).expand({int64_t{1} << 20, int64_t{1} << 20});
  EXPECT_EQ(to_string(t, {4, 1000, 1, 75}), "[[2.5 ... 2.5]\n ...\n [2.5 ... 2.5]]");
}

TEST(Print, TheDefaultPrecisionIsFourDigits) {
  EXPECT_EQ(to_string(Tensor::of<double>({2}, {1.0 / 3, 2.0 / 3})), "[0.3333 0.6667]");
}

TEST(Print, DescribeNamesDtypeAndShape) {
  EXPECT_EQ(describe(Tensor::zeros({4, 768}, DType::bfloat16)), "bfloat16[4, 768]");
  EXPECT_EQ(describe(Tensor::scalar<int64_t>(3)), "int64[]");
  EXPECT_EQ(describe(Tensor()), "undefined");
  EXPECT_EQ(to_string(Tensor()), "undefined");
}

}  // namespace
}  // namespace nbx
