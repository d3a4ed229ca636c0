// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void squeeze_samples(SampleSink& s);
void squeeze_dim_samples(SampleSink& s);
void squeeze_dims_samples(SampleSink& s);
void unsqueeze_samples(SampleSink& s);
void onnx_squeeze_samples(SampleSink& s);
void onnx_unsqueeze_samples(SampleSink& s);
void permute_samples(SampleSink& s);
void transpose_samples(SampleSink& s);
void t_samples(SampleSink& s);
void reverse_axes_samples(SampleSink& s);
void movedim_samples(SampleSink& s);
void movedim_int_samples(SampleSink& s);
void expand_samples(SampleSink& s);
void expand_as_samples(SampleSink& s);
void broadcast_to_samples(SampleSink& s);
void onnx_expand_samples(SampleSink& s);

}  // namespace nbx
