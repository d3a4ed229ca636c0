// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void nonzero_samples(SampleSink& s);
void masked_select_samples(SampleSink& s);
void compress_samples(SampleSink& s);
void bincount_samples(SampleSink& s);

}  // namespace nbx
