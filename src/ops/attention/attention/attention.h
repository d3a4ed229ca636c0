// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/declare.h"
#include "ops/reduce/blocks.h"

namespace nbx {

// Where the matrices of an operand lie: (rows, columns) for each index of `lead`; columns are `step` apart.
struct AttentionView {
  int operand = -1;
  DType dtype = DType::float32;
  Walk lead;
  int64_t row = 0;
  int64_t step = 1;
};

// softmax(cap(scale Q K^T) + mask) V for every lead index: batch dims, key heads, queries a key head.
struct AttentionSpec {
  AttentionView q, k, v, mask, y;
  int64_t lead = 1, queries = 0, keys = 0, depth = 0, width = 0;  // width: of a value
  double scale = 1, softcap = 0;
  bool causal = false;
  int64_t past = 0;  // keys before the first query's own
  int64_t left = -1, right = -1;
  int64_t mask_keys = 0;  // keys beyond it are masked
  int lengths = -1;       // operand: valid keys of each batch entry (int64); then `past` is lengths - queries
  int64_t lead_a_length = 1;
  // ONNX: past and new keys and values joined as results 1 and 2, scores as result 3; what is not asked for is empty.
  int64_t batch = 0, heads = 0, old_keys = 0;
  bool presents = false;
  AttentionView new_k, new_v;
  int past_k = -1, past_v = -1;
  bool scores = false;
  int scores_mode = 0;  // 0: scale Q K^T, 1: capped, 2: masked, 3: the softmax
  Metas outputs;

  // The keys [first, last) that query i may see: all masks but `mask` are intervals.
  struct Range {
    int64_t first, last;
  };
  Range range(int64_t i, const int64_t* lengths_data, int64_t lead_index) const {
    Range r{0, mask_keys};
    int64_t before = past;
    if (lengths_data) {
      const int64_t valid = lengths_data[lead_index / lead_a_length];
      before = valid - queries;
      r.last = valid < r.last ? valid : r.last;
    }
    const int64_t at = i + before;
    const auto end = [&](int64_t last) { r.last = last < r.last ? last : r.last; };
    if (causal) end(at + 1);
    if (right >= 0 && right < keys - at) end(at + right + 1);
    if (left >= 0 && at - left > 0) r.first = at - left;
    if (r.last < 0) r.last = 0;
    if (r.first > r.last) r.first = r.last;
    return r;
  }
};

AttentionSpec attention_spec(const Args& args);
AttentionSpec onnx_attention_spec(const Args& args);
Bound bind_attention(const AttentionSpec& spec);
std::vector<Tensor> attention_oracle(const AttentionSpec& spec, const std::vector<Tensor>& operands);
void attention_samples(SampleSink& sink);
void onnx_attention_samples(SampleSink& sink);

}  // namespace nbx
