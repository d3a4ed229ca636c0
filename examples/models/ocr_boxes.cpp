// SPDX-License-Identifier: Apache-2.0
// From a map of probabilities to boxes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "models/ocr.h"

namespace nbx::examples {
namespace {

struct Region {
  std::vector<Point> outline;  // corners of its first and last pixel in each row
  double sum = 0;
  int64_t pixels = 0;
};

// Connected regions (eight neighbours) of pixels above the threshold, in order of their first pixel.
std::vector<Region> regions(const float* map, int64_t height, int64_t width, double threshold) {
  std::vector<uint8_t> open(static_cast<size_t>(height * width));
  for (size_t i = 0; i < open.size(); ++i) open[i] = map[i] > threshold;
  std::vector<Region> out;
  std::vector<int64_t> stack, low(static_cast<size_t>(height)), high(static_cast<size_t>(height));
  for (int64_t start = 0; start < height * width; ++start) {
    if (!open[static_cast<size_t>(start)]) continue;
    Region region;
    int64_t top = start / width, bottom = top;
    std::fill(low.begin(), low.end(), std::numeric_limits<int64_t>::max());
    std::fill(high.begin(), high.end(), int64_t{-1});
    stack.assign(1, start);
    open[static_cast<size_t>(start)] = 0;
    while (!stack.empty()) {
      const int64_t at = stack.back(), y = at / width, x = at % width;
      stack.pop_back();
      region.sum += map[at];
      ++region.pixels;
      bottom = std::max(bottom, y);
      low[static_cast<size_t>(y)] = std::min(low[static_cast<size_t>(y)], x);
      high[static_cast<size_t>(y)] = std::max(high[static_cast<size_t>(y)], x);
      for (int64_t ny = std::max<int64_t>(y - 1, 0); ny <= std::min(y + 1, height - 1); ++ny)
        for (int64_t nx = std::max<int64_t>(x - 1, 0); nx <= std::min(x + 1, width - 1); ++nx) {
          uint8_t& next = open[static_cast<size_t>(ny * width + nx)];
          if (!next) continue;
          next = 0;
          stack.push_back(ny * width + nx);
        }
    }
    for (int64_t y = top; y <= bottom; ++y)
      for (double edge : {0.0, 1.0}) {
        const auto py = static_cast<double>(y) + edge;
        region.outline.push_back({static_cast<double>(low[static_cast<size_t>(y)]), py});
        region.outline.push_back({static_cast<double>(high[static_cast<size_t>(y)] + 1), py});
      }
    out.push_back(std::move(region));
  }
  return out;
}

double cross(Point o, Point a, Point b) { return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x); }

// Andrew's monotone chain.
std::vector<Point> hull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(), [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Point> out;
  for (int pass = 0; pass < 2; ++pass) {
    const size_t base = out.size();
    for (Point p : points) {
      while (out.size() >= base + 2 && cross(out[out.size() - 2], out.back(), p) <= 0) out.pop_back();
      out.push_back(p);
    }
    out.pop_back();  // the first of the other chain
    std::reverse(points.begin(), points.end());
  }
  return out;
}

struct Rectangle {
  Point centre;
  double width = 0, height = 0;  // along and across `angle`
  double angle = 0;              // of the width, radians, in (-pi/4, pi/4]
};

// The smallest rectangle has a side on the hull. An upright one is preferred when it is hardly larger: text mostly is.
Rectangle smallest_rectangle(const std::vector<Point>& corners) {
  Rectangle best;
  double best_area = std::numeric_limits<double>::max();
  const auto consider = [&](double angle, double allowance) {
    const double c = std::cos(angle), s = std::sin(angle);
    double u0 = std::numeric_limits<double>::max(), v0 = u0, u1 = -u0, v1 = -u0;
    for (Point p : corners) {
      const double u = p.x * c + p.y * s, v = p.y * c - p.x * s;
      u0 = std::min(u0, u);
      u1 = std::max(u1, u);
      v0 = std::min(v0, v);
      v1 = std::max(v1, v);
    }
    const double area = (u1 - u0) * (v1 - v0);
    if (area >= best_area * allowance) return;
    best_area = area;
    const double u = (u0 + u1) / 2, v = (v0 + v1) / 2;
    best = {{u * c - v * s, u * s + v * c}, u1 - u0, v1 - v0, angle};
  };
  consider(0, 1);
  const double quarter = std::acos(0.0);
  for (size_t i = 0; i < corners.size(); ++i) {
    const Point a = corners[i], b = corners[(i + 1) % corners.size()];
    double angle = std::remainder(std::atan2(b.y - a.y, b.x - a.x), quarter);  // in [-pi/4, pi/4]
    if (angle != 0) consider(angle, best.angle == 0 ? 0.9 : 1.0);
  }
  return best;
}

Quad corners_of(const Rectangle& r) {
  const double c = std::cos(r.angle), s = std::sin(r.angle), w = r.width / 2, h = r.height / 2;
  const auto corner = [&](double u, double v) { return Point{r.centre.x + u * c - v * s, r.centre.y + u * s + v * c}; };
  return {corner(-w, -h), corner(w, -h), corner(w, h), corner(-w, h)};
}

double middle(const TextBox& box) { return (box.corners[0].y + box.corners[2].y) / 2; }
double left(const TextBox& box) { return std::min(box.corners[0].x, box.corners[3].x); }
double tall(const TextBox& box) {
  return std::hypot(box.corners[3].x - box.corners[0].x, box.corners[3].y - box.corners[0].y);
}

}  // namespace

