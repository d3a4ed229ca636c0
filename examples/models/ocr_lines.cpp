// SPDX-License-Identifier: Apache-2.0
// Pictures for the two networks, and text from the second.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "models/ocr.h"

namespace nbx::examples {

Tensor ocr_input(const Tensor& picture) {
  require(picture.rank() == 3 && picture.dtype() == DType::uint8 && picture.dim(2) == 3, Code::shape,
          "ocr_input: the picture is {}; it must be uint8 [height, width, 3]", describe(picture));
  const int64_t height = picture.dim(0), width = picture.dim(1), plane = height * width;
  const Tensor dense = picture.contiguous();
  Tensor out = Tensor::empty({1, 3, height, width}, DType::float32);
  const auto* from = dense.data<uint8_t>();  // (height, width, 3) RGB
  auto* to = out.mutable_data<float>();      // (3, height, width) BGR
  for (int64_t i = 0; i < plane; ++i)
    for (int64_t c = 0; c < 3; ++c)
      to[c * plane + i] = (static_cast<float>(from[i * 3 + 2 - c]) / 255.0f - 0.5f) / 0.5f;
  return out;
}

Tensor detector_picture(const Tensor& picture, int64_t multiple, int64_t longest) {
  require(picture.rank() == 3 && picture.numel() > 0, Code::shape, "detector_picture: the picture is {}",
          describe(picture));
  require(multiple > 0 && longest >= multiple, Code::value, "detector_picture: multiples of {} up to {}", multiple,
          longest);
  const double scale =
      std::min(1.0, static_cast<double>(longest) / static_cast<double>(std::max(picture.dim(0), picture.dim(1))));
  const auto side = [&](int64_t extent) {
    const auto wanted = std::lround(static_cast<double>(extent) * scale / static_cast<double>(multiple));
    return std::clamp<int64_t>(wanted, 1, longest / multiple) * multiple;
  };
  const int64_t height = side(picture.dim(0)), width = side(picture.dim(1));
  return height == picture.dim(0) && width == picture.dim(1) ? picture : resize(picture, height, width);
}

Tensor line_picture(const Tensor& picture, const Quad& box, int64_t height) {
  constexpr double kLongest = 4096;  // pixels of a line; a thinner sliver is no text
  Quad quad = box;
  const auto side = [&](size_t a, size_t b) { return std::hypot(quad[a].x - quad[b].x, quad[a].y - quad[b].y); };
  // A column of text, written sideways: its top is at the right.
  if (side(0, 3) >= 1.5 * side(0, 1)) quad = {box[1], box[2], box[3], box[0]};
  const double wide = static_cast<double>(height) * side(0, 1) / std::max(side(0, 3), 1e-6);
  const auto width = static_cast<int64_t>(std::ceil(std::clamp(wide, 16.0, kLongest) / 8)) * 8;
  return cut_out(picture, quad, height, width);
}

std::vector<std::string> ctc_classes(std::string_view character) {
  std::vector<std::string> out = {""};
  for (size_t begin = 0;;) {
    const size_t end = character.find('\n', begin);
    out.emplace_back(character.substr(begin, end - begin));
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  out.emplace_back(" ");
  return out;
}

TextLine ctc_text(const Tensor& probabilities, const std::vector<std::string>& classes) {
  Tensor steps = probabilities;
  if (steps.rank() == 3 && steps.dim(0) == 1) steps = steps.select(0, 0);
  require(steps.rank() == 2 && steps.dtype() == DType::float32, Code::shape,
          "ctc_text: the output is {}; it must be float32 [steps, classes] or [1, steps, classes]",
          describe(probabilities));
  require(steps.dim(1) == static_cast<int64_t>(classes.size()), Code::shape,
          "ctc_text: the output has {} classes, the dictionary {}; they belong to different models", steps.dim(1),
          classes.size());
  const Tensor dense = steps.contiguous();
  TextLine out;
  int64_t before = 0, characters = 0;
  for (int64_t t = 0; t < dense.dim(0); ++t) {
    const auto* row = dense.data<float>() + t * dense.dim(1);  // (classes)
    const int64_t best = std::max_element(row, row + dense.dim(1)) - row;
    if (best != 0 && best != before) {
      out.text += classes[static_cast<size_t>(best)];
      out.score += row[best];
      ++characters;
    }
    before = best;
  }
  if (characters > 0) out.score /= static_cast<double>(characters);
  return out;
}

}  // namespace nbx::examples
