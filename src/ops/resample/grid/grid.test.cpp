// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "ops/resample/grid/grid.h"

namespace nbx {
namespace {

// The value at a grid point of a plane whose element (h, w) is 10 h + w.
double value(GridSpec s, double x, double y) {
  s.in_h = 3;
  s.in_w = 4;
  const GridTaps t = grid_taps(s, x, y);
  double sum = 0;
  for (int k = 0; k < t.count; ++k)
    if (t.at[k] >= 0) sum += t.weight[k] * static_cast<double>(t.at[k] / 4 * 10 + t.at[k] % 4);
  return sum;
}
GridSpec spec(GridSpec::Mode mode, GridSpec::Padding padding, bool align) {
  GridSpec s;
  s.mode = mode;
  s.padding = padding;
  s.align = align;
  return s;
}
using Mode = GridSpec::Mode;
using Padding = GridSpec::Padding;

TEST(GridTaps, AlignedCornersPointAtTheOuterElements) {
  const GridSpec s = spec(Mode::bilinear, Padding::zeros, true);
  EXPECT_DOUBLE_EQ(value(s, -1, -1), 0);
  EXPECT_DOUBLE_EQ(value(s, 1, 1), 23);
  EXPECT_DOUBLE_EQ(value(s, 0, 0), 11.5);
}
TEST(GridTaps, UnalignedCornersPointAtTheOuterEdgesSoZerosHalveThem) {
  EXPECT_DOUBLE_EQ(value(spec(Mode::bilinear, Padding::zeros, false), 1, 0), 13.0 / 2);
  EXPECT_DOUBLE_EQ(value(spec(Mode::bilinear, Padding::border, false), 1, 0), 13);
}
TEST(GridTaps, ReflectionComesBackFromTheEdge) {
  // x = 3.5 + 1 beyond the right edge at 3.5 mirrors to 2.5.
  EXPECT_DOUBLE_EQ(value(spec(Mode::bilinear, Padding::reflection, false), 1.5, 0), 12.5);
  EXPECT_DOUBLE_EQ(value(spec(Mode::nearest, Padding::reflection, true), 1 + 2.0 / 3, 0), 12);
}
TEST(GridTaps, BicubicReproducesAPlaneInside) {
  EXPECT_NEAR(value(spec(Mode::bicubic, Padding::border, true), 0, 0), 11.5, 1e-12);
}
TEST(GridTaps, FarPointsReadNothingOutside) {
  for (const auto mode : {Mode::bilinear, Mode::nearest, Mode::bicubic})
    EXPECT_EQ(value(spec(mode, Padding::zeros, false), 1e30, -1e30), 0);
}
TEST(GridTaps, NotANumberGivesNotANumberWhereWeightsMixElements) {
  EXPECT_TRUE(std::isnan(value(spec(Mode::bilinear, Padding::zeros, false), NAN, 0)));
  EXPECT_EQ(value(spec(Mode::nearest, Padding::zeros, false), NAN, 0), 0);
  EXPECT_EQ(value(spec(Mode::bilinear, Padding::border, true), NAN, -1), 0);  // the border's first column
}

}  // namespace
}  // namespace nbx
