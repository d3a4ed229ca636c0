// SPDX-License-Identifier: Apache-2.0
#include "models/picture.h"

#include <gtest/gtest.h>

#include "models/ocr.h"
#include "support/error_text.h"

namespace nbx::examples {
namespace {

Tensor columns(const std::vector<uint8_t>& values, int64_t height) {
  const auto width = static_cast<int64_t>(values.size());
  return Tensor::of<uint8_t>({1, width, 1}, std::span<const uint8_t>(values)).expand({height, width, 3}).contiguous();
}
std::vector<int64_t> row(const Tensor& picture, int64_t y) { return picture.select(0, y).select(1, 0).to_ints(); }

TEST(Resize, TheSameSizeGivesTheSamePixels) {
  const Tensor picture = columns({0, 10, 200, 255}, 3);
  EXPECT_TRUE(same_bits(resize(picture, 3, 4), picture));
}

TEST(Resize, GrowingIsBilinearOverPixelCentres) {
  EXPECT_EQ(row(resize(columns({0, 100}, 1), 1, 4), 0), (std::vector<int64_t>{0, 25, 75, 100}));
}

TEST(Resize, ShrinkingAveragesAllPixels) {
  EXPECT_EQ(row(resize(columns({0, 100, 40, 60, 0, 0, 0, 200}, 1), 1, 2), 0), (std::vector<int64_t>{50, 50}));
}

TEST(Resize, AnEmptyOrWrongPictureIsRefused) {
  EXPECT_NAMES(error_text(Code::shape, [] { resize(Tensor::zeros({0, 3, 3}, DType::uint8), 1, 1); }), "uint8[0, 3, 3]");
  EXPECT_NAMES(error_text(Code::value, [] { resize(columns({1}, 1), 0, 1); }), "1 x 0");
}

TEST(CutOut, AnUprightQuadIsTheSliceOfThePicture) {
  const Tensor picture = columns({1, 2, 3, 4, 5, 6}, 5);
  const Tensor cut = cut_out(picture, Quad{Point{2, 1}, Point{5, 1}, Point{5, 3}, Point{2, 3}}, 2, 3);
  EXPECT_TRUE(same_bits(cut, picture.narrow(0, 1, 2).narrow(1, 2, 3).contiguous()));
}

TEST(LinePicture, TheRatioIsKeptAndATallBoxIsTurned) {
  const Tensor picture = columns(std::vector<uint8_t>(100, 9), 100);
  EXPECT_EQ(line_picture(picture, Quad{Point{0, 0}, Point{80, 0}, Point{80, 20}, Point{0, 20}}).shape(),
            (Shape{48, 192, 3}));
  EXPECT_EQ(line_picture(picture, Quad{Point{0, 0}, Point{20, 0}, Point{20, 80}, Point{0, 80}}).shape(),
            (Shape{48, 192, 3}));
  EXPECT_EQ(line_picture(picture, Quad{Point{0, 0}, Point{1, 0}, Point{1, 1}, Point{0, 1}}).shape(),
            (Shape{48, 48, 3}));
}

TEST(DrawQuad, PaintsTheSidesAndNothingElse) {
  const Tensor picture = Tensor::zeros({10, 12, 3}, DType::uint8);
  draw_quad(picture, Quad{Point{2.5, 2.5}, Point{9.5, 2.5}, Point{9.5, 7.5}, Point{2.5, 7.5}}, {255, 0, 7}, 1);
  int64_t painted = 0;
  for (int64_t y = 0; y < 10; ++y)
    for (int64_t x = 0; x < 12; ++x) {
      const bool side = x >= 2 && x <= 9 && y >= 2 && y <= 7 && (x == 2 || x == 9 || y == 2 || y == 7);
      const auto pixel = picture.select(0, y).select(0, x).to_ints();
      EXPECT_EQ(pixel, side ? (std::vector<int64_t>{255, 0, 7}) : (std::vector<int64_t>{0, 0, 0})) << y << " " << x;
      painted += side;
    }
  EXPECT_EQ(painted, 24);
}

TEST(DrawQuad, APartOutsideThePictureIsLeftOut) {
  const Tensor picture = Tensor::zeros({4, 4, 3}, DType::uint8);
  draw_quad(picture, Quad{Point{-5, -5}, Point{1e300, 0}, Point{2, 2}, Point{-5, 20}}, {1, 1, 1}, 3);
  EXPECT_EQ(picture.shape(), (Shape{4, 4, 3}));
}

}  // namespace
}  // namespace nbx::examples
