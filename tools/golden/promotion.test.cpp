// SPDX-License-Identifier: Apache-2.0
#include "golden/promotion.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temp_folder.h"

namespace {

TEST(GoldenPromotion, EveryRowOfTheReferenceAgrees) {
  const PromotionReport report = check_promotion(NBX_SOURCE_DIR "/tests/golden/promotion.json");
  EXPECT_EQ(report.failed, 0);
  EXPECT_EQ(report.skipped, 0);
  EXPECT_EQ(report.passed, 10013);
  for (const std::string& line : report.lines) ADD_FAILURE() << line;
}

// Empty tables but for what `rows` replaces.
std::string file_with(const std::string& rows) {
  return R"({"default_dtype":"float32","extended_dtypes":[],"promote_types":{},"can_cast":{},"result_type":{},)" +
         rows + "}";
}

TEST(GoldenPromotion, AWrongRowFailsAndIsShownAndAnUnknownOpIsSkippedWithItsReason) {
  const nbx::TempFolder folder;
  const std::string file =
      folder.write("promotion.json", file_with(R"("ops_binary":{},"ops_reduction":{},"creation":{"zeros":"float32"},
        "ops_unary":{"exp":{"int8":"float64","float16":null,"float64":"float64"},"unheard_of":{"int8":"int8"}})"));
  const PromotionReport report = check_promotion(file);
  EXPECT_EQ(report.passed, 2);
  EXPECT_EQ(report.failed, 2);
  EXPECT_EQ(report.skipped, 1);
  ASSERT_EQ(report.lines.size(), 3u);
  EXPECT_NAMES(report.lines[0] + report.lines[1], R"(exp (int8): expected "float64", got "float32")");
  EXPECT_NAMES(report.lines[2], "no dtype rule for unheard_of");
  EXPECT_EQ(run_promotion(file), 1);
}

TEST(GoldenPromotion, AFileWithoutTheFormIsAnErrorNamingIt) {
  const nbx::TempFolder folder;
  const auto refused = [&](const std::string& content) {
    const std::string file = folder.write("broken.json", content);
    return nbx::error_text(nbx::Code::file, [&] { check_promotion(file); });
  };
  EXPECT_NAMES(refused("{"), "broken.json");
  EXPECT_NAMES(refused("{}"), "default_dtype");
  EXPECT_NAMES(refused("[1]"), "broken.json");
  EXPECT_NAMES(refused(R"({"default_dtype":"float64"})"), "float64");
  const std::string creation =
      R"x("ops_unary":{},"ops_binary":{},"ops_reduction":{},"creation":{"full(word)":"int64"})x";
  EXPECT_NAMES(refused(file_with(creation)), "word");
  nbx::error_text(nbx::Code::file, [&] { check_promotion(folder / "absent.json"); });
}

}  // namespace
