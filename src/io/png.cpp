// SPDX-License-Identifier: Apache-2.0
// PNG through libpng. libpng leaves by longjmp: between setjmp and the end of a call into it no C++ object with a
// destructor is made, and all that such a call touches lives in a struct outside.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "base/check.h"
#include "io/image.h"
#include "io/quote.h"

namespace nbx::codec {
namespace {

struct Source {
  const std::byte* data;
  size_t left;
};

struct Reading {
  png_structp png = nullptr;
  png_infop info = nullptr;
  Source source = {};
  png_uint_32 width = 0, height = 0;
  bool alpha = false;
  int passes = 1;
  char error[160] = {};
  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

void on_error(png_structp png, png_const_charp text) {
  std::snprintf(static_cast<char*>(png_get_error_ptr(png)), sizeof Reading::error, "%s", text);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void pull(png_structp png, png_bytep out, png_size_t bytes) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (bytes > source->left) png_error(png, "the file is cut short");
  std::memcpy(out, source->data, bytes);
  source->data += bytes;
  source->left -= bytes;
}

// After this every pixel is 8-bit RGB, or RGBA when the picture has alpha. False after an error.
bool read_header(Reading& r, png_uint_32 most) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_set_read_fn(r.png, &r.source, pull);
  png_set_user_limits(r.png, most, most);
  png_set_chunk_malloc_max(r.png, 8'000'000);
  png_set_chunk_cache_max(r.png, 128);
  png_set_keep_unknown_chunks(r.png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
  png_read_info(r.png, r.info);
  r.width = png_get_image_width(r.png, r.info);
  r.height = png_get_image_height(r.png, r.info);
  png_set_expand(r.png);  // palette to RGB, few-bit grey to 8, tRNS to alpha
  png_set_scale_16(r.png);
  png_set_gray_to_rgb(r.png);
  r.passes = png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  r.alpha = (png_get_color_type(r.png, r.info) & PNG_COLOR_MASK_ALPHA) != 0;
  return true;
}

// Rows of `stride` bytes. No array of row pointers: for a picture one pixel wide it would be the larger part.
bool read_rows(Reading& r, png_bytep pixels, size_t stride) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  for (int pass = 0; pass < r.passes; ++pass)
    for (png_uint_32 y = 0; y < r.height; ++y) png_read_row(r.png, pixels + y * stride, nullptr);
  png_read_end(r.png, nullptr);
  return true;
}

uint8_t over_white(uint32_t value, uint32_t alpha) {
  return static_cast<uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace

Tensor decode_png(const FileBytes& file, const Limits& limits) {
  Reading r;
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r.error, on_error, on_warning);
  r.info = r.png == nullptr ? nullptr : png_create_info_struct(r.png);
  require(r.info != nullptr, Code::budget, "{}: no memory left to read a PNG", file->path());
  r.source = {file->data(), static_cast<size_t>(file->size())};
  const auto most = static_cast<png_uint_32>(std::min<int64_t>(limits.pixels, 0x7FFFFFFF));
  const bool has_header = read_header(r, most);  // a statement of its own: it writes r.error
  require(has_header, Code::file, "{}: damaged PNG: {}", file->path(), quote(r.error));
  check_picture_size(file->path(), r.width, r.height, limits);
  // Deflate packs at most 1032 to 1; a pixel has a bit or more, and a row a byte more for its filter.
  require((int64_t{r.width} / 8 + 1) * r.height / 1032 <= file->size(), Code::file,
          "{}: {} x {} pixels cannot come from {} bytes", file->path(), r.width, r.height, file->size());
  const int64_t channels = r.alpha ? 4 : 3;
  NBX_ASSERT(png_get_rowbytes(r.png, r.info) == static_cast<size_t>(channels * r.width));

  Tensor read = Tensor::empty({r.height, r.width, channels}, DType::uint8);
  auto* pixels = read.mutable_data<uint8_t>();
  const bool has_rows = read_rows(r, pixels, static_cast<size_t>(channels * r.width));
  require(has_rows, Code::file, "{}: damaged PNG: {}", file->path(), quote(r.error));
  if (!r.alpha) return read;

  Tensor out = Tensor::empty({r.height, r.width, 3}, DType::uint8);
  auto* to = out.mutable_data<uint8_t>();
  for (int64_t i = 0; i < read.numel(); i += 4)
    for (int64_t c = 0; c < 3; ++c) *to++ = over_white(pixels[i + c], pixels[i + 3]);
  return out;
}

std::string encode_png(const std::string& where, const Tensor& picture) {
  const Tensor dense = picture.contiguous();
  const int64_t channels = dense.rank() == 2 ? 1 : dense.dim(2);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(dense.dim(0));
  image.width = static_cast<png_uint_32>(dense.dim(1));
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t bytes = PNG_IMAGE_COMPRESSED_SIZE_MAX(image);
  std::string out(bytes + 1024, '\0');
  bytes = out.size();
  const bool done = png_image_write_to_memory(&image, out.data(), &bytes, 0, dense.raw(), 0, nullptr) != 0;
  require(done, Code::file, "{}: libpng: {}", where, quote(image.message));
  out.resize(bytes);
  return out;
}

}  // namespace nbx::codec
