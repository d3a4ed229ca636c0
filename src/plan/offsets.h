// SPDX-License-Identifier: Apache-2.0
// Lifetimes → offsets in one arena. A pure function of its input: the same plan every time.
#pragma once
#include <cstdint>
#include <vector>

namespace nbx {

inline constexpr int64_t kBufferAlignment = 64;

struct Buffer {
  int64_t bytes = 0;
  int first = 0;        // step that writes it first
  int last = 0;         // last step that touches it (inclusive)
  int64_t offset = -1;  // >= 0 on input: already placed, must stay
};

struct Layout {
  int64_t arena_bytes = 0;  // end of the highest buffer
  int64_t lower_bound = 0;  // largest sum of bytes that are live at one step: no layout can be smaller
};

// Fills the offsets of all buffers that have none: no two that are live at the same step share a byte. Buffers of 0
// bytes get offset 0. Sizes are rounded up to the alignment, also in the lower bound. Error (budget) on overflow of 63
// bits.
Layout place(std::vector<Buffer>& buffers);

}  // namespace nbx
