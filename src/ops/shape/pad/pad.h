// SPDX-License-Identifier: Apache-2.0
// Padding as one table a dim: where each element of the result comes from.
#pragma once
#include <array>
#include <string>

#include "ops/declare.h"

namespace nbx {

enum class PadMode { constant, reflect, replicate, circular };

// Elements added before and after each dim; negative ones crop.
struct Pads {
  Ints before, after;
};

// The padded shape. Errors name `op`: a dim that would be negative, or reflection and wrapping beyond what is there.
Shape padded_shape(const Meta& x, const Pads& pads, PadMode mode, const std::string& op);
// x (dense) padded to `out`; `fill`: one element's bytes.
Bound bind_padding(const Meta& x, const Meta& out, const Pads& pads, PadMode mode, std::array<std::byte, 16> fill);

void constant_pad_samples(SampleSink& s);
void pad_samples(SampleSink& s);
void reflection_pad_samples(int dims, SampleSink& s);
void replication_pad_samples(int dims, SampleSink& s);
void onnx_pad_samples(SampleSink& s);
void center_crop_pad_samples(SampleSink& s);

}  // namespace nbx
