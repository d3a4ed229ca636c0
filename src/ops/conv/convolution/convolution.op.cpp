// SPDX-License-Identifier: Apache-2.0
// Convolutions: ATen's forms, ONNX's forms, and the fused form that the epilogue pass makes of them.
#include <algorithm>

#include "ops/activation_text.h"
#include "ops/conv/problem.h"
#include "ops/elementwise/activation.h"
#ifdef NBX_HAVE_ONEDNN
#include "ops/conv/conv_onednn.h"
#endif

namespace nbx::decls {

namespace {

ConvProblem build(const Args& a, const char* x, bool transposed, const ConvAttributes& attributes) {
  const Meta* bias = a.optional_tensor("bias");
  Meta flat;  // custom::conv takes a bias as graphs write it, too: (C, 1, 1) or (1, C, 1, 1)
  const Meta& w = a.tensor("weight");
  if (bias && bias->rank() > 1 && a.schema().space == "custom" && w.rank() >= 3 && bias->contiguous() &&
      bias->rank() >= w.rank() - 1 && bias->dim(1 - w.rank()) == bias->numel()) {
    flat = Meta(bias->dtype, Shape{bias->numel()});
    if (bias->known.defined()) flat.known = bias->known.view({bias->numel()});
    bias = &flat;
  }
  ConvProblem p = make_conv(a.op(), a.tensor(x), w, bias, transposed, attributes);
  p.x_index = a.operand(x);
  p.weight_index = a.operand("weight");
  p.bias_index = a.operand("bias");
  return p;
}

ConvProblem general(const Args& a) {
  ConvAttributes c;
  c.stride = a.ints("stride");
  c.begin = a.ints("padding");
  c.dilation = a.ints("dilation");
  c.output_padding = a.ints("output_padding");
  c.groups = a.integer("groups");
  return build(a, "input", a.flag("transposed"), c);
}

// ATen's padding; ONNX's pads may crop.
Ints padding_of(const Args& a) {
  Ints padding = a.ints("padding");
  for (const int64_t p : padding)
    require(p >= 0, Code::value, "{}: padding is {}, it cannot be negative", a.op(), to_string(padding));
  return padding;
}

void rank_of_weight(const Args& a, int spatial) {
  const Meta& w = a.tensor("weight");
  require(w.rank() == spatial + 2, Code::shape, "{}: weight must have rank {}, it is {}", a.op(), spatial + 2,
          to_string(w));
}

template <int spatial>
ConvProblem forward(const Args& a) {
  rank_of_weight(a, spatial);
  ConvAttributes c;
  c.stride = a.ints("stride");
  c.dilation = a.ints("dilation");
  c.groups = a.integer("groups");
  c.begin = padding_of(a);
  return build(a, "input", false, c);
}

// padding 'same' or 'valid'. ATen's 'same' pads more at the end and refuses strides.
template <int spatial>
ConvProblem named(const Args& a) {
  rank_of_weight(a, spatial);
  ConvAttributes c;
  c.stride = a.ints("stride");
  c.dilation = a.ints("dilation");
  c.groups = a.integer("groups");
  const std::string padding = a.text("padding");
  require(padding == "same" || padding == "valid", Code::value, "{}: padding is '{}'; 'same' and 'valid' are known",
          a.op(), padding);
  if (padding == "same") {
    for (const int64_t s : c.stride)
      require(s == 1, Code::value, "{}: padding 'same' needs stride 1, it is {}", a.op(), to_string(c.stride));
    c.auto_pad = "SAME_UPPER";
  }
  return build(a, "input", false, c);
}

template <int spatial>
ConvProblem backward(const Args& a) {
  rank_of_weight(a, spatial);
  ConvAttributes c;
  c.stride = a.ints("stride");
  c.begin = padding_of(a);
  c.output_padding = a.ints("output_padding");
  c.dilation = a.ints("dilation");
  c.groups = a.integer("groups");
  return build(a, "input", true, c);
}

// ONNX pads: all begins, then all ends.
void split_pads(const Args& a, ConvAttributes& c) {
  const Ints pads = a.ints("pads");
  require(pads.size() % 2 == 0, Code::shape, "{}: pads is {}, begins and ends are needed", a.op(), to_string(pads));
  c.begin.append(pads.begin(), pads.begin() + pads.size() / 2);
  c.end.append(pads.begin() + pads.size() / 2, pads.end());
}

ConvProblem fused(const Args& a) {
  ConvAttributes c;
  c.stride = a.ints("stride");
  c.dilation = a.ints("dilation");
  c.groups = a.integer("groups");
  c.auto_pad = a.text("auto_pad");
  split_pads(a, c);
  ConvProblem p = build(a, "input", false, c);
  if (const Meta* residual = a.optional_tensor("residual")) {
    require(residual->shape == p.shape() && residual->dtype == p.dtype && residual->contiguous(), Code::shape,
            "{}: residual is {}, it must be {} and dense", a.op(), to_string(*residual), describe(p.dtype, p.shape()));
    p.residual = *residual;
    p.residual_index = a.operand("residual");
  }
  p.activation = activation_of(a);
  p.act_scale = static_cast<float>(a.number("act_scale"));
  p.act_shift = static_cast<float>(a.number("act_shift"));
  return p;
}

ConvProblem fused_transpose(const Args& a) {
  ConvAttributes c;
  c.stride = a.ints("stride");
  c.dilation = a.ints("dilation");
  c.groups = a.integer("groups");
  c.auto_pad = a.text("auto_pad");
  c.output_padding = a.ints("output_padding");
  c.output_shape = a.ints("output_shape");
  split_pads(a, c);
  ConvProblem p = build(a, "input", true, c);
  p.activation = activation_of(a);
  return p;
}

template <ConvProblem (*problem)(const Args&)>
struct Parts {
  static Metas infer(const Args& a) {
    const ConvProblem p = problem(a);
    return {Meta(p.dtype, p.shape())};
  }
  static Cost cost(const Args& a, const Metas& outputs) {
    const ConvProblem p = problem(a);
    Cost c = copy_cost(a, outputs);
    const int64_t positions =
        p.transposed ? p.batch * p.in_channels * numel(p.in) : p.batch * p.out_channels * numel(p.out);
    c.flops = 2 * positions * p.taps() * (p.transposed ? p.out_channels : p.in_channels) / p.groups;
    c.workspace = conv_fast_serves(p).ok ? conv_fast_workspace(p) : 0;
    return c;
  }
  static Serves serves(const Args& a) { return conv_fast_serves(problem(a)); }
  static int64_t workspace(const Args& a) { return conv_fast_workspace(problem(a)); }
  static Bound bind_fast(const Args& a, const Metas&) { return bind_conv_fast(problem(a), a.packs()); }
  static Bound bind_plain(const Args& a, const Metas&) { return bind_conv_plain(problem(a)); }
#ifdef NBX_HAVE_ONEDNN
  static Serves serves_onednn(const Args& a) { return onednn_serves(problem(a)); }
  static Bound bind_onednn(const Args& a, const Metas&) { return nbx::bind_onednn(problem(a)); }
#endif
  static std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
    return {conv_oracle(problem(a), operands)};
  }
};

template <ConvProblem (*problem)(const Args&)>
OpDecl declare(const std::string& schema, SamplesFn samples, const char* source) {
  using P = Parts<problem>;
  OpDecl d;
  d.schema = schema;
  d.infer = P::infer;
  d.cost = P::cost;
  d.keys = shape_keys;
  d.kernels = {cpu("direct", P::bind_fast), cpu("plain", P::bind_plain)};
  d.kernels[0].serves = P::serves;
  d.kernels[0].workspace = P::workspace;
#ifdef NBX_HAVE_ONEDNN
  d.kernels.push_back(cpu("onednn", P::bind_onednn));
  d.kernels.back().serves = P::serves_onednn;
#endif
  d.oracle = P::oracle;
  d.samples = samples;
  d.tolerance = {{0, 1e-30, 2e-6}, {0, 1e-30, 1.2e-3}, {0, 1e-30, 9e-3}, {0, 1e-300, 1e-13}};
  d.dtypes = {DType::float32, DType::bfloat16, DType::float16, DType::float64};
  d.source = source;
  return d;
}

// Fusion. Halves round between convolution, addition and activation, so only float32 is fused.
Value ref(const Args& a, const char* param) {
  const int i = a.schema().find(param) < 0 ? -1 : a.operand(param);
  return i < 0 ? Value(None{}) : Value(TensorRef{i});
}

// A bias as ONNX graphs write it: (C, 1, 1) or (1, C, 1, 1).
bool is_channel_bias(const Meta& m, const ConvProblem& p) {
  if (!m.known.defined() || m.numel() != p.out_channels || m.rank() < p.spatial + 1) return false;
  return m.dim(-p.spatial - 1) == p.out_channels;
}

std::optional<FusedCall> fuse(const Args& a, const ConvProblem& p, const EpilogueOffer& e, int extra) {
  if (p.dtype != DType::float32 || p.transposed || p.unbatched) return std::nullopt;
  ActivationSpec act = p.activation;
  double scale = p.act_scale, shift = p.act_shift;
  // Numbers before the activation are the weights' business; those after it follow it here.
  if ((act.kind != ActivationKind::none) != offers_affine(e)) return std::nullopt;
  Value residual = ref(a, "residual");
  Value bias = ref(a, "bias");
  if (e.addend) {
    const Meta& m = *e.addend;
    if (!is_none(residual) || m.dtype != p.dtype || !m.contiguous()) return std::nullopt;
    if (is_channel_bias(m, p)) {
      if (!is_none(bias)) return std::nullopt;
      bias = TensorRef{extra};
    } else {
      if (m.shape != p.shape()) return std::nullopt;
      residual = TensorRef{extra};
    }
  } else if (offers_affine(e)) {
    scale *= e.activation.alpha;
    shift = shift * e.activation.alpha + e.activation.beta;
  } else {
    act = e.activation;
  }
  Ints pads = p.begin;
  pads.append(p.end.begin(), p.end.end());
  return FusedCall{"custom::conv",
                   {TensorRef{a.operand("input")}, TensorRef{a.operand("weight")}, bias, residual, p.stride, pads,
                    p.dilation, p.groups, std::string("NOTSET"), std::string(activation_name(act.kind)),
                    static_cast<double>(act.alpha), static_cast<double>(act.beta), scale, shift}};
}
template <ConvProblem (*problem)(const Args&)>
std::optional<FusedCall> with_epilogue(const Args& a, const Metas&, const EpilogueOffer& e, int extra) {
  return fuse(a, problem(a), e, extra);
}

std::optional<FusedCall> transpose_epilogue(const Args& a, const Metas&, const EpilogueOffer& e, int extra) {
  const ConvProblem p = fused_transpose(a);
  if (p.dtype != DType::float32 || p.activation.kind != ActivationKind::none || offers_affine(e)) return std::nullopt;
  Value bias = ref(a, "bias");
  if (e.addend) {
    if (!is_none(bias) || e.addend->dtype != p.dtype || !e.addend->contiguous() || !is_channel_bias(*e.addend, p))
      return std::nullopt;
    bias = TensorRef{extra};
  }
  Ints pads = p.begin;
  pads.append(p.end.begin(), p.end.end());
  // The extents are settled, so they are given as they are.
  return FusedCall{"custom::conv_transpose",
                   {TensorRef{a.operand("input")}, TensorRef{a.operand("weight")}, bias, a.value("stride"),
                    a.value("pads"), a.value("dilation"), a.value("output_padding"), a.value("output_shape"), p.groups,
                    a.value("auto_pad"), std::string(activation_name(e.activation.kind)),
                    static_cast<double>(e.activation.alpha), static_cast<double>(e.activation.beta)}};
}

// Samples.

void conv1d_samples(SampleSink& s) {
  s.add({randn({2, 3, 20}), randn({5, 3, 4}, 1), randn({5})});
  s.add({randn({1, 1, 64}), randn({6, 1, 16}, 1)}, {{"stride", ints({8})}});
  s.add({randn({4, 17}), randn({4, 1, 3}, 1), none}, {{"groups", val(4)}, {"padding", ints({1})}});
  s.add({randn({1, 8, 12}), randn({8, 8, 3}, 1), randn({8})}, {{"dilation", ints({3})}, {"padding", ints({3})}});
  s.error(Code::shape, {"impossible extent", "[1, 3, 2]"}, {randn({1, 3, 2}), randn({5, 3, 4})});
  s.error(Code::shape, {"[5, 2, 3]"}, {randn({1, 3, 9}), randn({5, 2, 3})});
}
void conv2d_samples(SampleSink& s) {
  s.add({randn({1, 3, 9, 11}), randn({4, 3, 3, 3}, 1), randn({4})}, {{"padding", ints({1, 1})}});
  s.add({randn({2, 8, 6, 7}), randn({16, 8, 1, 1}, 1), randn({16})});
  s.add({randn({1, 16, 10, 13}), randn({16, 1, 3, 3}, 1), randn({16})}, {{"padding", ints({1})}, {"groups", val(16)}});
  s.add({randn({1, 16, 10, 13}), randn({16, 1, 5, 5}, 1)},
        {{"padding", ints({2})}, {"groups", val(16)}, {"stride", ints({2})}});
  s.add({randn({1, 8, 9, 9}), randn({12, 2, 3, 3}, 1)}, {{"groups", val(4)}, {"stride", ints({2, 1})}});
  s.add({randn({1, 4, 9, 33}), randn({6, 4, 1, 7}, 1)}, {{"dilation", ints({1, 2})}, {"padding", ints({0, 3})}});
  s.add({randn({3, 9, 11}), randn({4, 3, 3, 3}, 1)});
  s.add({randn({0, 3, 9, 11}), randn({4, 3, 3, 3}, 1)});
  s.add({strided(randn({2, 3, 9, 11})), strided(randn({4, 3, 3, 3}, 1))});
  s.add_as_is({rand_ints({1, 2, 5, 5}, -9, 9), rand_ints({3, 2, 3, 3}, -9, 9, DType::int64, 1)});
  s.error(Code::shape, {"bias", "[3]"}, {randn({1, 3, 9, 9}), randn({4, 3, 3, 3}), randn({3})});
  s.error(Code::shape, {"groups", "2"}, {randn({1, 3, 9, 9}), randn({4, 3, 3, 3})}, {{"groups", val(2)}});
  s.error(Code::value, {"stride"}, {randn({1, 3, 9, 9}), randn({4, 3, 3, 3})}, {{"stride", ints({0, 1})}});
  s.error(Code::value, {"padding", "-1"}, {randn({1, 3, 9, 9}), randn({4, 3, 3, 3})}, {{"padding", ints({0, -1})}});
}
void conv3d_samples(SampleSink& s) {
  s.add({randn({1, 2, 4, 5, 6}), randn({3, 2, 2, 3, 3}, 1), randn({3})}, {{"padding", ints({1, 1, 0})}});
  s.add({randn({1, 4, 4, 5, 6}), randn({4, 2, 2, 1, 3}, 1)}, {{"groups", val(2)}, {"stride", ints({2, 1, 2})}});
}
void named1_samples(SampleSink& s) {
  s.add({randn({2, 3, 20}), randn({5, 3, 4}, 1), randn({5})}, {{"padding", val("same")}});
  s.add({randn({2, 3, 20}), randn({5, 3, 4}, 1)}, {{"padding", val("valid")}, {"stride", ints({3})}});
  s.error(Code::value, {"'half'"}, {randn({2, 3, 20}), randn({5, 3, 4})}, {{"padding", val("half")}});
}
void named2_samples(SampleSink& s) {
  s.add({randn({1, 3, 9, 8}), randn({5, 3, 2, 3}, 1), randn({5})}, {{"padding", val("same")}});
  s.error(Code::value, {"same", "stride"}, {randn({1, 3, 9, 8}), randn({5, 3, 2, 3})},
          {{"padding", val("same")}, {"stride", ints({2, 2})}});
}
void named3_samples(SampleSink& s) {
  s.add({randn({1, 2, 4, 5, 6}), randn({3, 2, 2, 3, 3}, 1)}, {{"padding", val("same")}});
}
void transpose1_samples(SampleSink& s) {
  s.add({randn({2, 3, 7}), randn({3, 5, 4}, 1), randn({5})}, {{"stride", ints({2})}, {"padding", ints({1})}});
  s.add({randn({1, 4, 7}), randn({4, 2, 3}, 1)},
        {{"groups", val(2)}, {"output_padding", ints({1})}, {"stride", ints({2})}});
  s.add({randn({1, 4, 7}), randn({4, 2, 3}, 1)}, {{"dilation", ints({2})}});
  s.error(Code::shape, {"[4, 2, 3]"}, {randn({1, 3, 7}), randn({4, 2, 3})});
}
void transpose2_samples(SampleSink& s) {
  s.add({randn({1, 3, 5, 6}), randn({3, 4, 2, 2}, 1), randn({4})}, {{"stride", ints({2})}});
  s.add({randn({2, 4, 5, 6}), randn({4, 1, 3, 3}, 1)},
        {{"groups", val(4)}, {"stride", ints({2})}, {"padding", ints({1})}, {"output_padding", ints({1})}});
  s.add({randn({3, 5, 6}), randn({3, 4, 3, 2}, 1)});
}
void transpose3_samples(SampleSink& s) {
  s.add({randn({1, 2, 3, 4, 5}), randn({2, 3, 2, 2, 3}, 1)}, {{"stride", ints({2, 1, 2})}});
}
void general_samples(SampleSink& s) {
  s.add({randn({1, 3, 9, 11}), randn({4, 3, 3, 3}, 1), randn({4}), ints({2, 2}), ints({1, 1}), ints({1, 1}), val(false),
         ints({0, 0}), val(1)});
  s.add({randn({1, 3, 9, 11}), randn({3, 4, 3, 3}, 1), none, ints({2, 2}), ints({1, 1}), ints({1, 1}), val(true),
         ints({1, 0}), val(1)});
  s.error(Code::shape, {"rank"},
          {randn({1, 3}), randn({3, 4}), none, ints({1}), ints({0}), ints({1}), val(false), ints({0}), val(1)});
}
void fused_samples(SampleSink& s) {
  for (const char* kind :
       {"none", "relu", "clamp", "sigmoid", "silu", "gelu", "hardsigmoid", "hardswish", "leaky_relu"})
    s.add_as_is({randn({1, 8, 7, 9}), randn({16, 8, 1, 1}, 1), randn({16}), randn({1, 16, 7, 9}, 2)},
                {{"activation", val(kind)}, {"act_alpha", val(0.2)}, {"act_beta", val(0.6)}});
  s.add_as_is({randn({1, 8, 7, 9}), randn({16, 8, 1, 1}, 1), randn({16}), randn({1, 16, 7, 9}, 2)},
              {{"activation", val("hardswish")}, {"act_scale", val(0.7)}, {"act_shift", val(-0.3)}});
  for (const char* kind : {"none", "relu", "hardswish"}) {
    s.add_as_is({randn({1, 8, 9, 17}), randn({8, 1, 3, 3}, 1), randn({8})},
                {{"groups", val(8)}, {"pads", ints({1, 1, 1, 1})}, {"activation", val(kind)}});
    s.add_as_is({randn({2, 3, 9, 17}), randn({8, 3, 3, 3}, 1), randn({8})},
                {{"stride", ints({2, 2})}, {"pads", ints({1, 0, 0, 2})}, {"activation", val(kind)}});
  }
  s.add_as_is({randn({1, 3, 9, 16}), randn({4, 3, 3, 2}, 1)},
              {{"auto_pad", val("SAME_UPPER")}, {"stride", ints({2, 2})}});
  s.add_as_is({randn({1, 3, 9, 16}), randn({4, 3, 3, 2}, 1)}, {{"auto_pad", val("SAME_LOWER")}});
  s.add_as_is({randn({1, 3, 9, 16}), randn({4, 3, 3, 2}, 1)}, {{"pads", ints({-1, 0, 1, -2})}});
  s.add_as_is({randn({1, 1, 600}), randn({6, 1, 256}, 1)}, {{"stride", ints({128})}});
  s.add_as_is({randn({1, 6, 9, 1}), randn({4, 6, 5, 1}, 1), randn({4, 1, 1})});
  s.add_as_is({randn({1, 6, 9, 1}), randn({4, 6, 5, 1}, 1), randn({1, 4, 1, 1})}, {{"stride", ints({2, 3})}});
  s.error(Code::shape, {"residual"}, {randn({1, 8, 7, 9}), randn({16, 8, 1, 1}), none, randn({1, 16, 7, 8})});
  s.error(Code::value, {"SAME"}, {randn({1, 8, 7, 9}), randn({16, 8, 1, 1})}, {{"auto_pad", val("SOME")}});
}
void fused_transpose_samples(SampleSink& s) {
  s.add_as_is({randn({1, 3, 5, 6}), randn({3, 4, 2, 2}, 1), randn({4})},
              {{"stride", ints({2, 2})}, {"activation", val("relu")}});
  s.add_as_is({randn({1, 3, 5, 6}), randn({3, 4, 3, 3}, 1)},
              {{"stride", ints({3, 2})}, {"output_shape", ints({16, 14})}});
  s.add_as_is({randn({1, 3, 5, 6}), randn({3, 4, 3, 3}, 1)},
              {{"stride", ints({2, 2})}, {"auto_pad", val("SAME_UPPER")}});
  s.add_as_is({randn({1, 3, 5}), randn({3, 2, 3}, 1)}, {{"stride", ints({2})}, {"pads", ints({1, 0})}});
  s.error(Code::shape, {"impossible extent"}, {randn({1, 3, 2}), randn({3, 2, 3})}, {{"pads", ints({5, 5})}});
}

// ONNX. Ranks may be unknown, so lists stay as they are: empty ones mean the defaults.
// kernel_shape repeats what the weight says; a graph in which the two differ is refused where the weight is known.
void check_kernel(Importing& n) {
  const Ints said = n.ints("kernel_shape", Ints{});
  const Tensor* w = n.constant(n.input(1));
  if (said.empty() || !w) return;
  const Ints has(w->shape().begin() + std::min<int64_t>(2, w->rank()), w->shape().end());
  if (said != has)
    fail(Code::file, "node '{}': kernel_shape is {}, the weight is {}", n.node_name(), to_string(said), describe(*w));
}
void import_conv(Importing& n) {
  check_kernel(n);
  n.output(0, n.emit("custom::conv", {n.input(0), n.input(1), n.has_input(2) ? Value(n.input(2)) : Value(None{})},
                     {{"stride", n.ints("strides", Ints{})},
                      {"pads", n.ints("pads", Ints{})},
                      {"dilation", n.ints("dilations", Ints{})},
                      {"groups", n.integer("group", 1)},
                      {"auto_pad", n.text("auto_pad", "NOTSET")}}));
}
void import_conv_transpose(Importing& n) {
  check_kernel(n);
  n.output(
      0, n.emit("custom::conv_transpose", {n.input(0), n.input(1), n.has_input(2) ? Value(n.input(2)) : Value(None{})},
                {{"stride", n.ints("strides", Ints{})},
                 {"pads", n.ints("pads", Ints{})},
                 {"dilation", n.ints("dilations", Ints{})},
                 {"output_padding", n.ints("output_padding", Ints{})},
                 {"output_shape", n.ints("output_shape", Ints{})},
                 {"groups", n.integer("group", 1)},
                 {"auto_pad", n.text("auto_pad", "NOTSET")}}));
}

}  // namespace

