// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void view_samples(SampleSink& s);
void reshape_samples(SampleSink& s);
void flatten_samples(SampleSink& s);
void unflatten_samples(SampleSink& s);
void onnx_reshape_samples(SampleSink& s);
void onnx_flatten_samples(SampleSink& s);

}  // namespace nbx
