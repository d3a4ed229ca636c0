// SPDX-License-Identifier: Apache-2.0
// Pictures as tensors: uint8 [height, width, 3], RGB. PNG and JPEG are told apart by their first bytes, not by the
// name. Grey becomes three equal channels; a palette is looked up; 16 bits a channel become 8; an alpha channel is laid
// over white, as a page would show it; colour profiles and gamma are not applied; CMYK JPEG becomes RGB without a
// profile. A JPEG's orientation tag is not applied. A cut or damaged file is an error (file) naming it, never a part of
// a picture. Built with NBX_WITH_IMAGES; without it each call is an error (unsupported) that says so.
#pragma once
#include <string>

#include "io/limits.h"
#include "io/mapped_file.h"

namespace nbx {

bool is_picture(const FileBytes& file);  // by its first bytes
Tensor read_image(const std::string& path, const Limits& limits = {});
Tensor parse_image(const FileBytes& file, const Limits& limits = {});
// uint8 [height, width, 3], [height, width, 1], [height, width, 4] (with alpha) or [height, width] (grey). Atomic.
void write_png(const std::string& path, const Tensor& picture);

namespace codec {  // one file each, built when its library is there
Tensor decode_png(const FileBytes& file, const Limits& limits);
Tensor decode_jpeg(const FileBytes& file, const Limits& limits);
std::string encode_png(const std::string& where, const Tensor& picture);
// Error (file) for an empty picture or one of more than Limits::pixels.
void check_picture_size(const std::string& where, int64_t width, int64_t height, const Limits& limits);
}  // namespace codec

}  // namespace nbx
