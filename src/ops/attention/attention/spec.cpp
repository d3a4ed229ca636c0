// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/attention/attention/attention.h"
#include "shape/broadcast.h"

namespace nbx {
namespace {

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - std::min<size_t>(shape.size(), 2)); }

// A dense operand whose leading dims are read as `lead`; with `grouped`, several heads of `lead` share one of its own.
AttentionView dense_view(const Args& a, const char* param, const Shape& lead, bool grouped) {
  const Meta& m = a.tensor(param);
  AttentionView view;
  view.operand = a.operand(param);
  view.dtype = m.dtype;
  const size_t dims = m.shape.size(), own = dims < 2 ? 0 : dims - 2;
  const auto stride = [&](size_t d) { return m.shape[d] == 1 ? 0 : m.strides[d]; };
  if (dims >= 1) view.step = stride(dims - 1);
  if (dims >= 2) view.row = stride(dims - 2);
  for (size_t d = 0; d < lead.size(); ++d) {
    const size_t missing = lead.size() - own;
    const int64_t extent = d < missing ? 1 : m.shape[d - missing];
    if (extent == lead[d]) {
      view.lead.add(extent, d < missing ? 0 : stride(d - missing));
    } else if (grouped && d + 1 == lead.size() && extent > 0) {
      view.lead.add(extent, stride(d - missing));
      view.lead.add(lead[d] / extent, 0);
    } else {
      view.lead.add(lead[d], 0);
    }
  }
  return view;
}

void check_types(const Args& a, const Meta& q, const Meta& k, const Meta& v, bool same_value) {
  require(is_floating(q.dtype) && is_floating(v.dtype), Code::dtype,
          "{}: query is {} and value is {}; they must be floating", a.op(), to_string(q), to_string(v));
  require(q.dtype == k.dtype && (!same_value || q.dtype == v.dtype), Code::dtype,
          "{}: query is {}, key is {}, value is {}; convert them to one dtype", a.op(), to_string(q), to_string(k),
          to_string(v));
}

double default_scale(const Args& a, int64_t depth) {
  return a.has("scale") ? a.number("scale") : 1 / std::sqrt(static_cast<double>(depth));
}

}  // namespace

AttentionSpec attention_spec(const Args& a) {
  const std::string op = a.op();
  const Meta &q = a.tensor("query"), &k = a.tensor("key"), &v = a.tensor("value");
  check_types(a, q, k, v, true);
  require(q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2, Code::shape,
          "{}: query is {}, key is {}, value is {}; each needs two dims or more", op, to_string(q), to_string(k),
          to_string(v));
  require(q.dim(-1) == k.dim(-1), Code::shape, "{}: the last dims of query {} and key {} must be equal", op,
          to_string(q), to_string(k));
  require(k.dim(-2) == v.dim(-2), Code::shape, "{}: key {} and value {} must have as many rows (dim -2)", op,
          to_string(k), to_string(v));
  require(a.number("dropout_p") == 0, Code::unsupported, "{}: dropout_p is {}; inference takes 0", op,
          a.number("dropout_p"));
  const Meta* mask = a.optional_tensor("attn_mask");
  require(!mask || !a.flag("is_causal"), Code::value,
          "{}: attn_mask ({}) and is_causal=True exclude each other; pass one of them", op,
          mask ? to_string(*mask) : "");
  require(!mask || mask->dtype == DType::bool_ || mask->dtype == DType::float32 || mask->dtype == q.dtype, Code::dtype,
          "{}: attn_mask is {}, query is {}; pass a mask of bool or of the query's dtype", op,
          mask ? to_string(*mask) : "", to_string(q));

  const bool grouped = a.flag("enable_gqa");
  Shape lead_k = leading(k.shape), lead_v = leading(v.shape);
  const Shape lead_q = leading(q.shape);
  if (grouped) {
    require(!lead_q.empty() && !lead_k.empty() && !lead_v.empty(), Code::shape,
            "{}: enable_gqa needs a dim of heads (-3); query is {}, key is {}, value is {}", op, to_string(q),
            to_string(k), to_string(v));
    const int64_t heads = lead_q.back();
    require(lead_k.back() > 0 && lead_v.back() > 0 && heads % lead_k.back() == 0 && heads % lead_v.back() == 0,
            Code::shape, "{}: the heads of query {} (dim -3) must be a multiple of those of key {} and of value {}", op,
            to_string(q), to_string(k), to_string(v));
    lead_k.back() = lead_v.back() = heads;
  }
  const Shape lead = broadcast({lead_q, lead_k, lead_v}, op);
  AttentionSpec s;
  s.lead = numel(lead);
  s.queries = q.dim(-2);
  s.keys = s.mask_keys = k.dim(-2);
  s.depth = q.dim(-1);
  s.width = v.dim(-1);
  s.scale = default_scale(a, s.depth);
  s.causal = a.flag("is_causal");
  s.q = dense_view(a, "query", lead, false);
  s.k = dense_view(a, "key", lead, grouped);
  s.v = dense_view(a, "value", lead, grouped);
  if (mask) {
    Shape scores = lead;
    scores.push_back(s.queries);
    scores.push_back(s.keys);
    require(is_broadcastable(mask->shape, scores), Code::shape, "{}: attn_mask is {}, it does not broadcast to {}", op,
            to_string(*mask), to_string(scores));
    s.mask = dense_view(a, "attn_mask", lead, false);
  }
  Shape out = lead;
  out.push_back(s.queries);
  out.push_back(s.width);
  s.outputs = {Meta(q.dtype, out)};
  s.y.dtype = q.dtype;
  s.y.row = s.width;
  s.y.lead.add(s.lead, s.queries * s.width);
  return s;
}

