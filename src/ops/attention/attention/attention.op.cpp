// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(scale Q K^T + mask) V by heads.
#include "ops/attention/attention/attention.h"

namespace nbx {
namespace {

using Spec = AttentionSpec (*)(const Args&);

template <Spec spec>
Metas infer(const Args& a) {
  return spec(a).outputs;
}
template <Spec spec>
Cost cost(const Args& a, const Metas& outputs) {
  const AttentionSpec s = spec(a);
  Cost c = copy_cost(a, outputs);
  c.flops = 2 * s.lead * s.queries * s.keys * (s.depth + s.width);
  return c;
}
template <Spec spec>
Bound bind(const Args& a, const Metas&) {
  return bind_attention(spec(a));
}
template <Spec spec>
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  return attention_oracle(spec(a), operands);
}

template <Spec spec>
OpDecl declared(const char* schema, SamplesFn samples) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer<spec>;
  d.cost = cost<spec>;
  d.keys = shape_keys;
  d.kernels = {cpu("attention_cpu", bind<spec>)};
  d.oracle = oracle<spec>;
  d.samples = samples;
  d.tolerance = norm_wise(4e-6, 1e-3, 6e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  return d;
}

void import_attention(Importing& in) {
  std::vector<Value> operands;
  for (int i = 0; i < 7; ++i) operands.push_back(in.has_input(i) ? Value(in.input(i)) : Value(None{}));
  // Sums and the softmax are float32 (float64 for float64), which is at least as exact as what is asked for.
  const int64_t precision = in.integer("softmax_precision", 1);
  if (precision != 1 && precision != 10 && precision != 11 && precision != 16)
    in.unsupported("softmax_precision " + std::to_string(precision));
  const Value scale = in.has("scale") ? Value(in.number("scale")) : Value(None{});
  const auto results = in.emit_all("custom::attention", std::move(operands),
                                   {{"q_num_heads", in.integer("q_num_heads", 0)},
                                    {"kv_num_heads", in.integer("kv_num_heads", 0)},
                                    {"is_causal", in.integer("is_causal", 0) != 0},
                                    {"scale", scale},
                                    {"softcap", in.number("softcap", 0)},
                                    {"left_window_size", in.integer("left_window_size", -1)},
                                    {"right_window_size", in.integer("right_window_size", -1)},
                                    {"presents", in.wants_output(1) || in.wants_output(2)},
                                    {"scores", in.wants_output(3)},
                                    {"scores_mode", in.integer("qk_matmul_output_mode", 0)}});
  for (int i = 0; i < 4; ++i)
    if (in.wants_output(i)) in.output(i, results[static_cast<size_t>(i)]);
}

}  // namespace

namespace decls {

Decls attention() {
  OpDecl aten = declared<attention_spec>(
      "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
      attention_samples);
  aten.source = "ATen; Dao et al. 2022";
  OpDecl onnx = declared<onnx_attention_spec>(
      "custom::attention(Tensor q, Tensor k, Tensor v, Tensor? attn_mask=None, Tensor? past_key=None, Tensor? "
      "past_value=None, Tensor? nonpad_kv_seqlen=None, *, int q_num_heads=0, int kv_num_heads=0, bool is_causal=False, "
      "float? scale=None, float softcap=0.0, int left_window_size=-1, int right_window_size=-1, bool presents=False, "
      "bool scores=False, int scores_mode=0) -> (Tensor, Tensor, Tensor, Tensor)",
      onnx_attention_samples);
  onnx.imports = {{"Attention", import_attention, 23}};
  onnx.source = "ONNX Attention; Dao et al. 2022";
  return {aten, onnx};
}

}  // namespace decls
}  // namespace nbx