Decls convolution() {
  Decls d;
  d.push_back(declare<general>(
      "aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
      "bool transposed, int[] output_padding, int groups) -> Tensor",
      general_samples, "ATen convolution"));
  d.back().with_epilogue = with_epilogue<general>;
  const auto plain = [&](const char* op, const char* size, auto maker, SamplesFn samples) {
    d.push_back(maker(std::string("aten::") + op + "(Tensor input, Tensor weight, Tensor? bias=None, int[" + size +
                          "] stride=1, int[" + size + "] padding=0, int[" + size +
                          "] dilation=1, int groups=1) -> Tensor",
                      samples, "ATen convolution"));
  };
  plain("conv1d", "1", declare<forward<1>>, conv1d_samples);
  d.back().with_epilogue = with_epilogue<forward<1>>;
  plain("conv2d", "2", declare<forward<2>>, conv2d_samples);
  d.back().with_epilogue = with_epilogue<forward<2>>;
  plain("conv3d", "3", declare<forward<3>>, conv3d_samples);
  d.back().with_epilogue = with_epilogue<forward<3>>;
  const auto padded = [&](const char* op, const char* size, auto maker, SamplesFn samples) {
    d.push_back(maker(std::string("aten::") + op + ".padding(Tensor input, Tensor weight, Tensor? bias=None, int[" +
                          size + "] stride=1, str padding='valid', int[" + size +
                          "] dilation=1, int groups=1) -> Tensor",
                      samples, "ATen convolution"));
  };
  padded("conv1d", "1", declare<named<1>>, named1_samples);
  padded("conv2d", "2", declare<named<2>>, named2_samples);
  padded("conv3d", "3", declare<named<3>>, named3_samples);
  const auto transposed = [&](const std::string& op, const char* size, auto maker, SamplesFn samples) {
    d.push_back(maker("aten::" + op + "(Tensor input, Tensor weight, Tensor? bias=None, int[" + size +
                          "] stride=1, int[" + size + "] padding=0, int[" + size +
                          "] output_padding=0, int groups=1, int[" + size + "] dilation=1) -> Tensor",
                      samples, "ATen transposed convolution"));
  };
  transposed("conv_transpose1d", "1", declare<backward<1>>, transpose1_samples);
  transposed("conv_transpose2d.input", "2", declare<backward<2>>, transpose2_samples);
  transposed("conv_transpose3d.input", "3", declare<backward<3>>, transpose3_samples);
  d.push_back(declare<fused>(
      "custom::conv(Tensor input, Tensor weight, Tensor? bias=None, Tensor? residual=None, int[] stride=[], int[] "
      "pads=[], "
      "int[] dilation=[], int groups=1, str auto_pad='NOTSET', str activation='none', float act_alpha=0.0, "
      "float act_beta=0.0, float act_scale=1.0, float act_shift=0.0) -> Tensor",
      fused_samples, "convolution with what follows it; ONNX Conv"));
  d.back().with_epilogue = with_epilogue<fused>;
  d.back().dtypes = {DType::float32};
  d.back().imports = {{"Conv", import_conv}};
  d.push_back(declare<fused_transpose>(
      "custom::conv_transpose(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], int[] pads=[], "
      "int[] dilation=[], int[] output_padding=[], int[] output_shape=[], int groups=1, str auto_pad='NOTSET', "
      "str activation='none', float act_alpha=0.0, float act_beta=0.0) -> Tensor",
      fused_transpose_samples, "transposed convolution with what follows it; ONNX ConvTranspose"));
  d.back().with_epilogue = transpose_epilogue;
  d.back().dtypes = {DType::float32};
  d.back().imports = {{"ConvTranspose", import_conv_transpose}};
  return d;
}

}  // namespace nbx::decls
