// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/sample.h"

namespace nbx {

void scatter_src_samples(SampleSink& s);
void scatter_value_samples(SampleSink& s);
void scatter_reduce_arg_samples(SampleSink& s);
void scatter_value_reduce_samples(SampleSink& s);
void scatter_add_samples(SampleSink& s);
void scatter_reduce_samples(SampleSink& s);
void scatter_elements_samples(SampleSink& s);
void index_add_samples(SampleSink& s);
void index_copy_samples(SampleSink& s);
void index_fill_samples(SampleSink& s);
void index_fill_tensor_samples(SampleSink& s);

}  // namespace nbx
