// SPDX-License-Identifier: Apache-2.0
#include "models/picture.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace nbx::examples {
namespace {

void check_picture(const char* what, const Tensor& picture) {
  require(picture.rank() == 3 && picture.dtype() == DType::uint8 && picture.dim(2) == 3 && picture.numel() > 0,
          Code::shape, "{}: the picture is {}; it must be uint8 [height, width, 3] and not empty", what,
          describe(picture));
}

struct Source {
  const uint8_t* pixels;  // (height, width, 3)
  int64_t height, width;

  // Adds `weight` times the value at a point, between the four pixels around it.
  void add(Point at, double weight, double sum[3]) const {
    const double x = std::clamp(at.x - 0.5, 0.0, static_cast<double>(width - 1));
    const double y = std::clamp(at.y - 0.5, 0.0, static_cast<double>(height - 1));
    const auto x0 = static_cast<int64_t>(x), y0 = static_cast<int64_t>(y);
    const int64_t x1 = std::min(x0 + 1, width - 1), y1 = std::min(y0 + 1, height - 1);
    const double fx = x - static_cast<double>(x0), fy = y - static_cast<double>(y0);
    for (int c = 0; c < 3; ++c) {
      const auto pixel = [&](int64_t py, int64_t px) { return static_cast<double>(pixels[(py * width + px) * 3 + c]); };
      const double top = pixel(y0, x0) * (1 - fx) + pixel(y0, x1) * fx;
      const double bottom = pixel(y1, x0) * (1 - fx) + pixel(y1, x1) * fx;
      sum[c] += weight * (top * (1 - fy) + bottom * fy);
    }
  }
};

double distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }
// Points a pixel is sampled at along one side: one when it grows, as many as the pixels it covers when it shrinks.
int64_t samples(double length, int64_t pixels) {
  return std::clamp<int64_t>(std::llround(length / static_cast<double>(pixels)), 1, 16);
}

}  // namespace

Tensor cut_out(const Tensor& picture, const Quad& quad, int64_t height, int64_t width) {
  check_picture("cut_out", picture);
  require(height > 0 && width > 0, Code::value, "cut_out: {} x {} pixels", width, height);
  const Tensor dense = picture.contiguous();
  const Source source{dense.data<uint8_t>(), dense.dim(0), dense.dim(1)};
  const Point right{quad[1].x - quad[0].x, quad[1].y - quad[0].y}, down{quad[3].x - quad[0].x, quad[3].y - quad[0].y};
  const int64_t nx = samples(distance(quad[0], quad[1]), width), ny = samples(distance(quad[0], quad[3]), height);
  const double weight = 1.0 / static_cast<double>(nx * ny);

  Tensor out = Tensor::empty({height, width, 3}, DType::uint8);
  auto* to = out.mutable_data<uint8_t>();
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x, to += 3) {
      double sum[3] = {};
      for (int64_t j = 0; j < ny; ++j)
        for (int64_t i = 0; i < nx; ++i) {
          const double u = (static_cast<double>(x) + (static_cast<double>(i) + 0.5) / static_cast<double>(nx)) /
                           static_cast<double>(width);
          const double v = (static_cast<double>(y) + (static_cast<double>(j) + 0.5) / static_cast<double>(ny)) /
                           static_cast<double>(height);
          source.add({quad[0].x + u * right.x + v * down.x, quad[0].y + u * right.y + v * down.y}, weight, sum);
        }
      for (int c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(std::clamp(std::lround(sum[c]), 0L, 255L));
    }
  return out;
}

Tensor resize(const Tensor& picture, int64_t height, int64_t width) {
  check_picture("resize", picture);
  const auto h = static_cast<double>(picture.dim(0)), w = static_cast<double>(picture.dim(1));
  return cut_out(picture, Quad{Point{0, 0}, Point{w, 0}, Point{w, h}, Point{0, h}}, height, width);
}

void draw_quad(const Tensor& picture, const Quad& quad, Colour colour, int64_t thickness) {
  check_picture("draw_quad", picture);
  require(picture.is_contiguous(), Code::shape, "draw_quad: the picture {} must be contiguous", describe(picture));
  const int64_t height = picture.dim(0), width = picture.dim(1);
  auto* pixels = picture.mutable_data<uint8_t>();
  for (size_t side = 0; side < 4; ++side) {
    const Point a = quad[side], b = quad[(side + 1) % 4];
    const double length = distance(a, b);
    if (!(length <= 1e6 && std::abs(a.x) <= 1e6 && std::abs(a.y) <= 1e6)) continue;  // far outside, or no number
    const auto steps = static_cast<int64_t>(2 * length) + 1;
    for (int64_t i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / static_cast<double>(steps);
      const auto x0 = static_cast<int64_t>(std::floor(a.x + t * (b.x - a.x) - static_cast<double>(thickness - 1) / 2));
      const auto y0 = static_cast<int64_t>(std::floor(a.y + t * (b.y - a.y) - static_cast<double>(thickness - 1) / 2));
      for (int64_t y = std::max<int64_t>(y0, 0); y < std::min(y0 + thickness, height); ++y)
        for (int64_t x = std::max<int64_t>(x0, 0); x < std::min(x0 + thickness, width); ++x)
          std::copy(colour.begin(), colour.end(), pixels + (y * width + x) * 3);
    }
  }
}

}  // namespace nbx::examples
