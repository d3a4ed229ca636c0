// SPDX-License-Identifier: Apache-2.0
#include "io/image.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temp_folder.h"

#if NBX_HAVE_PNG && NBX_HAVE_JPEG
#include <png.h>

#include <cstdio>

#include <jpeglib.h>

namespace nbx {
namespace {

Tensor gradient(int64_t height, int64_t width, int64_t channels) {
  Tensor out = Tensor::empty({height, width, channels}, DType::uint8);
  auto* p = out.mutable_data<uint8_t>();
  for (int64_t i = 0; i < out.numel(); ++i) p[i] = static_cast<uint8_t>(i * 7 % 251);
  return out;
}

// A PNG of any colour type and bit depth, of rows given as they lie in the file.
std::string raw_png(uint32_t width, uint32_t height, int depth, int type, const std::string& rows,
                    bool interlaced = false, const std::vector<png_color>& palette = {},
                    const std::vector<uint8_t>& transparent = {}) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, png_size_t bytes) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), bytes);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, depth, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  if (!transparent.empty()) png_set_tRNS(png, info, transparent.data(), static_cast<int>(transparent.size()), nullptr);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  const size_t stride = rows.size() / height;
  for (uint32_t y = 0; y < height; ++y)
    pointers.push_back(reinterpret_cast<png_bytep>(const_cast<char*>(rows.data() + y * stride)));
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::string jpeg(const Tensor& picture, J_COLOR_SPACE space, bool progressive = false) {
  jpeg_compress_struct c = {};
  jpeg_error_mgr errors = {};
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&c, &bytes, &size);
  c.image_height = static_cast<JDIMENSION>(picture.dim(0));
  c.image_width = static_cast<JDIMENSION>(picture.dim(1));
  c.input_components = static_cast<int>(picture.dim(2));
  c.in_color_space = space;
  jpeg_set_defaults(&c);
  jpeg_set_quality(&c, 95, TRUE);
  if (progressive) jpeg_simple_progression(&c);
  jpeg_start_compress(&c, TRUE);
  const auto* from = picture.data<uint8_t>();
  while (c.next_scanline < c.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(from + c.next_scanline * picture.dim(1) * picture.dim(2));
    jpeg_write_scanlines(&c, &row, 1);
  }
  jpeg_finish_compress(&c);
  std::string out(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&c);
  free(bytes);
  return out;
}

Tensor parse(const std::string& bytes) { return parse_image(MappedFile::in_memory("a.png", bytes)); }
std::string refused(const std::string& bytes, const Limits& limits = {}) {
  const std::string text = error_text(Code::file, [&] { parse_image(MappedFile::in_memory("a.png", bytes), limits); });
  EXPECT_NAMES(text, "a.png");
  return text;
}
std::vector<int64_t> pixel(const Tensor& picture, int64_t y, int64_t x) {
  return picture.select(0, y).select(0, x).to_ints();
}

TEST(Image, AWrittenPngComesBackPixelForPixel) {
  const TempFolder folder;
  const Tensor picture = gradient(5, 7, 3);
  write_png(folder / "a.png", picture);
  EXPECT_TRUE(same_bits(read_image(folder / "a.png"), picture));
  write_png(folder / "b.png", picture.flip({1}));  // a strided view
  EXPECT_TRUE(same_bits(read_image(folder / "b.png"), picture.flip({1}).contiguous()));
}

TEST(Image, GreyBecomesThreeEqualChannels) {
  const TempFolder folder;
  write_png(folder / "a.png", gradient(2, 3, 1).view({2, 3}));
  EXPECT_EQ(pixel(read_image(folder / "a.png"), 1, 0), (std::vector<int64_t>{21, 21, 21}));
  EXPECT_EQ(pixel(parse(raw_png(8, 1, 1, PNG_COLOR_TYPE_GRAY, "\x40")), 0, 1), (std::vector<int64_t>{255, 255, 255}));
  EXPECT_EQ(pixel(parse(raw_png(1, 1, 16, PNG_COLOR_TYPE_GRAY, "\x80\x00")), 0, 0)[0], 128);
}

