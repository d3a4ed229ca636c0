// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/quant/linear.h"

namespace nbx {

DType quantised_dtype(const Args& a);    // of quantize_linear's result
DType division_dtype(const Args& a);     // in which quantize_linear divides
DType dequantised_dtype(const Args& a);  // of dequantize_linear's result

std::vector<Tensor> quantize_oracle(const Args& a, const std::vector<Tensor>& in);
std::vector<Tensor> dequantize_oracle(const Args& a, const std::vector<Tensor>& in);
std::vector<Tensor> dynamic_oracle(const Args& a, const std::vector<Tensor>& in);
void quantize_samples(SampleSink& s);
void dequantize_samples(SampleSink& s);
void dynamic_samples(SampleSink& s);

}  // namespace nbx
