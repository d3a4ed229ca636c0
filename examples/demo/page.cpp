// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nbx/session.h>

#include "base/check.h"
#include "demo/demo.h"
#include "io/image.h"
#include "models/ocr.h"
#include "models/picture.h"

namespace nbx::examples {

namespace {

std::string dictionary(const Model& model) {
  for (const auto& [key, text] : model.metadata())
    if (key == "character") return text;
  fail(Code::file, "model '{}' has no metadata 'character'; a PP-OCR recogniser is needed", model.name());
}

}  // namespace

void show_page(const Paths& paths, const std::string& file) {
  const double start = now_ms();
  const SessionOptions options{.threads = paths.threads};
  Session detector(Model::load(join(paths.models, "rapidocr/models/PP-OCRv6_det_small.onnx")), options);
  Session recogniser(Model::load(join(paths.models, "rapidocr/models/PP-OCRv6_rec_small.onnx")), options);
  const std::vector<std::string> classes = ctc_classes(dictionary(recogniser.model()));
  const double loaded = now_ms();

  const Tensor picture = read_image(file);
  const Tensor seen = detector_picture(picture);
  std::vector<Tensor> inputs{ocr_input(seen)}, map, steps;
  detector.run(inputs, map);
  std::vector<TextBox> boxes = text_boxes(map[0]);
  const double found = now_ms();
  const double sx = static_cast<double>(picture.dim(1)) / static_cast<double>(seen.dim(1));
  const double sy = static_cast<double>(picture.dim(0)) / static_cast<double>(seen.dim(0));
  fmt::print("\nPage (PP-OCR v6 small, loaded in {:.0f} ms): {}, {} x {}\n", loaded - start,
             file.substr(file.rfind('/') + 1), picture.dim(1), picture.dim(0));
  const Tensor drawn = picture.clone();
  for (const TextBox& box : boxes) {
    const Quad quad = scaled(box.corners, sx, sy);
    inputs[0] = ocr_input(line_picture(picture, quad));
    steps.clear();
    recogniser.run(inputs, steps);
    const TextLine line = ctc_text(steps[0], classes);
    fmt::print("  {:<40} {:.3f}\n", line.text, line.score);
    draw_quad(drawn, quad, {220, 30, 30});
  }
  const double read = now_ms();
  const std::string out = join(paths.out, "page-boxes.png");
  write_png(out, drawn);
  fmt::print("  {} lines: found in {:.1f} ms, read in {:.1f} ms; boxes drawn in {}\n", boxes.size(), found - loaded,
             read - found, out);
}

}  // namespace nbx::examples
