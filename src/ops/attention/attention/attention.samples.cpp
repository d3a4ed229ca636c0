// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/attention/attention/attention.h"

namespace nbx {
namespace {

Tensor float_mask(const Shape& shape) {  // a third is out, row 0 wholly
  Tensor mask = randn(shape, 9);
  float* at = mask.mutable_data<float>();
  const int64_t keys = shape.back();
  for (int64_t i = 0; i < mask.numel(); ++i)
    if (i < keys || i % 3 == 1) at[i] = -std::numeric_limits<float>::infinity();
  return mask;
}
Tensor bool_mask(const Shape& shape) { return rand_ints(shape, 0, 2, DType::bool_); }

}  // namespace

void attention_samples(SampleSink& s) {
  const auto plain = [&](const Shape& q, const Shape& k, const Shape& v, SampleKeywords keywords = {}) {
    s.add({randn(q, 1), randn(k, 2), randn(v, 3)}, std::move(keywords));
  };
  plain({1, 1}, {1, 1}, {1, 1});
  plain({5, 8}, {7, 8}, {7, 3});
  plain({2, 3, 33, 20}, {2, 3, 65, 20}, {2, 3, 65, 37});
  plain({2, 70, 16}, {2, 130, 16}, {2, 130, 16}, {{"is_causal", val(true)}});
  plain({130, 4}, {70, 4}, {70, 4}, {{"is_causal", val(true)}});
  plain({1, 4, 9, 8}, {3, 1, 11, 8}, {3, 4, 11, 5}, {{"scale", val(0.3)}});
  plain({2, 6, 5, 8}, {2, 2, 9, 8}, {2, 3, 9, 4}, {{"enable_gqa", val(true)}});
  plain({2, 6, 40, 8}, {1, 2, 90, 8}, {2, 2, 90, 4}, {{"enable_gqa", val(true)}, {"is_causal", val(true)}});
  plain({2, 3, 0}, {2, 4, 0}, {2, 4, 5}, {{"scale", val(1.0)}});
  plain({2, 3, 4}, {2, 0, 4}, {2, 0, 5});
  plain({2, 0, 4}, {2, 3, 4}, {2, 3, 5});
  plain({0, 3, 4}, {0, 3, 4}, {0, 3, 5});
  s.add({strided(randn({2, 9, 8}, 1)), strided(randn({2, 70, 8}, 2)), spaced(randn({2, 70, 8}, 3))});
  s.add({rand_uniform({3, 8}, 20, 30), rand_uniform({200, 8}, -30, 30), randn({200, 6}, 3)});
  for (const Shape& shape : {Shape{9, 70}, Shape{2, 1, 9, 70}, Shape{3, 1, 70}, Shape{9, 1}, Shape{70}}) {
    const Tensor q = randn({2, 3, 9, 8}, 1), k = randn({2, 3, 70, 8}, 2), v = randn({2, 3, 70, 6}, 3);
    s.add({q, k, v, float_mask(shape)});
    s.add({q, k, v, bool_mask(shape)});
  }
  s.add({randn({4, 8}, 1), randn({70, 8}, 2), Tensor::full({70, 6}, NAN, DType::float32),
         Tensor::full({4, 70}, 0, DType::bool_)});
  Tensor late = Tensor::full({4, 150}, 0, DType::bool_);  // the first blocks of keys are out
  late.narrow(1, 140, 5).copy_(Tensor::full({4, 5}, 1, DType::bool_));
  s.add({randn({4, 8}, 1), randn({150, 8}, 2), randn({150, 6}, 3), late});
  Tensor nan = randn({4, 8}, 1);
  nan.mutable_data<float>()[9] = std::numeric_limits<float>::quiet_NaN();
  s.add({nan, randn({70, 8}, 2), randn({70, 6}, 3)});

  const Tensor m = randn({3, 4});
  s.error(Code::shape, {"[3, 4]", "[3, 5]"}, {m, randn({3, 5}), m});
  s.error(Code::shape, {"[3, 4]", "[5, 4]"}, {m, m, randn({5, 4})});
  s.error(Code::shape, {"attn_mask", "[2, 3]"}, {m, m, m, randn({2, 3})});
  s.error(Code::value, {"attn_mask", "is_causal"}, {m, m, m, randn({3, 3}), val(0.0), val(true)});
  s.error(Code::unsupported, {"dropout_p", "0.5"}, {m, m, m, none, val(0.5)});
  s.error(Code::dtype, {"float64"}, {m, m.to(DType::float64), m});
}

void onnx_attention_samples(SampleSink& s) {
  const auto heads = [](int64_t q, int64_t kv, SampleKeywords more = {}) {
    more.insert(more.end(), {{"q_num_heads", val(q)}, {"kv_num_heads", val(kv)}});
    return more;
  };
  const Tensor q = randn({2, 4, 5, 8}, 1), k = randn({2, 2, 70, 8}, 2), v = randn({2, 2, 70, 6}, 3);
  const Tensor past_k = randn({2, 2, 3, 8}, 4), past_v = randn({2, 2, 3, 6}, 5);
  s.add({q, k, v});
  for (const int64_t mode : {0, 1, 2, 3})
    s.add({q, k, v, float_mask({5, 60}), past_k, past_v},
          {{"is_causal", val(true)}, {"softcap", val(0.8)}, {"scores", val(true)}, {"scores_mode", val(mode)}});
  s.add({q, k, v, none, none, none, none}, {{"presents", val(true)}, {"left_window_size", val(2)}});
  const Tensor flat_q = randn({2, 40, 12}, 1), flat_k = randn({2, 9, 6}, 2), flat_v = randn({2, 9, 10}, 3);
  s.add({flat_q, flat_k, flat_v}, heads(4, 2));
  s.add({flat_q, flat_k, flat_v, bool_mask({40, 12}), randn({2, 2, 3, 3}, 4), randn({2, 2, 3, 5}, 5)},
        heads(4, 2, {{"left_window_size", val(3)}, {"right_window_size", val(1)}}));
  for (const bool causal : {false, true})
    s.add({q, k, v, none, none, none, Tensor::of<int64_t>({2}, {3, 70})},
          {{"is_causal", val(causal)}, {"scores", val(true)}, {"scores_mode", val(3)}});
  s.error(Code::shape, {"q_num_heads", "[2, 40, 12]"}, {flat_q, flat_k, flat_v}, heads(3, 2));
  s.error(Code::value, {"past_key", "past_value"}, {q, k, v, none, past_k});
  s.error(Code::value, {"left_window_size", "-2"}, {q, k, v}, {{"left_window_size", val(-2)}});
  s.error(Code::shape, {"attn_mask", "[5, 71]"}, {q, k, v, randn({5, 71})});
}

}  // namespace nbx
