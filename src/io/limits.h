// SPDX-License-Identifier: Apache-2.0
// What a reader may allocate on the word of a file. A size that a file claims is checked against the file's own length
// first; these bounds are for what may rightly be larger than the file: compressed members, pictures, sounds, names.
// They are generous for real files; a program that needs more passes its own.
#pragma once
#include <cstdint>

namespace nbx {

struct Limits {
  int64_t header_bytes = 100'000'000;         // text header of a safetensors file (its specification's bound)
  int64_t npy_header_bytes = 1 << 16;         // text header of a npy file
  int64_t tensors = 1 << 17;                  // named tensors of one file, members of one archive
  int64_t unpacked_bytes = int64_t{1} << 30;  // all compressed members of one npz together
  int64_t pixels = int64_t{1} << 26;          // of one picture (8192 x 8192)
  int64_t samples = int64_t{1} << 28;         // of one sound: frames x channels (46 minutes of 48 kHz stereo)
  int64_t channels = 64;                      // of one sound
};

}  // namespace nbx
