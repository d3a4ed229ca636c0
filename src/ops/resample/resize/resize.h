// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/declare.h"
#include "ops/resample/axis.h"

namespace nbx {

struct ResizeSpec {
  std::vector<ResizeAxis> axes;  // one a dim of the input
  Shape out;
  bool moves = true;  // no weights: elements only move
  double extrapolation = 0;
  bool rounds_each = false;  // ATen's bytes: every pass rounds half up, the last dim goes first
};
ResizeSpec resize_spec(const Args& args, bool with_tables = true);  // without: only `out`
Bound bind_resize(const Args& args, const Metas& outputs);
int64_t resize_bytes(const Args& args);
std::vector<Tensor> resize_oracle(const Args& args, const std::vector<Tensor>& operands);

void nearest_samples(int spatial, bool vec, SampleSink& s);
void linear_samples(int spatial, bool vec, SampleSink& s);
void onnx_resize_samples(SampleSink& s);

}  // namespace nbx
