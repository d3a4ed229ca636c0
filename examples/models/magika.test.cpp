// SPDX-License-Identifier: Apache-2.0
#include "models/magika.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx::examples {
namespace {

std::vector<int64_t> input_of(std::string_view text, const MagikaConfig& config) {
  return magika_input({reinterpret_cast<const std::byte*>(text.data()), text.size()}, config).to_ints();
}

TEST(Magika, BytesArePaddedAtTheEndAndAtTheFrontAndOnlyOuterBlanksGo) {
  MagikaConfig config;
  config.begin_bytes = config.end_bytes = 5;
  EXPECT_EQ(input_of(" \t\na b\r\n", config),
            (std::vector<int64_t>{'a', ' ', 'b', '\r', '\n', '\t', '\n', 'a', ' ', 'b'}));
  EXPECT_EQ(input_of("x", config), (std::vector<int64_t>{'x', 256, 256, 256, 256, 256, 256, 256, 256, 'x'}));
  EXPECT_EQ(input_of("", config), std::vector<int64_t>(10, 256));
  EXPECT_EQ(input_of(" \n ", config), std::vector<int64_t>(10, 256));
}

TEST(Magika, OnlyTheBlockAtEachEndIsLookedAt) {
  MagikaConfig config;
  config.begin_bytes = config.end_bytes = 2;
  config.block_bytes = 3;
  EXPECT_EQ(input_of("   ab   ", config), std::vector<int64_t>(4, 256));
  EXPECT_EQ(input_of("abcdefgh", config), (std::vector<int64_t>{'a', 'b', 'g', 'h'}));
}

TEST(Magika, TheInputHasTheModelsShapeAndDtype) {
  const Tensor input = magika_input({});
  EXPECT_EQ(input.shape(), (Shape{1, 2048}));
  EXPECT_EQ(input.dtype(), DType::int32);
}

TEST(Magika, TheLabelIsTheLikeliestAndItsOwnThresholdCounts) {
  MagikaConfig config;
  config.labels = {"c", "tsv", "randomtxt"};
  config.thresholds = {{"tsv", 0.9}};
  config.renamed = {{"randomtxt", "txt"}};
  const FileType c = magika_label(Tensor::of<float>({3}, {0.6f, 0.3f, 0.1f}), config);
  EXPECT_EQ(c.label, "c");
  EXPECT_FLOAT_EQ(c.score, 0.6f);
  EXPECT_TRUE(c.sure);
  EXPECT_FALSE(magika_label(Tensor::of<float>({3}, {0.1f, 0.8f, 0.1f}), config).sure);
  EXPECT_EQ(magika_label(Tensor::of<float>({3}, {0, 0, 1}), config).label, "txt");
  EXPECT_NAMES(error_text(Code::shape, [&] { magika_label(Tensor::zeros({4}, DType::float32), config); }),
               "has 3 labels");
}

TEST(Magika, AConfigurationIsReadAndAWrongOneIsRefusedByName) {
  const TempFolder folder;
  const std::string good =
      R"({"beg_size":8,"end_size":4,"block_size":16,"padding_token":256,"target_labels_space":["c"],"overwrite_map":{},)"
      R"("thresholds":{"c":0.25},"medium_confidence_threshold":0.5,"more":1})";
  const MagikaConfig config = read_magika_config(folder.write("config.json", good));
  EXPECT_EQ(config.begin_bytes, 8);
  EXPECT_EQ(config.labels, std::vector<std::string>{"c"});
  EXPECT_EQ(config.thresholds.at("c"), 0.25);
  EXPECT_NAMES(error_text(Code::file, [&] { read_magika_config(folder.write("bad.json", "{}")); }), "bad.json");
  EXPECT_NAMES(error_text(Code::file, [&] { read_magika_config(folder.write("cut.json", good.substr(0, 50))); }),
               "cut.json");
}

}  // namespace
}  // namespace nbx::examples