TEST(Image, AlphaIsLaidOverWhite) {
  const Tensor rgba = Tensor::of<uint8_t>({1, 3, 4}, {10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 255, 128});
  const TempFolder folder;
  write_png(folder / "a.png", rgba);
  const Tensor back = read_image(folder / "a.png");
  EXPECT_EQ(back.shape(), (Shape{1, 3, 3}));
  EXPECT_EQ(pixel(back, 0, 0), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(pixel(back, 0, 1), (std::vector<int64_t>{255, 255, 255}));
  EXPECT_EQ(pixel(back, 0, 2), (std::vector<int64_t>{127, 177, 255}));
}

TEST(Image, APaletteWithTransparencyIsLookedUp) {
  const std::string bytes =
      raw_png(2, 1, 8, PNG_COLOR_TYPE_PALETTE, std::string("\0\1", 2), false, {{1, 2, 3}, {4, 5, 6}}, {255, 0});
  EXPECT_EQ(parse(bytes).to_ints(), (std::vector<int64_t>{1, 2, 3, 255, 255, 255}));
}

TEST(Image, AnInterlacedPngIsReadLikeAPlainOne) {
  const Tensor picture = gradient(9, 11, 3);
  const std::string rows(static_cast<const char*>(picture.raw()), static_cast<size_t>(picture.nbytes()));
  EXPECT_TRUE(same_bits(parse(raw_png(11, 9, 8, PNG_COLOR_TYPE_RGB, rows, true)), picture));
}

TEST(Image, EveryCutOfAPngIsAnErrorThatNamesTheFile) {
  const Tensor picture = gradient(9, 11, 3);
  const std::string rows(static_cast<const char*>(picture.raw()), static_cast<size_t>(picture.nbytes()));
  const std::string good = raw_png(11, 9, 8, PNG_COLOR_TYPE_RGB, rows);
  for (size_t cut = 0; cut < good.size(); ++cut) refused(good.substr(0, cut));
  std::string flipped = good;
  flipped[60] ^= 4;
  EXPECT_NAMES(refused(flipped), "damaged PNG");
}

TEST(Image, APngThatClaimsMorePixelsThanAllowedOrPossibleIsRefusedBeforeAnyIsRead) {
  const std::string good = raw_png(4, 4, 8, PNG_COLOR_TYPE_GRAY, std::string(16, '\0'));
  Limits limits;
  limits.pixels = 15;
  EXPECT_NAMES(refused(good, limits), "4 x 4 pixels; at most 15");
  std::string claims = good;
  const std::string header = std::string("IHDR\0\0\x20\0\0\0\x20\0\x08\0\0\0\0", 17);  // 8192 x 8192
  claims.replace(12, 17, header);
  png_uint_32 crc = 0xFFFFFFFF;  // of the chunk's type and data
  for (unsigned char byte : header) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
  }
  crc = ~crc;
  for (int i = 0; i < 4; ++i) claims[29 + static_cast<size_t>(i)] = static_cast<char>(crc >> (24 - 8 * i));
  EXPECT_NAMES(refused(claims), "8192 x 8192 pixels cannot come from");
}

TEST(Image, AJpegIsReadAsRgbWithinItsLoss) {
  const Tensor red = Tensor::of<uint8_t>({1, 1, 3}, {200, 30, 40}).expand({16, 24, 3}).contiguous();
  for (bool progressive : {false, true}) {
    const Tensor back = parse(jpeg(red, JCS_RGB, progressive));
    ASSERT_EQ(back.shape(), (Shape{16, 24, 3}));
    EXPECT_NEAR(static_cast<double>(pixel(back, 8, 8)[0]), 200, 3);
    EXPECT_NEAR(static_cast<double>(pixel(back, 8, 8)[1]), 30, 3);
  }
  EXPECT_EQ(parse(jpeg(gradient(8, 8, 1), JCS_GRAYSCALE)).shape(), (Shape{8, 8, 3}));
}

TEST(Image, ACmykJpegBecomesRgb) {
  // libjpeg writes no Adobe marker for plain CMYK here: 255 is full ink. Full cyan, no black: red is gone.
  const Tensor cyan = Tensor::of<uint8_t>({1, 1, 4}, {255, 0, 0, 0}).expand({8, 8, 4}).contiguous();
  const std::vector<int64_t> got = pixel(parse(jpeg(cyan, JCS_CMYK)), 4, 4);
  const bool upright = got[0] < 10 && got[1] > 245 && got[2] > 245;
  const bool adobe = got[0] < 10 && got[1] < 10 && got[2] < 10;  // an Adobe marker: 0 is full ink, black included
  EXPECT_TRUE(upright || adobe) << got[0] << " " << got[1] << " " << got[2];
}

TEST(Image, ACutJpegIsAnErrorAndNoGreyRest) {
  for (bool progressive : {false, true}) {
    const std::string good = jpeg(gradient(64, 64, 3), JCS_RGB, progressive);
    for (size_t cut = 0; cut + 2 < good.size(); cut += 7) refused(good.substr(0, cut));
    EXPECT_NAMES(refused(good.substr(0, good.size() / 2)), "damaged JPEG");
  }
}

TEST(Image, WhatIsNoPictureIsRefusedNamingItsFirstBytes) {
  EXPECT_NAMES(refused("GIF89a"), "GIF89a");
  EXPECT_NAMES(refused(""), "nothing");
}

TEST(Image, APngIsWrittenOnlyFromBytesInRows) {
  const TempFolder folder;
  EXPECT_NAMES(error_text(Code::shape,
                          [&] {
                            write_png(folder / "a.png", Tensor::zeros({2, 2, 3}, DType::float32));
                          }),
               "float32");
  EXPECT_NAMES(error_text(Code::shape,
                          [&] {
                            write_png(folder / "a.png", Tensor::zeros({2, 2, 2}, DType::uint8));
                          }),
               "2 channels");
}

}  // namespace
}  // namespace nbx
#else
TEST(Image, WithoutTheLibrariesTheErrorSaysHowToGetThem) {
  const std::string png("\x89PNG\r\n\x1a\n", 8);
  EXPECT_NAMES(
      nbx::error_text(nbx::Code::unsupported, [&] { nbx::parse_image(nbx::MappedFile::in_memory("a.png", png)); }),
      "NBX_WITH_IMAGES");
}
#endif
