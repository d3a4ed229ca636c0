// SPDX-License-Identifier: Apache-2.0
// Pictures, uint8 [height, width, 3] RGB: sampling, resizing, drawing.
#pragma once
#include <nbx/tensor.h>

#include <array>

namespace nbx::examples {

struct Point {
  double x = 0, y = 0;  // pixel edges are whole numbers: the centre of the first pixel is (0.5, 0.5)
};
using Quad = std::array<Point, 4>;  // clockwise from the corner that is upper left for text
using Colour = std::array<uint8_t, 3>;

// Bilinear, over pixel centres, edges repeated; shrinking averages the pixels in between.
Tensor resize(const Tensor& picture, int64_t height, int64_t width);
// The parallelogram of quad[0], quad[1], quad[3] as a picture of its own.
Tensor cut_out(const Tensor& picture, const Quad& quad, int64_t height, int64_t width);
// The four sides, `thickness` pixels wide, on the picture itself.
void draw_quad(const Tensor& picture, const Quad& quad, Colour colour, int64_t thickness = 2);

}  // namespace nbx::examples
