// SPDX-License-Identifier: Apache-2.0
// custom::pointwise: a chain of pointwise calls in one pass over memory. See ops/elementwise/fuse.h for the program's
// form.
#include "ops/elementwise/formula.h"
#include "ops/elementwise/fuse.h"
#include "ops/registry.h"
#include "ops/sample.h"
#include "shape/broadcast.h"

namespace nbx::decls {

using namespace pointwise;

namespace {

// The chain with the metas of inputs and results of calls, and each call's arguments.
struct Typed {
  Chain chain;
  Metas metas;
  std::vector<Args> args;
  std::vector<int> alias;  // a call that gives its operand itself: the id of that; else -1
};

Typed typed(const Args& args) {
  Typed t;
  const std::vector<const Meta*> inputs = args.tensors("inputs");
  t.chain = parse_chain(args.text("program"), static_cast<int>(inputs.size()));
  for (const Meta* m : inputs) t.metas.push_back(*m);
  for (const Chain::Call& call : t.chain.calls) {
    std::vector<int> sources;
    t.args.push_back(build_args(
        call.op->parsed, call.values, [&](TensorRef r) { return t.metas[static_cast<size_t>(r.id)]; }, nullptr,
        &sources));
    Meta out = call.op->infer(t.args.back()).front();
    t.alias.push_back(out.alias < 0 ? -1 : sources[static_cast<size_t>(out.alias)]);
    t.metas.push_back(Meta(out.dtype, out.shape));
  }
  return t;
}

Metas infer(const Args& args) {
  const Typed t = typed(args);
  Shape whole;
  for (const Meta& m : t.metas) whole = broadcast(whole, m.shape, "custom::pointwise");
  Metas out;
  for (const int r : t.chain.results) {
    const Meta& m = t.metas[static_cast<size_t>(t.chain.inputs + r)];
    require(m.shape == whole, Code::shape,
            "custom::pointwise: result v{} has shape {}, the chain's values broadcast to {}; leave the wider ones out",
            r, to_string(m.shape), to_string(whole));
    out.push_back(m);
  }
  return out;
}

Bound bind(const Args& args, const Metas& outputs) {
  const Typed t = typed(args);
  Builder b;
  std::vector<Val> values;
  for (int i = 0; i < t.chain.inputs; ++i) values.push_back(b.add_input(input_of(i, t.metas[static_cast<size_t>(i)])));
  for (size_t i = 0; i < t.chain.calls.size(); ++i) {
    if (t.alias[i] >= 0) {
      values.push_back(values[static_cast<size_t>(t.alias[i])]);
      continue;
    }
    std::vector<Val> in;
    size_t next = 0;
    std::vector<int> ids;
    for (const Value& v : t.chain.calls[i].values)
      if (const auto* r = std::get_if<TensorRef>(&v); r && r->defined()) ids.push_back(r->id);
    for (const Meta& m : t.args[i].operands()) {
      if (!m.weak) {
        in.push_back(values[static_cast<size_t>(ids[next++])]);
        continue;
      }
      in.push_back(b.constant(m.dtype == DType::bool_ ? Scalar{m.known.item_int() != 0}
                              : is_integral(m.dtype)  ? Scalar{m.known.item_int()}
                                                      : Scalar{m.known.item()},
                              m.dtype));
    }
    const Formula& f = *find_formula(t.chain.calls[i].op->parsed.full_name());
    const DType result = t.metas[values.size()].dtype;
    const Val v = lower(f, b, t.args[i], in);
    values.push_back(b.dtype(v) == result ? v : b.cast(v, result));
  }
  for (const int r : t.chain.results) b.output(values[static_cast<size_t>(t.chain.inputs + r)]);
  return compile(b, outputs.front().shape);
}

Cost cost(const Args& args, const Metas& outputs) {
  Cost c = pointwise_cost(args, outputs);
  const size_t calls = parse_chain(args.text("program"), static_cast<int>(args.tensors("inputs").size())).calls.size();
  c.flops = outputs.front().numel() * static_cast<int64_t>(calls);
  return c;
}

// Call by call, each by its own oracle, and rounded to its dtype between the calls.
std::vector<Tensor> oracle(const Args& args, const std::vector<Tensor>& operands) {
  const Typed t = typed(args);
  const auto as_oracle_input = [](const Tensor& v) { return is_floating(v.dtype()) ? v.to(DType::float64) : v; };
  std::vector<Tensor> values = operands;
  for (size_t i = 0; i < t.chain.calls.size(); ++i) {
    std::vector<Tensor> in;
    size_t next = 0;
    std::vector<int> ids;
    for (const Value& v : t.chain.calls[i].values)
      if (const auto* r = std::get_if<TensorRef>(&v); r && r->defined()) ids.push_back(r->id);
    for (const Meta& m : t.args[i].operands())
      in.push_back(m.weak ? as_oracle_input(m.known) : values[static_cast<size_t>(ids[next++])]);
    const Meta& result = t.metas[values.size()];
    const Tensor exact = t.alias[i] >= 0 ? in[0] : t.chain.calls[i].op->oracle(t.args[i], in).front();
    values.push_back(as_oracle_input(exact.to(result.dtype)));
  }
  std::vector<Tensor> out;
  for (const int r : t.chain.results) out.push_back(values[static_cast<size_t>(t.chain.inputs + r)]);
  return out;
}

void samples(SampleSink& s) {
  const auto chain = [](const char* text) { return Value(std::string(text)); };
  s.add({std::vector<Tensor>{randn({3, 40})}, chain("v0 = aten::relu(%0); return v0")});
  s.add({std::vector<Tensor>{randn({2, 1030}), randn({1030}, 2)},
         chain("v0 = aten::mul.Tensor(%0, %1); v1 = aten::add.Tensor(v0, 0.5, alpha=2); v2 = aten::relu(v1); return "
               "v2, v0")});
  s.add({std::vector<Tensor>{strided(randn({5, 7})), randn({5, 1}, 2)},
         chain("v0 = aten::sub.Tensor(%0, %1); v1 = aten::sigmoid(v0); v2 = aten::mul.Tensor(v0, v1); return v2")});
  s.add_as_is({std::vector<Tensor>{randn({40009}), randn({}, 2)},
               chain("v0 = aten::div.Tensor(%0, 1.5); v1 = aten::gt.Tensor(v0, %1); v2 = aten::where.self(v1, v0, %0); "
                     "v3 = aten::to.dtype(v2, float16); return v3, v1")});
  s.add_as_is({std::vector<Tensor>{rand_ints({9, 5}, -20, 20), randn({5})},
               chain("v0 = aten::remainder.Scalar(%0, 3); v1 = aten::mul.Tensor(v0, %1); return v1, v0")});
  s.add({std::vector<Tensor>{randn({0, 4})}, chain("v0 = aten::neg(%0); return v0")});
  s.error(Code::shape, {"[3]", "[2, 3]"},
          {std::vector<Tensor>{randn({2, 3}), randn({3})},
           chain("v0 = aten::neg(%1); v1 = aten::add.Tensor(%0, v0); return v0")});
  s.error(Code::value, {"column"}, {std::vector<Tensor>{randn({2})}, chain("v0 = aten::neg(%1); return v0")});
  s.error(Code::unsupported, {"aten::glu"}, {std::vector<Tensor>{randn({2})}, chain("v0 = aten::glu(%0); return v0")});
}

}  // namespace

Decls pointwise() {
  OpDecl d;
  d.schema = "custom::pointwise(Tensor[] inputs, str program) -> Tensor[]";
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("pointwise_cpu", bind, true)};
  d.oracle = oracle;
  d.samples = samples;
  d.tolerance = ulps(8, 3, 1e-6, 2e-2);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.flags = kPointwise;
  d.source = "chains of ATen ops";
  return {d};
}

}  // namespace nbx::decls
