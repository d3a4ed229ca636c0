// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void repeat_samples(SampleSink& s);
void tile_samples(SampleSink& s);
void flip_samples(SampleSink& s);
void roll_samples(SampleSink& s);
void repeat_interleave_int_samples(SampleSink& s);
void repeat_interleave_tensor_samples(SampleSink& s);
void repeats_samples(SampleSink& s);

}  // namespace nbx
