// SPDX-License-Identifier: Apache-2.0
// Every reduction that yields numbers, as data: which fold, what is done with its total, which dtypes.
#pragma once
#include <vector>

#include "ops/args.h"
#include "ops/declare.h"
#include "ops/reduce/engine.h"

namespace nbx {

enum class Finish : uint8_t { total, mean, root, power_root, log, log_sum_exp, variance, deviation, all, any };

struct ReductionSpec {
  std::vector<bool> over;
  bool keepdim = false;
  Passes passes;
  Finish finish = Finish::total;
  double correction = 0;    // variance, deviation
  bool wants_mean = false;  // second output: the mean
  bool empty_is_error = false;
  DType read = DType::float32;  // operands are taken as this dtype first (`dtype=`); only its arithmetic matters
  DType out = DType::float32;
};
ReductionSpec reduction_spec(const Args& args);

std::vector<Tensor> reduction_oracle(const Args& args, const std::vector<Tensor>& operands);
Bound bind_reduction(const Args& args, const Metas& outputs);
int64_t reduction_bytes(const Args& args);

void sum_samples(SampleSink& s);
void sum_dim_samples(SampleSink& s);
void mean_dim_samples(SampleSink& s);
void nansum_samples(SampleSink& s);
void whole_samples(SampleSink& s);
void float_whole_samples(SampleSink& s);
void dim_samples(SampleSink& s);
void dims_samples(SampleSink& s);
void extreme_dims_samples(SampleSink& s);
void logsumexp_samples(SampleSink& s);
void norm_samples(SampleSink& s);
void spread_whole_samples(SampleSink& s);
void spread_dim_samples(SampleSink& s);
void spread_correction_samples(SampleSink& s);
void onnx_reduce_samples(SampleSink& s);
void global_pool_samples(SampleSink& s);

}  // namespace nbx
