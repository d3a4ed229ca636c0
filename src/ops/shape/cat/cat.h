// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void cat_samples(SampleSink& s);
void stack_samples(SampleSink& s);

}  // namespace nbx
