// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void index_samples(SampleSink& s);
void index_put_samples(SampleSink& s);
void gather_nd_samples(SampleSink& s);
void scatter_nd_samples(SampleSink& s);

}  // namespace nbx