AttentionSpec onnx_attention_spec(const Args& a) {
  const std::string op = a.op();
  const Meta &q = a.tensor("q"), &k = a.tensor("k"), &v = a.tensor("v");
  check_types(a, q, k, v, false);
  const int64_t rank = q.rank();
  require((rank == 3 || rank == 4) && k.rank() == rank && v.rank() == rank, Code::shape,
          "{}: q is {}, k is {}, v is {}; pass three tensors of rank 3, or of rank 4", op, to_string(q), to_string(k),
          to_string(v));
  const bool flat = rank == 3;  // (batch, rows, heads * depth)
  const int64_t heads_q = flat ? a.integer("q_num_heads") : q.dim(1);
  const int64_t heads = flat ? a.integer("kv_num_heads") : k.dim(1);
  require(heads_q > 0 && heads > 0 && heads_q % heads == 0 && (flat || v.dim(1) == heads), Code::shape,
          "{}: q_num_heads is {}, kv_num_heads is {} (q: {}, k: {}, v: {}); the first must be a multiple of the second",
          op, heads_q, heads, to_string(q), to_string(k), to_string(v));
  require(!flat || (q.dim(2) % heads_q == 0 && k.dim(2) % heads == 0 && v.dim(2) % heads == 0), Code::shape,
          "{}: the last dims of q {}, k {} and v {} must be multiples of {}, {} and {} heads", op, to_string(q),
          to_string(k), to_string(v), heads_q, heads, heads);
  AttentionSpec s;
  s.batch = q.dim(0);
  s.heads = heads;
  s.lead = s.batch * heads_q;
  s.queries = flat ? q.dim(1) : q.dim(2);
  s.depth = flat ? q.dim(2) / heads_q : q.dim(3);
  s.width = flat ? v.dim(2) / heads : v.dim(3);
  const int64_t added = flat ? k.dim(1) : k.dim(2), depth = flat ? k.dim(2) / heads : k.dim(3);
  require(depth == s.depth && k.dim(0) == s.batch && v.dim(0) == s.batch && (flat ? v.dim(1) : v.dim(2)) == added,
          Code::shape, "{}: q {}, k {} and v {} do not fit: one batch, one head size of q and k, one length of k and v",
          op, to_string(q), to_string(k), to_string(v));

  const Meta *past_k = a.optional_tensor("past_key"), *past_v = a.optional_tensor("past_value");
  require(!past_k == !past_v, Code::value, "{}: past_key and past_value come together; pass both or none", op);
  if (past_k) {
    require(past_k->rank() == 4 && past_v->rank() == 4, Code::shape, "{}: past_key is {}, past_value is {}; rank 4", op,
            to_string(*past_k), to_string(*past_v));
    s.old_keys = s.past = past_k->dim(2);
    require(past_k->shape == Shape({s.batch, heads, s.past, s.depth}) &&
                past_v->shape == Shape({s.batch, heads, s.past, s.width}) && past_k->dtype == k.dtype &&
                past_v->dtype == v.dtype,
            Code::shape, "{}: past_key is {}, past_value is {}; k is {}, v is {}, with {} heads", op,
            to_string(*past_k), to_string(*past_v), to_string(k), to_string(v), heads);
    s.past_k = a.operand("past_key");
    s.past_v = a.operand("past_value");
  }
  s.keys = s.mask_keys = s.past + added;
  s.presents = past_k || a.flag("presents");
  s.scores = a.flag("scores");
  s.scores_mode = static_cast<int>(a.integer("scores_mode"));
  require(s.scores_mode >= 0 && s.scores_mode <= 3, Code::value, "{}: scores_mode is {}; pass 0, 1, 2 or 3", op,
          s.scores_mode);
  s.scale = default_scale(a, s.depth);
  s.softcap = a.number("softcap");
  s.causal = a.flag("is_causal");
  s.left = a.integer("left_window_size");
  s.right = a.integer("right_window_size");
  require(s.left >= -1 && s.right >= -1, Code::value,
          "{}: left_window_size is {}, right_window_size is {}; pass -1 for no bound, or 0 and more", op, s.left,
          s.right);

  // Dense (batch, heads, rows, depth), or (batch, rows, heads * depth).
  const auto view = [&](const char* param, int64_t rows, int64_t own, int64_t size, int64_t repeat, bool by_rows) {
    AttentionView m;
    if (param) {
      m.operand = a.operand(param);
      m.dtype = a.tensor(param).dtype;
    }
    m.row = by_rows ? own * size : size;
    m.lead.add(s.batch, rows * own * size);
    m.lead.add(own, by_rows ? size : rows * size);
    m.lead.add(repeat, 0);
    return m;
  };
  const int64_t repeat = heads_q / heads;
  s.q = view("q", s.queries, heads_q, s.depth, 1, flat);
  s.new_k = view("k", added, heads, s.depth, 1, flat);
  s.new_v = view("v", added, heads, s.width, 1, flat);
  s.k = view("k", s.keys, heads, s.depth, repeat, flat && !s.presents);
  s.v = view("v", s.keys, heads, s.width, repeat, flat && !s.presents);
  s.y = view(nullptr, s.queries, heads_q, s.width, 1, flat);
  s.y.dtype = q.dtype;

  if (const Meta* mask = a.optional_tensor("attn_mask")) {
    require(mask->rank() >= 1, Code::shape, "{}: attn_mask is 0-d; its last dim counts keys", op);
    s.mask_keys = mask->dim(-1);
    const Shape scores{s.batch, heads_q, s.queries, s.mask_keys};
    require(s.mask_keys <= s.keys && is_broadcastable(mask->shape, scores), Code::shape,
            "{}: attn_mask is {}, it does not broadcast to {} ({} keys)", op, to_string(*mask), to_string(scores),
            s.keys);
    s.mask = dense_view(a, "attn_mask", {s.batch, heads_q}, false);
  }
  if (const Meta* lengths = a.optional_tensor("nonpad_kv_seqlen")) {
    require(!s.presents, Code::value, "{}: nonpad_kv_seqlen ({}) excludes past and present keys", op,
            to_string(*lengths));
    require(lengths->dtype == DType::int64 && lengths->shape == Shape({s.batch}), Code::shape,
            "{}: nonpad_kv_seqlen is {}; pass int64[{}], one a batch entry", op, to_string(*lengths), s.batch);
    s.lengths = a.operand("nonpad_kv_seqlen");
    s.lead_a_length = heads_q;
  }
  const Shape none{0};
  s.outputs = {
      Meta(q.dtype, flat ? Shape{s.batch, s.queries, heads_q * s.width} : Shape{s.batch, heads_q, s.queries, s.width}),
      Meta(k.dtype, s.presents ? Shape{s.batch, heads, s.keys, s.depth} : none),
      Meta(v.dtype, s.presents ? Shape{s.batch, heads, s.keys, s.width} : none),
      Meta(q.dtype, s.scores ? Shape{s.batch, heads_q, s.queries, s.keys} : none)};
  return s;
}

}  // namespace nbx
