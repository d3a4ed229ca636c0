// SPDX-License-Identifier: Apache-2.0
// JPEG through libjpeg. It leaves by longjmp: see png.cpp for the rule.
#include <cstdio>  // before jpeglib.h, which uses FILE

#include <jpeglib.h>

#include <jerror.h>

#include <csetjmp>

#include "base/check.h"
#include "io/image.h"
#include "io/quote.h"

namespace nbx::codec {
namespace {

// A progressive file of a few kB can name thousands of scans of a large picture: minutes of work.
constexpr int kMostScans = 200;

struct Reading {
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX] = {};
  bool created = false;
  ~Reading() {
    if (created) jpeg_destroy_decompress(&jpeg);
  }
};

[[noreturn]] void leave(j_common_ptr jpeg) {
  auto* r = static_cast<Reading*>(jpeg->client_data);
  (*jpeg->err->format_message)(jpeg, r->text);
  std::longjmp(r->jump, 1);
}

// libjpeg fills what is missing with grey and warns; here that is an error. Stray bytes between markers are harmless.
void on_message(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA && jpeg->err->msg_code != JWRN_JFIF_MAJOR &&
      jpeg->err->msg_code != JWRN_ADOBE_XFORM)
    leave(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  auto* r = static_cast<Reading*>(jpeg->client_data);
  if (r->jpeg.input_scan_number <= kMostScans) return;
  std::snprintf(r->text, sizeof r->text, "more than %d scans", kMostScans);
  std::longjmp(r->jump, 1);
}

bool read_header(Reading& r, const unsigned char* data, unsigned long bytes) {
  if (setjmp(r.jump)) return false;
  jpeg_create_decompress(&r.jpeg);
  r.created = true;
  r.jpeg.client_data = &r;
  r.progress.progress_monitor = on_progress;
  r.jpeg.progress = &r.progress;
  jpeg_mem_src(&r.jpeg, data, bytes);
  jpeg_read_header(&r.jpeg, TRUE);
  return true;
}

// `row` starts at `out` and moves on by `stride`.
bool read_rows(Reading& r, J_COLOR_SPACE space, JSAMPLE* out, size_t stride) {
  if (setjmp(r.jump)) return false;
  r.jpeg.out_color_space = space;
  r.jpeg.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&r.jpeg);
  while (r.jpeg.output_scanline < r.jpeg.output_height) {
    JSAMPROW row = out + r.jpeg.output_scanline * stride;
    jpeg_read_scanlines(&r.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&r.jpeg);
  return true;
}

}  // namespace

Tensor decode_jpeg(const FileBytes& file, const Limits& limits) {
  Reading r;
  r.jpeg.err = jpeg_std_error(&r.errors);
  r.errors.error_exit = leave;
  r.errors.emit_message = on_message;
  r.jpeg.client_data = &r;
  const auto* data = reinterpret_cast<const unsigned char*>(file->data());
  require(read_header(r, data, static_cast<unsigned long>(file->size())), Code::file, "{}: damaged JPEG: {}",
          file->path(), quote(r.text, 120));
  const int64_t width = r.jpeg.image_width, height = r.jpeg.image_height;
  check_picture_size(file->path(), width, height, limits);
  const bool cmyk = r.jpeg.jpeg_color_space == JCS_CMYK || r.jpeg.jpeg_color_space == JCS_YCCK;
  // Adobe writes CMYK upside down: 255 means no ink.
  const bool inverted = r.jpeg.saw_Adobe_marker != 0;
  const int64_t channels = cmyk ? 4 : 3;

  Tensor read = Tensor::empty({height, width, channels}, DType::uint8);
  auto* pixels = read.mutable_data<uint8_t>();
  require(read_rows(r, cmyk ? JCS_CMYK : JCS_RGB, pixels, static_cast<size_t>(width * channels)), Code::file,
          "{}: damaged JPEG: {}", file->path(), quote(r.text, 120));
  if (!cmyk) return read;

  Tensor out = Tensor::empty({height, width, 3}, DType::uint8);
  auto* to = out.mutable_data<uint8_t>();
  for (int64_t i = 0; i < height * width; ++i, pixels += 4)
    for (int c = 0; c < 3; ++c) {
      const int paper = inverted ? pixels[c] : 255 - pixels[c];
      const int black = inverted ? pixels[3] : 255 - pixels[3];
      *to++ = static_cast<uint8_t>((paper * black + 127) / 255);
    }
  return out;
}

}  // namespace nbx::codec