std::vector<TextBox> text_boxes(const Tensor& probabilities, const DetectOptions& options) {
  Tensor map = probabilities;
  if (map.rank() == 4 && map.dim(0) == 1 && map.dim(1) == 1) map = map.select(0, 0).select(0, 0);
  require(map.rank() == 2 && map.dtype() == DType::float32, Code::shape,
          "text_boxes: the map is {}; it must be float32 [height, width] or [1, 1, height, width]",
          describe(probabilities));
  const Tensor dense = map.contiguous();
  const int64_t height = dense.dim(0), width = dense.dim(1);
  std::vector<TextBox> out;
  if (dense.numel() == 0) return out;
  for (const Region& region : regions(dense.data<float>(), height, width, options.pixel_threshold)) {
    const double score = region.sum / static_cast<double>(region.pixels);
    Rectangle box = smallest_rectangle(hull(region.outline));
    if (score < options.box_threshold || std::min(box.width, box.height) < options.min_side) continue;
    const double grow = box.width * box.height * options.unclip / (2 * (box.width + box.height));
    box.width += 2 * grow;
    box.height += 2 * grow;
    TextBox found{corners_of(box), score};
    for (Point& p : found.corners)
      p = {std::clamp(p.x, 0.0, static_cast<double>(width)), std::clamp(p.y, 0.0, static_cast<double>(height))};
    out.push_back(found);
  }
  sort_reading_order(out);
  return out;
}

void sort_reading_order(std::vector<TextBox>& boxes) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const TextBox& a, const TextBox& b) { return middle(a) < middle(b); });
  // A line takes all boxes whose middle is within half the height of its first.
  for (size_t begin = 0; begin < boxes.size();) {
    size_t end = begin + 1;
    while (end < boxes.size() && middle(boxes[end]) - middle(boxes[begin]) < tall(boxes[begin]) / 2) ++end;
    std::stable_sort(boxes.begin() + static_cast<std::ptrdiff_t>(begin),
                     boxes.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const TextBox& a, const TextBox& b) { return left(a) < left(b); });
    begin = end;
  }
}

Quad scaled(const Quad& quad, double x, double y) {
  Quad out = quad;
  for (Point& p : out) p = {p.x * x, p.y * y};
  return out;
}

}  // namespace nbx::examples
