// SPDX-License-Identifier: Apache-2.0
#include "io/image.h"

#include <cstring>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/quote.h"

namespace nbx {
namespace {

bool begins(const FileBytes& file, std::string_view mark) {
  return file->size() >= static_cast<int64_t>(mark.size()) && std::memcmp(file->data(), mark.data(), mark.size()) == 0;
}
constexpr std::string_view kPng("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpeg("\xff\xd8\xff", 3);

}  // namespace

bool is_picture(const FileBytes& file) { return begins(file, kPng) || begins(file, kJpeg); }

Tensor parse_image(const FileBytes& file, const Limits& limits) {
  if (begins(file, kPng)) {
#if NBX_HAVE_PNG
    return codec::decode_png(file, limits);
#else
    fail(Code::unsupported, "{}: this nbx is built without PNG; install libpng-dev and build with -DNBX_WITH_IMAGES=ON",
         file->path());
#endif
  }
  if (begins(file, kJpeg)) {
#if NBX_HAVE_JPEG
    return codec::decode_jpeg(file, limits);
#else
    fail(Code::unsupported,
         "{}: this nbx is built without JPEG; install libjpeg62-turbo-dev and build with -DNBX_WITH_IMAGES=ON",
         file->path());
#endif
  }
  static_cast<void>(limits);
  const auto shown = static_cast<size_t>(std::min<int64_t>(file->size(), 8));
  fail(Code::file, "{}: neither PNG nor JPEG; the file begins with {}", file->path(),
       shown == 0 ? "nothing" : quote({reinterpret_cast<const char*>(file->data()), shown}));
}

Tensor read_image(const std::string& path, const Limits& limits) { return parse_image(MappedFile::open(path), limits); }

void write_png(const std::string& path, const Tensor& picture) {
  const bool flat = picture.rank() == 2;
  require(picture.defined() && picture.dtype() == DType::uint8 && (flat || picture.rank() == 3), Code::shape,
          "{}: a PNG is written from uint8 [height, width, channels], not from {}", path,
          picture.defined() ? describe(picture) : "nothing");
  const int64_t channels = flat ? 1 : picture.dim(2);
  require(channels == 1 || channels == 3 || channels == 4, Code::shape, "{}: {} has {} channels; a PNG has 1, 3 or 4",
          path, describe(picture), channels);
  codec::check_picture_size(path, picture.dim(1), picture.dim(0), {});
#if NBX_HAVE_PNG
  write_file_atomically(path, codec::encode_png(path, picture));
#else
  fail(Code::unsupported, "{}: this nbx is built without PNG; install libpng-dev and build with -DNBX_WITH_IMAGES=ON",
       path);
#endif
}

void codec::check_picture_size(const std::string& where, int64_t width, int64_t height, const Limits& limits) {
  require(width > 0 && height > 0, Code::file, "{}: a picture of {} x {} pixels is empty", where, width, height);
  require(width <= limits.pixels / height, Code::file, "{}: {} x {} pixels; at most {} are allowed", where, width,
          height, limits.pixels);
}

}  // namespace nbx
