// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void pixel_shuffle_samples(SampleSink& s);
void pixel_unshuffle_samples(SampleSink& s);
void depth_to_space_samples(SampleSink& s);
void space_to_depth_samples(SampleSink& s);

}  // namespace nbx
