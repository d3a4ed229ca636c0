// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and plain RNN layers in ONNX's shapes (gate orders i o f c and z r h).
#include "ops/recurrent/problem.h"
#ifdef NBX_HAVE_ONEDNN
#include "ops/recurrent/recurrent_onednn.h"
#endif

namespace nbx::decls {

namespace {

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> out;
  size_t at = 0;
  while (at < list.size()) {
    const size_t comma = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

template <RecurrentKind kind>
RecurrentProblem problem(const Args& a) {
  RecurrentProblem p;
  p.kind = kind;
  const std::string direction = a.text("direction");
  require(direction == "forward" || direction == "reverse" || direction == "bidirectional", Code::value,
          "{}: direction is '{}'; forward, reverse and bidirectional are known", a.op(), direction);
  p.directions = direction == "bidirectional" ? 2 : 1;
  p.first_reversed = direction == "reverse";
  p.batch_first = a.integer("layout") != 0;
  p.clip = a.number("clip");
  require(p.clip >= 0, Code::value, "{}: clip is {}, 0 (off) or more is possible", a.op(), p.clip);
  const auto optional = [&](const char* param, std::optional<Meta>& meta, int& index) {
    if (const Meta* m = a.optional_tensor(param)) {
      meta = *m;
      index = a.operand(param);
    }
  };
  p.x = a.tensor("x");
  p.w = a.tensor("w");
  p.r = a.tensor("r");
  p.ix = a.operand("x");
  p.iw = a.operand("w");
  p.ir = a.operand("r");
  optional("b", p.b, p.ib);
  optional("sequence_lens", p.lengths, p.ilengths);
  optional("initial_h", p.h0, p.ih);
  if constexpr (kind == RecurrentKind::lstm) {
    optional("initial_c", p.c0, p.ic);
    optional("p", p.p, p.ip);
    p.couple_forget = a.flag("input_forget");
    const int order[4] = {0, 2, 3, 1};
    std::copy(order, order + 4, p.gate_order);
  }
  if constexpr (kind == RecurrentKind::gru) {
    p.linear_before_reset = a.flag("linear_before_reset");
    const int order[4] = {1, 0, 2, 3};
    std::copy(order, order + 4, p.gate_order);
  }
  const size_t each = kind == RecurrentKind::lstm ? 3 : kind == RecurrentKind::gru ? 2 : 1;
  std::vector<std::string> names = names_of(a.text("activations"));
  if (names.empty()) {
    for (int d = 0; d < p.directions; ++d)
      for (size_t i = 0; i < each; ++i) names.push_back(i == 0 && kind != RecurrentKind::rnn ? "Sigmoid" : "Tanh");
  }
  require(names.size() == each * static_cast<size_t>(p.directions), Code::value,
          "{}: {} activations are given, {} directions need {}", a.op(), names.size(), p.directions,
          each * static_cast<size_t>(p.directions));
  const Doubles alphas = a.numbers("activation_alpha"), betas = a.numbers("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (int d = 0; d < p.directions; ++d)
    for (size_t i = 0; i < each; ++i)
      p.activations[d][i] = parse_recurrent_activation(a.op(), names[static_cast<size_t>(d) * each + i], alphas,
                                                       next_alpha, betas, next_beta);
  settle(a.op(), p);
  return p;
}

template <RecurrentKind kind>
struct Parts {
  static Metas infer(const Args& a) {
    const RecurrentProblem p = problem<kind>(a);
    Metas out{Meta(p.dtype, p.y_shape()), Meta(p.dtype, p.state_shape())};
    if (kind == RecurrentKind::lstm) out.push_back(Meta(p.dtype, p.state_shape()));
    return out;
  }
  static Cost cost(const Args& a, const Metas& outputs) {
    const RecurrentProblem p = problem<kind>(a);
    Cost c = copy_cost(a, outputs);
    c.flops = 2 * p.steps * p.batch * p.directions * p.gates() * p.hidden * (p.input + p.hidden);
    c.workspace = fast_serves(p).ok ? fast_workspace(p) : 0;
    return c;
  }
  static Serves serves(const Args& a) { return fast_serves(problem<kind>(a)); }
  static int64_t workspace(const Args& a) { return fast_workspace(problem<kind>(a)); }
  static Bound fast(const Args& a, const Metas&) { return bind_fast(problem<kind>(a), a.packs()); }
  static Bound plain(const Args& a, const Metas&) { return bind_plain(problem<kind>(a)); }
#ifdef NBX_HAVE_ONEDNN
  static Serves serves_onednn(const Args& a) { return onednn_serves(problem<kind>(a)); }
  static Bound bind_onednn(const Args& a, const Metas&) { return nbx::bind_onednn(problem<kind>(a)); }
#endif
  static std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
    return recurrent_float64(problem<kind>(a), operands);
  }
};

template <RecurrentKind kind>
OpDecl declare(const char* schema, SamplesFn samples, const char* source) {
  using P = Parts<kind>;
  OpDecl d;
  d.schema = schema;
  d.infer = P::infer;
  d.cost = P::cost;
  d.keys = shape_keys;
  d.kernels = {cpu("steps", P::fast), cpu("plain", P::plain)};
  d.kernels[0].serves = P::serves;
  d.kernels[0].workspace = P::workspace;
#ifdef NBX_HAVE_ONEDNN
  if (kind != RecurrentKind::rnn) {
    d.kernels.push_back(cpu("onednn", P::bind_onednn));
    d.kernels.back().serves = P::serves_onednn;
  }
#endif
  d.oracle = P::oracle;
  d.samples = samples;
  d.tolerance = {{0, 1e-30, 4e-6}, {0, 1e-30, 2e-3}, {0, 1e-30, 1.6e-2}, {0, 1e-300, 1e-12}};
  d.dtypes = {DType::float32, DType::bfloat16, DType::float16, DType::float64};
  d.source = source;
  return d;
}

Tensor small(const Shape& shape, uint64_t seed) { return rand_uniform(shape, -0.4, 0.4, seed); }

void lstm_samples(SampleSink& s) {
  s.add({randn({5, 3, 4}), small({1, 28, 4}, 1), small({1, 28, 7}, 2), small({1, 56}, 3)});
  s.add({randn({6, 2, 4}), small({2, 20, 4}, 1), small({2, 20, 5}, 2), small({2, 40}, 3), none, randn({2, 2, 5}),
         randn({2, 2, 5}, 1), small({2, 15}, 4)},
        {{"direction", val("bidirectional")}});
  s.add({randn({4, 3, 4}), small({1, 20, 4}, 1), small({1, 20, 5}, 2), none, Tensor::of<int32_t>({3}, {4, 0, 2})},
        {{"direction", val("reverse")}});
  s.add(
      {randn({3, 4, 6}), small({1, 20, 6}, 1), small({1, 20, 5}, 2), none, none, randn({3, 1, 5}), randn({3, 1, 5}, 1)},
      {{"layout", val(1)}});
  s.add_as_is(
      {randn({4, 1, 4}), small({1, 12, 4}, 1), small({1, 12, 3}, 2)},
      {{"activations", val("HardSigmoid,Softsign,ScaledTanh")}, {"clip", val(0.3)}, {"input_forget", val(true)}});
  s.add_as_is({randn({1, 1, 128}), small({1, 512, 128}, 1), small({1, 512, 128}, 2), small({1, 1024}, 3), none,
               randn({1, 1, 128}), randn({1, 1, 128}, 1)});
  s.add({randn({0, 2, 4}), small({1, 12, 4}, 1), small({1, 12, 3}, 2)});
  s.error(Code::shape, {"w", "[1, 20, 5]"}, {randn({4, 3, 4}), small({1, 20, 5}, 1), small({1, 20, 5}, 2)});
  s.error(Code::value, {"sideways"}, {randn({4, 3, 4}), small({1, 20, 4}, 1), small({1, 20, 5}, 2)},
          {{"direction", val("sideways")}});
  s.error(Code::value, {"Cubic"}, {randn({4, 3, 4}), small({1, 20, 4}, 1), small({1, 20, 5}, 2)},
          {{"activations", val("Sigmoid,Cubic,Tanh")}});
}
void gru_samples(SampleSink& s) {
  for (const bool linear : {false, true}) {
    s.add({randn({5, 3, 4}), small({1, 18, 4}, 1), small({1, 18, 6}, 2), small({1, 36}, 3)},
          {{"linear_before_reset", val(linear)}});
    s.add({randn({5, 2, 4}), small({2, 15, 4}, 1), small({2, 15, 5}, 2), small({2, 30}, 3),
           Tensor::of<int32_t>({2}, {5, 3}), randn({2, 2, 5})},
          {{"direction", val("bidirectional")}, {"linear_before_reset", val(linear)}});
  }
  s.add({randn({3, 4, 6}), small({1, 15, 6}, 1), small({1, 15, 5}, 2), none, none, randn({3, 1, 5})},
        {{"layout", val(1)}});
  s.error(Code::shape, {"initial_h"},
          {randn({5, 3, 4}), small({1, 18, 4}, 1), small({1, 18, 6}, 2), none, none, randn({3, 6})});
}
void rnn_samples(SampleSink& s) {
  s.add({randn({5, 3, 4}), small({1, 6, 4}, 1), small({1, 6, 6}, 2), small({1, 12}, 3)});
  s.add({randn({5, 2, 4}), small({2, 5, 4}, 1), small({2, 5, 5}, 2), none, Tensor::of<int32_t>({2}, {5, 3})},
        {{"direction", val("bidirectional")}});
  s.add_as_is({randn({4, 1, 4}), small({1, 3, 4}, 1), small({1, 3, 3}, 2)},
              {{"activations", val("LeakyRelu")}, {"activation_alpha", Value(Doubles{0.3})}});
  s.error(Code::shape, {"w", "[1, 6, 4]"}, {randn({5, 3, 4}), small({1, 6, 4}, 1), small({1, 6, 5}, 2)});
}

std::vector<std::pair<std::string, Value>> attributes(Importing& n) {
  n.integer("hidden_size", 0);  // the weights say it
  std::string activations;
  if (n.has("activations"))
    for (const std::string& name : n.texts("activations")) activations += (activations.empty() ? "" : ",") + name;
  return {{"direction", n.text("direction", "forward")},
          {"activations", activations},
          {"activation_alpha", n.numbers("activation_alpha", Doubles{})},
          {"activation_beta", n.numbers("activation_beta", Doubles{})},
          {"clip", n.number("clip", 0.0)},
          {"layout", n.integer("layout", 0)}};
}
std::vector<Value> operands(Importing& n, int count) {
  std::vector<Value> out;
  for (int i = 0; i < count; ++i) out.push_back(n.has_input(i) ? Value(n.input(i)) : Value(None{}));
  return out;
}
void give(Importing& n, const std::vector<TensorRef>& results) {
  for (size_t i = 0; i < results.size(); ++i)
    if (n.wants_output(static_cast<int>(i))) n.output(static_cast<int>(i), results[i]);
}
void import_lstm(Importing& n) {
  auto keywords = attributes(n);
  keywords.emplace_back("input_forget", n.integer("input_forget", 0) != 0);
  give(n, n.emit_all("custom::lstm", operands(n, 8), keywords));
}
void import_gru(Importing& n) {
  auto keywords = attributes(n);
  keywords.emplace_back("linear_before_reset", n.integer("linear_before_reset", 0) != 0);
  give(n, n.emit_all("custom::gru", operands(n, 6), keywords));
}
void import_rnn(Importing& n) { give(n, n.emit_all("custom::rnn", operands(n, 6), attributes(n))); }

}  // namespace

Decls recurrent() {
  Decls d;
  d.push_back(declare<RecurrentKind::lstm>(
      "custom::lstm(Tensor x, Tensor w, Tensor r, Tensor? b=None, Tensor? sequence_lens=None, Tensor? initial_h=None, "
      "Tensor? initial_c=None, Tensor? p=None, *, str direction='forward', str activations='', float[] "
      "activation_alpha=[], "
      "float[] activation_beta=[], float clip=0.0, bool input_forget=False, int layout=0) -> (Tensor, Tensor, Tensor)",
      lstm_samples, "ONNX LSTM; Hochreiter & Schmidhuber 1997"));
  d.back().imports = {{"LSTM", import_lstm}};
  d.push_back(
      declare<RecurrentKind::gru>("custom::gru(Tensor x, Tensor w, Tensor r, Tensor? b=None, Tensor? "
                                  "sequence_lens=None, Tensor? initial_h=None, *, "
                                  "str direction='forward', str activations='', float[] activation_alpha=[], float[] "
                                  "activation_beta=[], float clip=0.0, "
                                  "bool linear_before_reset=False, int layout=0) -> (Tensor, Tensor)",
                                  gru_samples, "ONNX GRU; Cho et al. 2014"));
  d.back().imports = {{"GRU", import_gru}};
  d.push_back(
      declare<RecurrentKind::rnn>("custom::rnn(Tensor x, Tensor w, Tensor r, Tensor? b=None, Tensor? "
                                  "sequence_lens=None, Tensor? initial_h=None, *, "
                                  "str direction='forward', str activations='', float[] activation_alpha=[], float[] "
                                  "activation_beta=[], float clip=0.0, "
                                  "int layout=0) -> (Tensor, Tensor)",
                                  rnn_samples, "ONNX RNN"));
  d.back().imports = {{"RNN", import_rnn}};
  return d;
}

}  // namespace nbx::decls
