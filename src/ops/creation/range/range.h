// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void arange_samples(SampleSink& s);
void arange_start_samples(SampleSink& s);
void arange_step_samples(SampleSink& s);
void onnx_range_samples(SampleSink& s);
void linspace_samples(SampleSink& s);

template <bool start, bool end>
void linspace_tensor_samples(SampleSink& s) {
  const auto at = [](bool tensor, double v) { return tensor ? SampleArg(Tensor::scalar<double>(v)) : val(v); };
  s.add_as_is({at(start, -2), at(end, 3), val(7)});
  s.add_as_is({at(start, 5), at(end, 0.5), val(4)}, {{"dtype", val(DType::int64)}});
  s.add_as_is({at(start, 5), at(end, 0.5), val(0)});
}

}  // namespace nbx
