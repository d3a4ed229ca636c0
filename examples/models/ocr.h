// SPDX-License-Identifier: Apache-2.0
// Around PP-OCR: picture → input of the detector, its probability map → boxes of lines (Liao et al. 2020, "Real-time
// scene text detection with differentiable binarization"), a box → input of the recogniser, its output → text (CTC).
#pragma once
#include <nbx/tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include "models/picture.h"

namespace nbx::examples {

// float32 [1, 3, H, W] from uint8 [H, W, 3]: BGR, (value / 255 - 0.5) / 0.5.
Tensor ocr_input(const Tensor& picture);
// The picture with sides that are multiples of `multiple`, the longer one at most `longest`: itself when it is so
// already.
Tensor detector_picture(const Tensor& picture, int64_t multiple = 32, int64_t longest = 960);

struct DetectOptions {
  double pixel_threshold = 0.3;  // of the map, for a pixel to belong to text
  double box_threshold = 0.5;    // of a box's mean probability
  double unclip = 1.6;           // a box grows by area x unclip / perimeter: the map shows lines shrunk
  double min_side = 3;           // pixels, before growing
};
struct TextBox {
  Quad corners;      // in pixels of the map
  double score = 0;  // mean probability of the pixels of text
};
// Boxes in reading order from float32 [H, W] (or [1, 1, H, W]): the smallest rotated rectangles around each connected
// region.
std::vector<TextBox> text_boxes(const Tensor& probabilities, const DetectOptions& options = {});
// In order: lines from top to bottom, boxes of one line from left to right.
void sort_reading_order(std::vector<TextBox>& boxes);
// From pixels of one size of a picture to another's.
Quad scaled(const Quad& quad, double x, double y);

// The line as uint8 [height, width, 3]: ratio kept, width a multiple of 8; a box half as high again as wide is turned
// upright.
Tensor line_picture(const Tensor& picture, const Quad& box, int64_t height = 48);

// Class 0 is the blank, class i is entry i - 1 of the text (a line each), the last class is a space.
std::vector<std::string> ctc_classes(std::string_view character);
struct TextLine {
  std::string text;
  double score = 0;  // mean probability of the characters; 0 without any
};
// Greedy: the likeliest class of each step, repeats joined, blanks dropped. float32 [steps, classes] or [1, steps,
// classes].
TextLine ctc_text(const Tensor& probabilities, const std::vector<std::string>& classes);

}  // namespace nbx::examples
