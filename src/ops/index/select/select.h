// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void index_select_samples(SampleSink& s);
void embedding_samples(SampleSink& s);
void gather_axis_samples(SampleSink& s);
void take_samples(SampleSink& s);
void gather_samples(SampleSink& s);
void take_along_dim_samples(SampleSink& s);
void gather_elements_samples(SampleSink& s);

}  // namespace nbx
