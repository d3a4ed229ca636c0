// SPDX-License-Identifier: Apache-2.0
// ATen's matrix products, NumPy's matmul, ONNX MatMul and Gemm: each says how its operands become one Product.
#include <cmath>
#include <limits>

#include "ops/activation_text.h"
#include "ops/elementwise/activation.h"
#include "ops/matmul/product.h"
#ifdef NBX_HAVE_ONEDNN
#include "ops/matmul/product_onednn.h"
#endif

namespace nbx::decls {

namespace {

struct Form {
  Product p;
  Shape out;
};

void rank_is(const Args& a, const char* param, int64_t rank) {
  const Meta& m = a.tensor(param);
  require(m.rank() == rank, Code::shape, "{}: {} must have rank {}, it is {}", a.op(), param, rank, to_string(m));
}

void finish(Form& f) {
  if (f.out.empty()) f.out = f.p.shape();
}

// beta * self (+) alpha * product; beta = 0 does not read self, so its NaNs do not spread.
void add_scaled(Form& f, const Args& a, const char* self) {
  const double beta = a.scalar("beta").as_double();
  f.p.alpha = a.scalar("alpha").as_double();
  f.p.beta = beta;
  const Meta& m = a.tensor(self);
  require(m.dtype == f.p.dtype, Code::dtype, "{}: {} is {}, the product is {}; convert one of them", a.op(), self,
          to_string(m), name(f.p.dtype));
  if (is_integral(f.p.dtype))
    require(std::floor(beta) == beta && std::floor(f.p.alpha) == f.p.alpha, Code::dtype,
            "{}: alpha {} and beta {} must be integers for {}", a.op(), f.p.alpha, beta, name(f.p.dtype));
  f.p.addend = m;
  f.p.addend_index = a.operand(self);
}
void check_addend(const Form& f, const Args& a, const char* self, const Shape& out) {
  const Meta& m = a.tensor(self);
  bool fits = m.shape.size() <= out.size();
  for (size_t d = 0; fits && d < m.shape.size(); ++d) {
    const int64_t want = out[out.size() - m.shape.size() + d];
    fits = m.shape[d] == want || m.shape[d] == 1;
  }
  require(fits, Code::shape, "{}: {} is {}, it does not broadcast to the product's shape {}", a.op(), self,
          to_string(m), to_string(out));
  (void)f;
}

Form product(const Args& a, const char* left, const char* right) {
  Form f;
  f.p = make_product(a.op(), a.tensor(left), a.tensor(right));
  f.p.a_index = a.operand(left);
  f.p.b_index = a.operand(right);
  return f;
}

Form mm(const Args& a) {
  rank_is(a, "self", 2);
  rank_is(a, "mat2", 2);
  return product(a, "self", "mat2");
}

void same_batch(const Args& a, const char* left, const char* right) {
  const Meta &x = a.tensor(left), &y = a.tensor(right);
  require(x.dim(0) == y.dim(0), Code::shape, "{}: batch extents differ, {} of {} and {} of {}", a.op(), x.dim(0),
          to_string(x), y.dim(0), to_string(y));
}

Form bmm(const Args& a) {
  rank_is(a, "self", 3);
  rank_is(a, "mat2", 3);
  same_batch(a, "self", "mat2");
  return product(a, "self", "mat2");
}

Form addmm(const Args& a) {
  rank_is(a, "mat1", 2);
  rank_is(a, "mat2", 2);
  Form f = product(a, "mat1", "mat2");
  add_scaled(f, a, "self");
  check_addend(f, a, "self", f.p.shape());
  return f;
}

Form baddbmm(const Args& a) {
  rank_is(a, "batch1", 3);
  rank_is(a, "batch2", 3);
  same_batch(a, "batch1", "batch2");
  Form f = product(a, "batch1", "batch2");
  add_scaled(f, a, "self");
  check_addend(f, a, "self", f.p.shape());
  return f;
}

// Rank-1 operands get an extent of 1, which the result does not have.
Form general(const std::string& op, Meta x, Meta y, int ix, int iy) {
  require(x.rank() >= 1 && y.rank() >= 1, Code::shape, "{}: both operands need at least 1 dim, they are {} and {}", op,
          to_string(x), to_string(y));
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if (row) x = unsqueezed(x, 0);
  if (column) y = unsqueezed(y, 1);
  Form f;
  f.p = make_product(op, x, y);
  f.p.a_index = ix;
  f.p.b_index = iy;
  f.out = f.p.batch;
  if (!row) f.out.push_back(f.p.m());
  if (!column) f.out.push_back(f.p.n());
  return f;
}

Form matmul(const Args& a) {
  return general(a.op(), a.tensor("self"), a.tensor("other"), a.operand("self"), a.operand("other"));
}

Form mv(const Args& a) {
  rank_is(a, "self", 2);
  rank_is(a, "vec", 1);
  return general(a.op(), a.tensor("self"), a.tensor("vec"), a.operand("self"), a.operand("vec"));
}

Form dot(const Args& a) {
  rank_is(a, "self", 1);
  rank_is(a, "tensor", 1);
  return general(a.op(), a.tensor("self"), a.tensor("tensor"), a.operand("self"), a.operand("tensor"));
}

Form addmv(const Args& a) {
  rank_is(a, "mat", 2);
  rank_is(a, "vec", 1);
  Form f = general(a.op(), a.tensor("mat"), a.tensor("vec"), a.operand("mat"), a.operand("vec"));
  add_scaled(f, a, "self");
  check_addend(f, a, "self", f.out);
  // The product is (m, 1): self's m values lie along the other dim.
  if (f.p.addend->rank() == 1) f.p.addend = unsqueezed(*f.p.addend, 1);
  return f;
}

Form outer(const Args& a) {
  rank_is(a, "self", 1);
  rank_is(a, "vec2", 1);
  Form f;
  f.p = make_product(a.op(), unsqueezed(a.tensor("self"), 1), unsqueezed(a.tensor("vec2"), 0));
  f.p.a_index = a.operand("self");
  f.p.b_index = a.operand("vec2");
  return f;
}

Form addr(const Args& a) {
  rank_is(a, "vec1", 1);
  rank_is(a, "vec2", 1);
  Form f;
  f.p = make_product(a.op(), unsqueezed(a.tensor("vec1"), 1), unsqueezed(a.tensor("vec2"), 0));
  f.p.a_index = a.operand("vec1");
  f.p.b_index = a.operand("vec2");
  add_scaled(f, a, "self");
  check_addend(f, a, "self", f.p.shape());
  return f;
}

Form linear(const Args& a) {
  const Meta& w = a.tensor("weight");
  require(w.rank() == 2 || w.rank() == 1, Code::shape, "linear: weight must be [out, in], it is {}", to_string(w));
  Form f =
      general(a.op(), a.tensor("input"), w.rank() == 2 ? transposed(w) : w, a.operand("input"), a.operand("weight"));
  if (const Meta* bias = a.optional_tensor("bias")) {
    require(bias->dtype == f.p.dtype, Code::dtype, "linear: bias is {}, the product is {}; convert one of them",
            to_string(*bias), name(f.p.dtype));
    check_addend(f, a, "bias", f.out);
    f.p.addend = *bias;
    f.p.addend_index = a.operand("bias");
  }
  return f;
}

Form fused(const Args& a) {
  Form f =
      general(a.op(), a.tensor("self"), a.flag("transpose_other") ? transposed(a.tensor("other")) : a.tensor("other"),
              a.operand("self"), a.operand("other"));
  f.p.alpha = a.number("alpha");
  if (const Meta* bias = a.optional_tensor("bias")) {
    check_addend(f, a, "bias", f.out);
    f.p.addend = *bias;
    f.p.addend_index = a.operand("bias");
  }
  if (const Meta* residual = a.optional_tensor("residual")) {
    require(residual->shape == f.out && residual->dtype == f.p.dtype && residual->contiguous(), Code::shape,
            "{}: residual is {}, it must be {} and dense", a.op(), to_string(*residual), describe(f.p.dtype, f.out));
    f.p.residual = Meta(f.p.dtype, f.p.shape());
    f.p.residual_index = a.operand("residual");
  }
  f.p.activation = activation_of(a);
  return f;
}

Form gemm(const Args& a) {
  rank_is(a, "a", 2);
  rank_is(a, "b", 2);
  Form f;
  f.p = make_product(a.op(), a.flag("trans_a") ? transposed(a.tensor("a")) : a.tensor("a"),
                     a.flag("trans_b") ? transposed(a.tensor("b")) : a.tensor("b"));
  f.p.a_index = a.operand("a");
  f.p.b_index = a.operand("b");
  f.p.alpha = a.number("alpha");
  f.p.beta = a.number("beta");
  if (const Meta* c = a.optional_tensor("c")) {
    require(c->dtype == f.p.dtype, Code::dtype, "gemm: c is {}, the product is {}", to_string(*c), name(f.p.dtype));
    check_addend(f, a, "c", f.p.shape());
    f.p.addend = *c;
    f.p.addend_index = a.operand("c");
  }
  return f;
}

template <Form (*form)(const Args&)>
struct Parts {
  static Form made(const Args& a) {
    Form f = form(a);
    // A rank-0 result (dot) keeps its empty shape: two rank-1 operands.
    const bool scalar = f.out.empty() && f.p.batch.empty() && f.p.m() == 1 && f.p.n() == 1 &&
                        a.operands()[static_cast<size_t>(f.p.a_index)].rank() == 1 &&
                        a.operands()[static_cast<size_t>(f.p.b_index)].rank() == 1 && form != &outer && form != &addr;
    if (!scalar) finish(f);
    return f;
  }
  static Metas infer(const Args& a) {
    const Form f = made(a);
    return {Meta(f.p.dtype, f.out)};
  }
  static Cost cost(const Args& a, const Metas& outputs) {
    Cost c = copy_cost(a, outputs);
    const Form f = made(a);
    c.flops = 2 * numel(f.p.shape()) * f.p.k();
    return c;
  }
  static Serves serves_gemm(const Args& a) {
    if (form == &dot) return refuse("one long sum in float32 loses digits; plain adds in float64");
    const Form f = made(a);
    if (!gemm_serves(f.p))
      return refuse("serves float32, float16 and bfloat16, with an addend of one float32 value a column and beta 1");
    return yes;
  }
  static Bound bind_gemm(const Args& a, const Metas&) { return nbx::bind_gemm(made(a).p, a.packs()); }
  static Bound bind_plain(const Args& a, const Metas&) { return nbx::bind_plain(made(a).p); }
#ifdef NBX_HAVE_ONEDNN
  static Serves serves_onednn(const Args& a) { return onednn_serves(made(a).p); }
  static Bound bind_onednn(const Args& a, const Metas&) { return nbx::bind_onednn(made(a).p); }
#endif
  static std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
    const Form f = made(a);
    Tensor t = product_oracle(f.p, operands);
    return {t.reshape(f.out)};
  }
};

template <Form (*form)(const Args&)>
OpDecl declare(const char* schema, SamplesFn samples, const char* source) {
  using P = Parts<form>;
  OpDecl d;
  d.schema = schema;
  d.infer = P::infer;
  d.cost = P::cost;
  d.keys = shape_keys;
  d.kernels = {cpu("gemm", P::bind_gemm, true), cpu("plain", P::bind_plain, true)};
  d.kernels[0].serves = P::serves_gemm;
#ifdef NBX_HAVE_ONEDNN
  d.kernels.push_back(cpu("onednn", P::bind_onednn, true));
  d.kernels.back().serves = P::serves_onednn;
#endif
  d.oracle = P::oracle;
  d.samples = samples;
  d.tolerance = {{0, 1e-30, 2e-6}, {0, 1e-30, 1e-3}, {0, 1e-30, 8e-3}, {0, 1e-300, 1e-13}};
  d.dtypes = {DType::float32, DType::bfloat16, DType::float16, DType::float64};
  d.source = source;
  return d;
}

// C = act(alpha A B + bias) + ...: which calls may become custom::matmul_fused, and how.
std::optional<FusedCall> fuse(const Args& a, const EpilogueOffer& e, int extra, const char* left, const char* right,
                              bool transpose_right) {
  const bool was_fused = a.schema().find("activation") >= 0;
  const auto ref = [&](const char* param) -> Value {
    const int i = a.schema().find(param) < 0 ? -1 : a.operand(param);
    return i < 0 ? Value(None{}) : Value(TensorRef{i});
  };
  const Meta &x = a.tensor(left), &y = a.tensor(right);
  if (x.dtype != DType::float32 || x.rank() < 2 || y.rank() < 2) return std::nullopt;  // halves round between the steps
  Value bias = ref("bias"), residual = ref("residual");
  ActivationSpec act = was_fused ? activation_of(a) : ActivationSpec{};
  const double alpha = was_fused ? a.number("alpha") : 1.0;
  if (act.kind != ActivationKind::none || offers_affine(e)) return std::nullopt;
  const int64_t n = transpose_right ? y.dim(-2) : y.dim(-1);
  if (e.addend) {
    const Meta& m = *e.addend;
    if (m.dtype != x.dtype) return std::nullopt;
    const bool column = m.rank() >= 1 && m.numel() == n && m.dim(-1) == n && m.contiguous() && n != 1;
    if (column && is_none(bias) && is_none(residual)) {
      bias = TensorRef{extra};
    } else if (is_none(residual) && m.contiguous() && m.rank() >= 2) {
      Shape out = x.shape;  // only when it has the result's very shape
      if (y.rank() > 2) return std::nullopt;
      out.back() = n;
      if (m.shape != out) return std::nullopt;
      residual = TensorRef{extra};
    } else {
      return std::nullopt;
    }
  } else {
    act = e.activation;
  }
  FusedCall call;
  call.op = "custom::matmul_fused";
  call.values = {TensorRef{a.operand(left)},
                 TensorRef{a.operand(right)},
                 bias,
                 residual,
                 transpose_right,
                 alpha,
                 std::string(activation_name(act.kind)),
                 static_cast<double>(act.alpha),
                 static_cast<double>(act.beta)};
  return call;
}
std::optional<FusedCall> fuse_mm(const Args& a, const Metas&, const EpilogueOffer& e, int extra) {
  return fuse(a, e, extra, "self", "mat2", false);
}
std::optional<FusedCall> fuse_matmul(const Args& a, const Metas&, const EpilogueOffer& e, int extra) {
  return fuse(a, e, extra, "self", "other", false);
}
std::optional<FusedCall> fuse_linear(const Args& a, const Metas&, const EpilogueOffer& e, int extra) {
  return fuse(a, e, extra, "input", "weight", true);
}
std::optional<FusedCall> fuse_fused(const Args& a, const Metas&, const EpilogueOffer& e, int extra) {
  return fuse(a, e, extra, "self", "other", a.flag("transpose_other"));
}

// Samples.

void mm_samples(SampleSink& s) {
  for (const auto& [m, k, n] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {3, 5, 7}, {4, 64, 33}, {17, 129, 50}, {65, 40, 96}})
    s.add({randn({m, k}), randn({k, n}, 1)});
  s.add({strided(randn({9, 20})), strided(randn({20, 11}, 1))});
  s.add({randn({1, 12}).expand({6, 12}), randn({12, 5})});
  s.add({randn({0, 4}), randn({4, 3})});
  s.add({randn({2, 0}), randn({0, 3})});
  s.add_as_is({rand_ints({3, 4}, -50, 50), rand_ints({4, 5}, -50, 50, DType::int64, 1)});
  s.add_as_is({rand_ints({3, 4}, -9, 9, DType::int32), rand_ints({4, 5}, -9, 9, DType::int32, 1)});
  s.error(Code::shape, {"[2, 3]", "[4, 5]", "mm"}, {randn({2, 3}), randn({4, 5})});
  s.error(Code::shape, {"rank 2"}, {randn({3}), randn({3, 2})});
  s.error(Code::dtype, {"float32", "int64"}, {randn({2, 2}), rand_ints({2, 2}, 0, 3)});
}
void bmm_samples(SampleSink& s) {
  s.add({randn({3, 4, 9}), randn({3, 9, 6}, 1)});
  s.add({strided(randn({2, 5, 7})), randn({2, 7, 40}, 1)});
  s.add({randn({1, 5, 7}).expand({4, 5, 7}), randn({4, 7, 3}, 1)});
  s.add({randn({0, 5, 7}), randn({0, 7, 3})});
  s.error(Code::shape, {"batch", "2", "3"}, {randn({2, 4, 5}), randn({3, 5, 6})});
}
void matmul_samples(SampleSink& s) {
  s.add({randn({5}), randn({5}, 1)});
  s.add({randn({3, 5}), randn({5}, 1)});
  s.add({randn({5}), randn({5, 4}, 1)});
  s.add({randn({2, 6, 5}), randn({5, 4}, 1)});
  s.add({randn({2, 1, 6, 5}), randn({3, 5, 4}, 1)});
  s.add({randn({2, 3, 6, 5}).transpose(1, 2), randn({2, 6, 5, 4}, 1)});
  s.add({randn({4, 6, 5}).transpose(0, 1), randn({5, 4}, 1)});
  s.add({randn({2, 3, 5}), randn({2, 5}, 1).transpose(0, 1).expand({2, 5, 2})});
  s.error(Code::shape, {"[2, 3]", "4 of"}, {randn({2, 3}), randn({4})});
  s.error(Code::shape, {"at least 1 dim"}, {randn({}), randn({4})});
}
void mv_samples(SampleSink& s) {
  s.add({randn({7, 33}), randn({33}, 1)});
  s.add({strided(randn({7, 9})), spaced(randn({9}, 1))});
  s.error(Code::shape, {"[3, 4]"}, {randn({3, 4}), randn({5})});
}
void dot_samples(SampleSink& s) {
  s.add({randn({1000}), randn({1000}, 1)});
  s.add({spaced(randn({9})), randn({9}, 1)});
  s.add({randn({0}), randn({0})});
  s.error(Code::shape, {"3", "4"}, {randn({3}), randn({4})});
}
void outer_samples(SampleSink& s) {
  s.add({randn({5}), randn({8}, 1)});
  s.add({randn({0}), randn({8}, 1)});
  s.error(Code::shape, {"rank 1"}, {randn({3, 1}), randn({4})});
}
void addmm_samples(SampleSink& s) {
  s.add({randn({6}), randn({4, 9}), randn({9, 6}, 1)});
  s.add({randn({4, 1}), randn({4, 9}), randn({9, 6}, 1)}, {{"beta", val(0.5)}, {"alpha", val(2.0)}});
  s.add({randn({4, 6}), randn({4, 9}), randn({9, 6}, 1)}, {{"beta", val(0)}});
  s.add({Tensor::full({4, 6}, std::nan(""), DType::float32), randn({4, 9}), randn({9, 6}, 1)}, {{"beta", val(0)}});
  s.add({randn({6}), randn({4, 0}), randn({0, 6}, 1)});
  s.error(Code::shape, {"[5]", "[4, 6]"}, {randn({5}), randn({4, 9}), randn({9, 6}, 1)});
}
void baddbmm_samples(SampleSink& s) {
  s.add({randn({2, 1, 6}), randn({2, 4, 9}), randn({2, 9, 6}, 1)});
  s.add({randn({6}), randn({2, 4, 9}), randn({2, 9, 6}, 1)}, {{"beta", val(2)}, {"alpha", val(0.25)}});
  s.error(Code::shape, {"[3, 3]"}, {randn({3, 3}), randn({2, 4, 9}), randn({2, 9, 6}, 1)});
}
void addmv_samples(SampleSink& s) {
  s.add({randn({4}), randn({4, 9}), randn({9}, 1)});
  s.add({randn({1}), randn({4, 9}), randn({9}, 1)}, {{"beta", val(0.5)}, {"alpha", val(3)}});
  s.error(Code::shape, {"[3]"}, {randn({3}), randn({4, 9}), randn({9})});
}
void addr_samples(SampleSink& s) {
  s.add({randn({4, 5}), randn({4}), randn({5}, 1)});
  s.add({randn({5}), randn({4}), randn({5}, 1)}, {{"beta", val(0.5)}, {"alpha", val(3)}});
  s.error(Code::shape, {"[3, 5]"}, {randn({3, 5}), randn({4}), randn({5})});
}
void linear_samples(SampleSink& s) {
  s.add({randn({4, 9}), randn({6, 9}, 1), randn({6})});
  s.add({randn({2, 3, 9}), randn({40, 9}, 1), randn({40})});
  s.add({randn({9}), randn({6, 9}, 1)});
  s.add({strided(randn({5, 9})), strided(randn({6, 9}, 1)), none});
  s.error(Code::shape, {"9", "8"}, {randn({4, 9}), randn({6, 8})});
}
void fused_samples(SampleSink& s) {
  const char* kinds[] = {"none",      "relu",        "clamp",     "sigmoid", "silu",      "gelu",
                         "gelu_tanh", "hardsigmoid", "hardswish", "tanh",    "leaky_relu"};
  for (const char* kind : kinds)
    s.add_as_is({randn({5, 12}), randn({12, 37}, 1), randn({37}), randn({5, 37}, 2)},
                {{"activation", val(kind)}, {"act_alpha", val(0.2)}, {"act_beta", val(0.6)}});
  s.add_as_is({randn({2, 5, 12}), randn({37, 12}, 1), none, randn({2, 5, 37}, 2)}, {{"transpose_other", val(true)}});
  s.add_as_is({randn({2, 3, 5, 12}), randn({2, 3, 12, 6}, 1)}, {{"alpha", val(0.125)}, {"activation", val("relu")}});
  s.error(Code::value, {"swoosh"}, {randn({2, 2}), randn({2, 2})}, {{"activation", val("swoosh")}});
  s.error(Code::shape, {"residual", "[3]"}, {randn({2, 2}), randn({2, 2}), none, randn({3})});
}
void gemm_samples(SampleSink& s) {
  s.add({randn({9, 4}), randn({6, 9}, 1), randn({4, 1})},
        {{"trans_a", val(true)}, {"trans_b", val(true)}, {"alpha", val(0.5)}, {"beta", val(2.0)}});
  s.add({randn({4, 9}), randn({9, 6}, 1), randn({6})});
  s.add({randn({4, 9}), randn({9, 6}, 1), randn({})});
  s.add({randn({4, 9}), randn({9, 6}, 1)}, {{"alpha", val(0.5)}});
  s.error(Code::shape, {"c", "[5]"}, {randn({4, 9}), randn({9, 6}), randn({5})});
}

