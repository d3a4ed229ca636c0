// SPDX-License-Identifier: Apache-2.0
#include "models/ocr.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_text.h"

namespace nbx::examples {
namespace {

// A map with rectangles [y0, y1) x [x0, x1) of one probability.
struct Block {
  int64_t y0, y1, x0, x1;
  float p;
};
Tensor map_of(int64_t height, int64_t width, const std::vector<Block>& blocks) {
  Tensor out = Tensor::zeros({height, width}, DType::float32);
  for (const Block& b : blocks)
    out.narrow(0, b.y0, b.y1 - b.y0).narrow(1, b.x0, b.x1 - b.x0).copy_(Tensor::scalar(b.p));
  return out;
}
DetectOptions tight() {
  DetectOptions options;
  options.unclip = 0;
  return options;
}

TEST(TextBoxes, ARectangleOfTextBecomesABoxWithItsPixelEdges) {
  const auto boxes = text_boxes(map_of(20, 40, {{5, 9, 10, 30, 0.8f}}), tight());
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_NEAR(boxes[0].score, 0.8, 1e-6);
  EXPECT_NEAR(boxes[0].corners[0].x, 10, 1e-9);
  EXPECT_NEAR(boxes[0].corners[0].y, 5, 1e-9);
  EXPECT_NEAR(boxes[0].corners[2].x, 30, 1e-9);
  EXPECT_NEAR(boxes[0].corners[2].y, 9, 1e-9);
}

TEST(TextBoxes, ABoxGrowsByAreaTimesRatioOverPerimeterAndStaysOnTheMap) {
  DetectOptions options;
  options.unclip = 1.5;  // 4 x 20: 80 * 1.5 / 48 = 2.5
  const auto boxes = text_boxes(map_of(20, 40, {{5, 9, 10, 30, 0.8f}}), options);
  EXPECT_NEAR(boxes.at(0).corners[0].x, 7.5, 1e-9);
  EXPECT_NEAR(boxes.at(0).corners[0].y, 2.5, 1e-9);
  EXPECT_NEAR(text_boxes(map_of(20, 40, {{0, 4, 0, 20, 0.8f}}), options).at(0).corners[0].x, 0, 1e-9);
}

TEST(TextBoxes, WeakAndSmallRegionsAreDropped) {
  EXPECT_EQ(text_boxes(map_of(20, 40, {{5, 9, 10, 30, 0.29f}})).size(), 0u);
  EXPECT_EQ(text_boxes(map_of(20, 40, {{5, 9, 10, 30, 0.45f}})).size(), 0u);
  EXPECT_EQ(text_boxes(map_of(20, 40, {{5, 7, 10, 30, 0.9f}})).size(), 0u);
  EXPECT_EQ(text_boxes(map_of(20, 40, {{5, 8, 10, 30, 0.9f}})).size(), 1u);
}

TEST(TextBoxes, PixelsThatTouchAtACornerAreOneRegion) {
  EXPECT_EQ(text_boxes(map_of(20, 40, {{2, 6, 2, 10, 0.9f}, {6, 10, 10, 20, 0.9f}})).size(), 1u);
  EXPECT_EQ(text_boxes(map_of(20, 40, {{2, 6, 2, 10, 0.9f}, {6, 10, 11, 20, 0.9f}})).size(), 2u);
}

TEST(TextBoxes, ASlantedBandGetsASlantedBox) {
  Tensor map = Tensor::zeros({80, 80}, DType::float32);
  auto* p = map.mutable_data<float>();
  const double angle = 0.5, c = std::cos(angle), s = std::sin(angle);
  for (int64_t y = 0; y < 80; ++y)
    for (int64_t x = 0; x < 80; ++x) {
      const double dx = static_cast<double>(x) + 0.5 - 40, dy = static_cast<double>(y) + 0.5 - 40;
      if (std::abs(dx * c + dy * s) < 30 && std::abs(dy * c - dx * s) < 5) p[y * 80 + x] = 1;
    }
  const auto boxes = text_boxes(map, tight());
  ASSERT_EQ(boxes.size(), 1u);
  const Quad& q = boxes[0].corners;
  EXPECT_NEAR(std::atan2(q[1].y - q[0].y, q[1].x - q[0].x), angle, 0.03);
  EXPECT_NEAR(std::hypot(q[1].x - q[0].x, q[1].y - q[0].y), 60, 2.5);
  EXPECT_NEAR(std::hypot(q[3].x - q[0].x, q[3].y - q[0].y), 10, 2.5);
}

TEST(TextBoxes, TheOrderIsLinesDownThenAcross) {
  const auto boxes =
      text_boxes(map_of(60, 60, {{40, 46, 5, 20, 0.9f}, {12, 18, 30, 50, 0.9f}, {10, 16, 5, 20, 0.9f}}), tight());
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_NEAR(boxes[0].corners[0].x, 5, 1e-9);
  EXPECT_NEAR(boxes[0].corners[0].y, 10, 1e-9);
  EXPECT_NEAR(boxes[1].corners[0].x, 30, 1e-9);
  EXPECT_NEAR(boxes[2].corners[0].y, 40, 1e-9);
}

TEST(TextBoxes, TheDetectorsOwnShapeIsTakenAndOthersAreRefused) {
  EXPECT_EQ(text_boxes(map_of(20, 40, {{5, 9, 10, 30, 0.8f}}).view({1, 1, 20, 40})).size(), 1u);
  EXPECT_NAMES(error_text(Code::shape,
                          [] {
                            text_boxes(Tensor::zeros({2, 1, 4, 4}, DType::float32));
                          }),
               "float32[2, 1, 4, 4]");
}

TEST(OcrInput, ChannelsAreTurnedToBgrAndScaledToMinusOneToOne) {
  const Tensor input = ocr_input(Tensor::of<uint8_t>({1, 2, 3}, {255, 0, 51, 0, 102, 255}));
  EXPECT_EQ(input.shape(), (Shape{1, 3, 1, 2}));
  const std::vector<double> got = input.to_doubles(), wanted = {-0.6, 1, -1, -0.2, 1, -1};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6);
}

TEST(DetectorPicture, SidesBecomeMultiplesWithinTheLongest) {
  const auto shape = [](int64_t h, int64_t w) {
    return detector_picture(Tensor::zeros({h, w, 3}, DType::uint8)).shape();
  };
  EXPECT_EQ(shape(64, 96), (Shape{64, 96, 3}));
  EXPECT_EQ(shape(50, 100), (Shape{64, 96, 3}));
  EXPECT_EQ(shape(3, 5), (Shape{32, 32, 3}));
  EXPECT_EQ(shape(960, 1920), (Shape{480, 960, 3}));
}

TEST(CtcClasses, TheBlankComesFirstAndTheSpaceLast) {
  EXPECT_EQ(ctc_classes("a\n\xC3\xA4\nb"), (std::vector<std::string>{"", "a", "\xC3\xA4", "b", " "}));
}

TEST(CtcText, RepeatsAreJoinedBlanksDroppedAndABlankSeparatesDoubleLetters) {
  const std::vector<std::string> classes = {"", "l", "o", " "};
  const auto decode = [&](const std::vector<int>& path) {
    Tensor p = Tensor::zeros({1, static_cast<int64_t>(path.size()), 4}, DType::float32);
    for (size_t t = 0; t < path.size(); ++t) p.mutable_data<float>()[t * 4 + static_cast<size_t>(path[t])] = 0.5f;
    return ctc_text(p, classes);
  };
  EXPECT_EQ(decode({0, 1, 1, 0, 1, 2, 2, 3, 3, 0, 2}).text, "llo o");
  EXPECT_NEAR(decode({1, 0, 2}).score, 0.5, 1e-9);
  EXPECT_EQ(decode({0, 0}).text, "");
  EXPECT_EQ(decode({}).score, 0);
  EXPECT_NAMES(error_text(Code::shape,
                          [&] {
                            ctc_text(Tensor::zeros({3, 5}, DType::float32), classes);
                          }),
               "5 classes, the dictionary 4");
}

}  // namespace
}  // namespace nbx::examples
