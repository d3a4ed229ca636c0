// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/eager.h"
#include "ops/resample/axis.h"

namespace nbx {
namespace {

std::vector<double> line(const ResizeAxis& a, const std::vector<double>& x) {
  std::vector<double> y;
  for (int64_t i = 0; i < a.out; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < a.taps; ++k) {
      const auto tap = static_cast<size_t>(i * a.taps + k);
      sum += (a.weight.empty() ? 1 : a.weight[tap]) * x[static_cast<size_t>(a.index[tap])];
    }
    y.push_back(sum);
  }
  return y;
}
void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << "element " << i;
}
ResizeRule rule(ResizeMode mode, Corners corners) {
  ResizeRule r;
  r.mode = mode;
  r.corners = corners;
  return r;
}

TEST(ResizeAxis, LinearHalfPixelRepeatsTheEdgesAndMixesQuarters) {
  expect_near(line(resize_axis(2, 4, 2, rule(ResizeMode::linear, Corners::half_pixel)), {1, 2}), {1, 1.25, 1.75, 2});
}
TEST(ResizeAxis, AlignedCornersMapEndsToEnds) {
  expect_near(line(resize_axis(4, 7, 0, rule(ResizeMode::linear, Corners::align_corners)), {0, 2, 4, 6}),
              {0, 1, 2, 3, 4, 5, 6});
}
TEST(ResizeAxis, CubicReproducesAStraightLineInside) {
  const auto y = line(resize_axis(8, 16, 0, rule(ResizeMode::cubic, Corners::asymmetric)), {0, 1, 2, 3, 4, 5, 6, 7});
  for (size_t i = 2; i + 4 < y.size(); ++i) EXPECT_NEAR(y[i], 0.5 * static_cast<double>(i), 1e-9);
}
TEST(ResizeAxis, SizesGiveExactFractionsSoThatFloorNeverFallsShort) {
  ResizeRule r = rule(ResizeMode::nearest, Corners::asymmetric);
  r.rounding = Rounding::floor;
  for (int64_t in = 1; in < 40; ++in)
    for (int64_t out = 1; out < 40; ++out) {
      const ResizeAxis a = resize_axis(in, out, 0, r);
      for (int64_t i = 0; i < out; ++i) ASSERT_EQ(a.index[static_cast<size_t>(i)], i * in / out) << in << " to " << out;
    }
}
TEST(ResizeAxis, TheFourRoundingsDifferAtTheMiddle) {
  // 4 to 8, asymmetric: coordinates 0, 0.5, 1, ...
  const auto second = [](Rounding rounding) {
    ResizeRule r = rule(ResizeMode::nearest, Corners::asymmetric);
    r.rounding = rounding;
    return resize_axis(4, 8, 0, r).index[1];
  };
  EXPECT_EQ(second(Rounding::prefer_floor), 0);
  EXPECT_EQ(second(Rounding::prefer_ceil), 1);
  EXPECT_EQ(second(Rounding::floor), 0);
  EXPECT_EQ(second(Rounding::ceil), 1);
}
TEST(ResizeAxis, AntialiasAveragesWhatItSkips) {
  ResizeRule r = rule(ResizeMode::linear, Corners::half_pixel);
  r.antialias = true;
  // A triangle of width 4 around 0.5 and 2.5: weights 1/8, 3/8, 3/8, 1/8, the edge repeated.
  expect_near(line(resize_axis(4, 2, 0.5, r), {1, 2, 3, 4}),
              {(1 + 3 * 1 + 3 * 2 + 3) / 8.0, (2 + 3 * 3 + 3 * 4 + 4) / 8.0});
}
TEST(ResizeAxis, CropLeavesTheInputOutsideAndSaysSo) {
  const ResizeAxis a = resize_axis(4, 3, 0, rule(ResizeMode::linear, Corners::crop), 0.5, 1.5);
  EXPECT_EQ(a.outside, (std::vector<uint8_t>{0, 0, 1}));
}

}  // namespace
}  // namespace nbx
