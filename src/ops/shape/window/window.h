// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void narrow_samples(SampleSink& s);
void narrow_tensor_samples(SampleSink& s);
void slice_samples(SampleSink& s);
void select_samples(SampleSink& s);
void split_samples(SampleSink& s);
void split_sizes_samples(SampleSink& s);
void chunk_samples(SampleSink& s);
void unbind_samples(SampleSink& s);
void unfold_samples(SampleSink& s);
void as_strided_samples(SampleSink& s);
void diagonal_samples(SampleSink& s);
void onnx_slice_samples(SampleSink& s);
void onnx_split_samples(SampleSink& s);

}  // namespace nbx
