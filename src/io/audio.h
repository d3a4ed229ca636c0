// SPDX-License-Identifier: Apache-2.0
// Sounds as tensors: float32 [frames, channels], integers scaled by their full range (16 bits: value / 32768), and the
// rate in Hz. WAV, FLAC and AIFF, told apart by content. A cut or damaged file is an error (file) naming it; libsndfile
// alone would give the part that is there. Built with NBX_WITH_SOUND; without it each call is an error (unsupported)
// that says so.
#pragma once
#include <string>

#include "io/limits.h"
#include "io/mapped_file.h"

namespace nbx {

struct Sound {
  Tensor samples;  // float32 [frames, channels]
  int rate = 0;    // Hz
};

Sound read_sound(const std::string& path, const Limits& limits = {});
Sound parse_sound(const FileBytes& file, const Limits& limits = {});

enum class WavFormat { pcm16, float32 };
// `samples`: float32 [frames] or [frames, channels]; pcm16 clips to [-1, 1). Atomic.
void write_wav(const std::string& path, const Tensor& samples, int rate, WavFormat format = WavFormat::pcm16);

// The mean over the channels: float32 [frames].
Tensor mono(const Sound& sound);

namespace codec {
Sound decode_sound(const FileBytes& file, const Limits& limits);
std::string encode_wav(const std::string& where, const Tensor& samples, int rate, WavFormat format);
// RIFF's own sizes against the file: error (file) naming the chunk when one reaches past the end.
void check_wav(const FileBytes& file);
}  // namespace codec

}  // namespace nbx
