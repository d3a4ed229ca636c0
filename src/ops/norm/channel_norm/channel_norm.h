// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/declare.h"

namespace nbx {

// Batch, instance and group norm of a dense tensor seen as (n, channels, space).
struct ChannelNormSpec {
  enum class Statistics : uint8_t { given, batch, group } statistics = Statistics::given;
  bool saves = false;
  bool weights_by_group = false;  // one weight a group (ONNX GroupNormalization 18), not one a channel
  double eps = 1e-5;
  int64_t n = 1, channels = 1, space = 1, groups = 1;
  int input = 0, weight = -1, bias = -1, mean = -1, variance = -1;  // operands
};
ChannelNormSpec channel_norm_spec(const Args& args);
Bound bind_channel_norm(const Args& args, const Metas& outputs);
int64_t channel_norm_bytes(const Args& args);
std::vector<Tensor> channel_norm_oracle(const Args& args, const std::vector<Tensor>& operands);

void batch_norm_samples(SampleSink& s);
void native_batch_norm_samples(SampleSink& s);
void no_training_samples(SampleSink& s);
void instance_norm_samples(SampleSink& s);
void group_norm_samples(SampleSink& s);
void native_group_norm_samples(SampleSink& s);
void onnx_group_norm_samples(SampleSink& s);

}  // namespace nbx