// ONNX.

void import_matmul(Importing& n) { n.output(0, n.emit("aten::matmul", {n.input(0), n.input(1)})); }
void import_gemm(Importing& n) {
  const bool ta = n.integer("transA", 0) != 0, tb = n.integer("transB", 0) != 0;
  const double alpha = n.number("alpha", 1.0), beta = n.number("beta", 1.0);
  // The usual linear layer, in the form that takes epilogues.
  if (!ta && alpha == 1 && beta == 1 && !n.has_input(2)) {
    n.output(0, n.emit("custom::matmul_fused", {n.input(0), n.input(1)}, {{"transpose_other", tb}}));
    return;
  }
  n.output(0, n.emit("custom::gemm", {n.input(0), n.input(1), n.has_input(2) ? Value(n.input(2)) : Value(None{})},
                     {{"trans_a", ta}, {"trans_b", tb}, {"alpha", alpha}, {"beta", beta}}));
}
std::optional<FusedCall> fuse_gemm(const Args& a, const Metas&, const EpilogueOffer& e, int extra) {
  if (e.addend || offers_affine(e) || a.flag("trans_a") || a.number("beta") != 1) return std::nullopt;
  const Meta* c = a.optional_tensor("c");
  const Meta &x = a.tensor("a"), &y = a.tensor("b");
  const int64_t n = a.flag("trans_b") ? y.dim(0) : y.dim(1);
  if (x.dtype != DType::float32 || (c && !(c->numel() == n && c->rank() >= 1 && c->dim(-1) == n && c->contiguous())))
    return std::nullopt;
  (void)extra;
  return FusedCall{
      "custom::matmul_fused",
      {TensorRef{a.operand("a")}, TensorRef{a.operand("b")}, c ? Value(TensorRef{a.operand("c")}) : Value(None{}),
       None{}, a.flag("trans_b"), a.number("alpha"), std::string(activation_name(e.activation.kind)),
       static_cast<double>(e.activation.alpha), static_cast<double>(e.activation.beta)}};
}

}  // namespace

