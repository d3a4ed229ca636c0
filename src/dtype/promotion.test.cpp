// SPDX-License-Identifier: Apache-2.0
// The tables are checked against every row of tests/golden/promotion.json by tools/golden/promotion.test.cpp; here is
// what the rows do not say.
#include "dtype/promotion.h"

#include <gtest/gtest.h>

#include <limits>

#include "dtype/rules.h"
#include "support/error_text.h"

namespace nbx {
namespace {

Operand zero_d(DType dtype) { return {dtype, Operand::Kind::tensor_0d}; }

TEST(Promotion, IsCommutativeForAllPairs) {
  for (int a = 0; a < kDTypes; ++a)
    for (int b = 0; b < kDTypes; ++b)
      EXPECT_EQ(try_promote(static_cast<DType>(a), static_cast<DType>(b)),
                try_promote(static_cast<DType>(b), static_cast<DType>(a)));
}

TEST(Promotion, TypesWithoutACommonOneAreBothNamed) {
  const std::string text = error_text(Code::dtype, [] { promote_types(DType::uint32, DType::int8, "add"); });
  EXPECT_NAMES(text, "add: uint32 and int8");
}

TEST(Promotion, ZeroDimensionalTensorsAndNumbersMoveOnlyTheCategory) {
  EXPECT_EQ(result_type({{DType::float32}, zero_d(DType::float64)}), DType::float32);
  EXPECT_EQ(result_type({{DType::float32}, zero_d(DType::complex128)}), DType::complex64);
  EXPECT_EQ(result_type({{DType::int32}, zero_d(DType::float64)}), DType::float64);
  EXPECT_EQ(result_type({{DType::int8}, number(Category::integral), zero_d(DType::int64)}), DType::int8);
  EXPECT_EQ(result_type({{DType::uint16}, number(Category::integral)}), DType::uint16);
  EXPECT_EQ(result_type({zero_d(DType::float16), number(Category::floating)}), DType::float16);
  EXPECT_EQ(result_type({{DType::float8_e5m2}, number(Category::floating)}), DType::float8_e5m2);
  error_text(Code::dtype, [] { result_type({{DType::float8_e5m2}, number(Category::complex)}); });
}

TEST(Promotion, IntegersFitTheRangeOfTheirType) {
  EXPECT_TRUE(fits(-128, DType::int8));
  EXPECT_FALSE(fits(128, DType::int8));
  EXPECT_FALSE(fits(-1, DType::uint64));
  EXPECT_TRUE(fits(4294967295, DType::uint32));
  EXPECT_FALSE(fits(4294967296, DType::uint32));
  EXPECT_TRUE(fits(std::numeric_limits<int64_t>::min(), DType::int64));
  EXPECT_FALSE(fits(2, DType::bool_));
}

TEST(OpRules, EveryRowIsFoundByItsNameAndNoNameIsThereTwice) {
  for (const OpRule& row : op_rules()) EXPECT_EQ(find_op_rule(row.op), &row) << row.op;
  EXPECT_EQ(find_op_rule("no_such_op"), nullptr);
  error_text(Code::internal, [] { op_rule("no_such_op"); });
}

TEST(OpRules, TheCommonTypeIsWhatIsComputedInAndTheResultWhatIsStored) {
  const RuleResult less = op_dtypes("lt", {{DType::int32}, {DType::float16}});
  EXPECT_EQ(less.common, DType::float16);
  EXPECT_EQ(less.result, DType::bool_);
  EXPECT_EQ(op_dtypes("exp", DType::int64).result, DType::float32);
  EXPECT_EQ(op_dtypes("sum", DType::bool_).result, DType::int64);
  EXPECT_TRUE(op_dtypes("topk", DType::float32).indices);
}

TEST(OpRules, ARefusalNamesTheOpTheTypesAndWhatTheOpTakes) {
  const std::string bitwise = error_text(Code::dtype, [] {
    op_dtypes("bitwise_and", {{DType::int32}, {DType::float32}});
  });
  EXPECT_NAMES(bitwise, "bitwise_and: float32");
  EXPECT_NAMES(bitwise, "int32, float32");
  EXPECT_NAMES(bitwise, "bool, integral");
  EXPECT_NAMES(error_text(Code::dtype,
                          [] {
                            op_dtypes("sub", {{DType::bool_}, {DType::int32}});
                          }),
               "operand 0 is bool");
  EXPECT_NAMES(error_text(Code::dtype,
                          [] {
                            op_dtypes("mm", {{DType::float16}, {DType::float32}});
                          }),
               "float16, float32");
  EXPECT_NAMES(error_text(Code::dtype,
                          [] {
                            op_dtypes("maximum", {{DType::float32}, number(Category::integral)});
                          }),
               "an int number");
}

TEST(OpRules, AHalfTensorWithAComplexNumberIsRefusedByName) {
  const auto call = [] { op_dtypes("add", {{DType::float16}, number(Category::complex)}); };
  EXPECT_NAMES(error_text(Code::dtype, call), "complex32");
  EXPECT_NAMES(error_text(Code::dtype, call), "float16");
  error_text(Code::dtype, [] { op_dtypes("eq", {{DType::bfloat16}, zero_d(DType::complex64)}); });
}

}  // namespace
}  // namespace nbx