Decls blas() {
  Decls d;
  d.push_back(declare<mm>("aten::mm(Tensor self, Tensor mat2) -> Tensor", mm_samples, "ATen mm"));
  d.back().with_epilogue = fuse_mm;
  d.push_back(declare<bmm>("aten::bmm(Tensor self, Tensor mat2) -> Tensor", bmm_samples, "ATen bmm"));
  d.push_back(
      declare<matmul>("aten::matmul(Tensor self, Tensor other) -> Tensor", matmul_samples, "ATen matmul; ONNX MatMul"));
  d.back().with_epilogue = fuse_matmul;
  d.back().imports = {{"MatMul", import_matmul}};
  d.push_back(declare<mv>("aten::mv(Tensor self, Tensor vec) -> Tensor", mv_samples, "ATen mv"));
  d.push_back(declare<dot>("aten::dot(Tensor self, Tensor tensor) -> Tensor", dot_samples, "ATen dot"));
  d.push_back(declare<outer>("aten::outer(Tensor self, Tensor vec2) -> Tensor", outer_samples, "ATen outer"));
  d.push_back(
      declare<addmm>("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                     addmm_samples, "ATen addmm"));
  d.push_back(declare<baddbmm>(
      "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
      baddbmm_samples, "ATen baddbmm"));
  d.push_back(
      declare<addmv>("aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                     addmv_samples, "ATen addmv"));
  d.push_back(
      declare<addr>("aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                    addr_samples, "ATen addr"));
  d.push_back(declare<linear>("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear_samples,
                              "ATen linear"));
  d.back().with_epilogue = fuse_linear;
  d.push_back(
      declare<fused>("custom::matmul_fused(Tensor self, Tensor other, Tensor? bias=None, Tensor? residual=None, *, "
                     "bool transpose_other=False, float alpha=1.0, str activation='none', float act_alpha=0.0, "
                     "float act_beta=0.0) -> Tensor",
                     fused_samples, "matmul with what follows it"));
  d.back().with_epilogue = fuse_fused;
  d.back().dtypes = {DType::float32};
  d.push_back(
      declare<gemm>("custom::gemm(Tensor a, Tensor b, Tensor? c=None, *, bool trans_a=False, bool trans_b=False, "
                    "float alpha=1.0, float beta=1.0) -> Tensor",
                    gemm_samples, "ONNX Gemm"));
  d.back().imports = {{"Gemm", import_gemm}};
  d.back().with_epilogue = fuse_gemm;
  return d;
}

}  // namespace nbx::decls
