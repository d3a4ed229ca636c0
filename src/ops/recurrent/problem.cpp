// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace nbx {

Shape RecurrentProblem::y_shape() const {
  return batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
}
Shape RecurrentProblem::state_shape() const {
  return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
}

void settle(const std::string& op, RecurrentProblem& p) {
  require(p.x.rank() == 3, Code::shape, "{}: x must be [steps, batch, input], it is {}", op, to_string(p.x));
  require(p.w.rank() == 3, Code::shape, "{}: w must be [directions, gates x hidden, input], it is {}", op,
          to_string(p.w));
  require(p.r.rank() == 3, Code::shape, "{}: r must be [directions, gates x hidden, hidden], it is {}", op,
          to_string(p.r));
  p.steps = p.x.dim(p.batch_first ? 1 : 0);
  p.batch = p.x.dim(p.batch_first ? 0 : 1);
  p.input = p.x.dim(2);
  p.hidden = p.r.dim(2);
  p.dtype = p.x.dtype;
  require(is_floating(p.dtype), Code::dtype, "{}: x is {}, a floating dtype is needed", op, to_string(p.x));
  const int64_t g = p.gates(), d = p.directions;
  const auto check = [&](const Meta& m, const char* what, const Shape& shape) {
    require(m.shape == shape, Code::shape, "{}: {} is {}, it must be {}", op, what, to_string(m), to_string(shape));
    require(m.dtype == p.dtype, Code::dtype, "{}: {} is {}, x is {}", op, what, to_string(m), to_string(p.x));
  };
  check(p.w, "w", {d, g * p.hidden, p.input});
  check(p.r, "r", {d, g * p.hidden, p.hidden});
  if (p.b) check(*p.b, "b", {d, 2 * g * p.hidden});
  if (p.h0) check(*p.h0, "initial_h", p.state_shape());
  if (p.c0) check(*p.c0, "initial_c", p.state_shape());
  if (p.p) check(*p.p, "p", {d, 3 * p.hidden});
  if (p.lengths)
    require(p.lengths->shape == Shape{p.batch} && is_integral(p.lengths->dtype), Code::shape,
            "{}: sequence_lens is {}, it must be integers of shape [{}]", op, to_string(*p.lengths), p.batch);
}

RecurrentActivation parse_recurrent_activation(const std::string& op, const std::string& name, const Doubles& alphas,
                                               size_t& next_alpha, const Doubles& betas, size_t& next_beta) {
  using A = RecurrentActivation;
  struct Row {
    const char* name;
    A::Kind kind;
    bool alpha, beta;
    float default_alpha, default_beta;
  };
  static constexpr Row rows[] = {
      {"sigmoid", A::sigmoid, false, false, 0, 0},
      {"tanh", A::tanh, false, false, 0, 0},
      {"relu", A::relu, false, false, 0, 0},
      {"affine", A::affine, true, true, 1, 0},
      {"leakyrelu", A::leaky_relu, true, false, 0.01f, 0},
      {"thresholdedrelu", A::thresholded_relu, true, false, 1, 0},
      {"scaledtanh", A::scaled_tanh, true, true, 1, 1},
      {"hardsigmoid", A::hard_sigmoid, true, true, 0.2f, 0.5f},
      {"elu", A::elu, true, false, 1, 0},
      {"softsign", A::softsign, false, false, 0, 0},
      {"softplus", A::softplus, false, false, 0, 0},
  };
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Row& r : rows) {
    if (lower != r.name) continue;
    A a{r.kind, r.default_alpha, r.default_beta};
    if (r.alpha && next_alpha < alphas.size()) a.alpha = static_cast<float>(alphas[next_alpha++]);
    if (r.beta && next_beta < betas.size()) a.beta = static_cast<float>(betas[next_beta++]);
    return a;
  }
  fail(Code::value,
       "{}: unknown activation '{}'; Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, "
       "HardSigmoid, Elu, Softsign and Softplus are known",
       op, name);
}

namespace {

// Element offset of (direction, batch entry) in a state tensor.
int64_t state_at(const RecurrentProblem& p, int d, int64_t b) {
  return p.batch_first ? (b * p.directions + d) * p.hidden : (static_cast<int64_t>(d) * p.batch + b) * p.hidden;
}

bool reversed(const RecurrentProblem& p, int d) { return d == 1 || p.first_reversed; }

float read_float(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::float16:
      return to_float(static_cast<const float16_t*>(data)[i]);
    case DType::bfloat16:
      return to_float(static_cast<const bfloat16_t*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}
void write_float(void* data, DType dtype, int64_t i, float v) {
  switch (dtype) {
    case DType::float16:
      static_cast<float16_t*>(data)[i] = to_float16(v);
      break;
    case DType::bfloat16:
      static_cast<bfloat16_t*>(data)[i] = to_bfloat16(v);
      break;
    default:
      static_cast<float*>(data)[i] = v;
  }
}
int64_t read_int(const void* data, DType dtype, int64_t i) {
  return dtype == DType::int32 ? static_cast<const int32_t*>(data)[i] : static_cast<const int64_t*>(data)[i];
}

std::shared_ptr<const RecurrentWeights> pack(const RecurrentProblem& p, int d, const void* w, const void* r,
                                             const void* b, const void* peep) {
  const int64_t gh = p.gates() * p.hidden, size = itemsize(p.dtype);
  RecurrentPack k;
  k.kind = p.kind;
  k.input = p.input;
  k.hidden = p.hidden;
  k.dtype = p.dtype;
  k.linear_before_reset = p.linear_before_reset;
  std::copy(p.gate_order, p.gate_order + 4, k.gate_order);
  k.w = static_cast<const char*>(w) + d * gh * p.input * size;
  k.r = static_cast<const char*>(r) + d * gh * p.hidden * size;
  std::vector<float> bias, peepholes;
  if (b) {
    for (int64_t i = 0; i < 2 * gh; ++i) bias.push_back(read_float(b, p.dtype, d * 2 * gh + i));
    k.w_bias = bias.data();
    k.r_bias = bias.data() + gh;
  }
  if (peep) {  // ONNX: i, o, f; here i, f, o
    const int64_t h = p.hidden;
    for (const int64_t block : {0, 2, 1})
      for (int64_t i = 0; i < h; ++i) peepholes.push_back(read_float(peep, p.dtype, (d * 3 + block) * h + i));
    k.peepholes = peepholes.data();
  }
  return std::make_shared<const RecurrentWeights>(k);
}

int64_t step_floats(const RecurrentProblem& p) {
  // What a run asks of the kernel depends on sizes only, so a weight object without content answers.
  RecurrentWeights w;
  w.kind = p.kind;
  w.input = p.input;
  w.hidden = p.hidden;
  w.gates = p.gates();
  w.linear_before_reset = p.linear_before_reset;
  return recurrent_workspace_floats(w, p.steps, p.batch);
}

}  // namespace

Serves fast_serves(const RecurrentProblem& p) {
  if (p.dtype != DType::float32 && !is_half(p.dtype)) return refuse("serves float32, float16 and bfloat16");
  if (p.steps == 0 || p.batch == 0 || p.hidden == 0) return refuse("nothing to compute");
  return yes;
}

int64_t fast_workspace(const RecurrentProblem& p) {
  const int64_t states = 4 * p.batch * p.hidden, lengths = 2 * (p.batch + 8);
  return (step_floats(p) + 64 + states + lengths + 64) * static_cast<int64_t>(sizeof(float));
}

Bound bind_fast(RecurrentProblem p, PackCache* packs) {
  std::vector<std::shared_ptr<const RecurrentWeights>> weights;
  const auto constant = [](const std::optional<Meta>& m) { return !m || m->known.defined(); };
  if (p.w.known.defined() && p.r.known.defined() && constant(p.b) && constant(p.p)) {
    const Tensor w = p.w.known.contiguous(), r = p.r.known.contiguous();
    const Tensor b = p.b ? p.b->known.contiguous() : Tensor(), peep = p.p ? p.p->known.contiguous() : Tensor();
    for (int d = 0; d < p.directions; ++d) {
      const auto make = [&]() -> std::shared_ptr<const void> {
        auto made =
            pack(p, d, w.raw(), r.raw(), b.defined() ? b.raw() : nullptr, peep.defined() ? peep.raw() : nullptr);
        if (packs) packs->add_bytes(made->bytes());
        return made;
      };
      // Only the graph's own constants come back as the same storage at every plan.
      const bool shared = packs && p.w.known.is_contiguous();
      const std::string key = "recurrent." + std::to_string(d) + (p.linear_before_reset ? "l" : "") +
                              (b.defined() ? "b" + std::to_string(reinterpret_cast<uintptr_t>(b.raw())) : "") + "r" +
                              std::to_string(reinterpret_cast<uintptr_t>(r.raw()));
      weights.push_back(
          std::static_pointer_cast<const RecurrentWeights>(shared ? packs->get(p.w.known, key, make) : make()));
    }
  }
  p.w.known = p.r.known = {};
  const int64_t floats = (step_floats(p) + 63) / 64 * 64;
  return [p, weights, floats](const Run& run) {
    float* scratch = reinterpret_cast<float*>(run.workspace);
    const int64_t state = p.batch * p.hidden, size = itemsize(p.dtype);
    float *h0 = scratch + floats, *c0 = h0 + state, *hn = c0 + state, *cn = hn + state;
    int64_t* lengths = reinterpret_cast<int64_t*>(scratch + (floats + 4 * state + 15) / 16 * 16);
    const bool lstm = p.kind == RecurrentKind::lstm;
    if (p.lengths) {
      for (int64_t b = 0; b < p.batch; ++b) {
        lengths[b] = read_int(run.in<void>(p.ilengths), p.lengths->dtype, b);
        require(lengths[b] >= 0 && lengths[b] <= p.steps, Code::value,
                "recurrent op: sequence_lens[{}] is {}, 0 to {} are possible", b, lengths[b], p.steps);
      }
    }
    for (int d = 0; d < p.directions; ++d) {
      std::shared_ptr<const RecurrentWeights> w =
          weights.empty() ? pack(p, d, run.in<void>(p.iw), run.in<void>(p.ir), run.in<void>(p.ib), run.in<void>(p.ip))
                          : weights[static_cast<size_t>(d)];
      const auto take = [&](int index, float* to) {
        const void* from = run.in<void>(index);
        for (int64_t b = 0; b < p.batch; ++b)
          for (int64_t i = 0; i < p.hidden; ++i)
            to[b * p.hidden + i] = from ? read_float(from, p.dtype, state_at(p, d, b) + i) : 0.0f;
      };
      take(p.ih, h0);
      if (lstm) take(p.ic, c0);
      Recurrent a;
      a.weights = w.get();
      a.steps = p.steps;
      a.batch = p.batch;
      a.x = run.in<void>(p.ix);
      a.x_dtype = a.y_dtype = p.dtype;
      a.x_step = p.batch_first ? p.input : p.batch * p.input;
      a.x_batch = p.batch_first ? p.steps * p.input : p.input;
      a.y = run.out<char>(0) + d * (p.batch_first ? p.hidden : p.batch * p.hidden) * size;
      a.y_step = p.batch_first ? p.directions * p.hidden : p.directions * p.batch * p.hidden;
      a.y_batch = p.batch_first ? p.steps * p.directions * p.hidden : p.hidden;
      a.h0 = h0;
      a.c0 = lstm ? c0 : nullptr;
      a.h_last = hn;
      a.c_last = lstm ? cn : nullptr;
      a.lengths = p.lengths ? lengths : nullptr;
      a.reverse = reversed(p, d);
      a.couple_forget = p.couple_forget;
      a.clip = static_cast<float>(p.clip);
      for (int i = 0; i < 3; ++i) a.activations[i] = p.activations[d][i];
      a.workspace = scratch;
      recurrent(run.team, a);
      const auto give = [&](int index, const float* from) {
        for (int64_t b = 0; b < p.batch; ++b)
          for (int64_t i = 0; i < p.hidden; ++i)
            write_float(run.out<void>(index), p.dtype, state_at(p, d, b) + i, from[b * p.hidden + i]);
      };
      give(1, hn);
      if (lstm) give(2, cn);
    }
  };
}

namespace {

double apply(const RecurrentActivation& a, double x) {
  using A = RecurrentActivation;
  switch (a.kind) {
    case A::sigmoid:
      return 1 / (1 + std::exp(-x));
    case A::tanh:
      return std::tanh(x);
    case A::relu:
      return x > 0 ? x : 0;
    case A::affine:
      return a.alpha * x + a.beta;
    case A::leaky_relu:
      return x >= 0 ? x : a.alpha * x;
    case A::thresholded_relu:
      return x > a.alpha ? x : 0;
    case A::scaled_tanh:
      return a.alpha * std::tanh(a.beta * x);
    case A::hard_sigmoid:
      return std::min(std::max(a.alpha * x + a.beta, 0.0), 1.0);
    case A::elu:
      return x >= 0 ? x : a.alpha * std::expm1(x);
    case A::softsign:
      return x / (1 + std::fabs(x));
    case A::softplus:
      return x > 30 ? x : std::log1p(std::exp(x));
  }
  return x;
}

}  // namespace

std::vector<Tensor> recurrent_float64(const RecurrentProblem& p, const std::vector<Tensor>& operands) {
  const auto wide = [&](int i) {
    return i < 0 ? Tensor() : operands[static_cast<size_t>(i)].to(DType::float64).contiguous();
  };
  const Tensor x = wide(p.ix), w = wide(p.iw), r = wide(p.ir), bias = wide(p.ib), h_start = wide(p.ih),
               c_start = wide(p.ic), peep = wide(p.ip);
  const std::vector<int64_t> lengths = p.ilengths < 0 ? std::vector<int64_t>(static_cast<size_t>(p.batch), p.steps)
                                                      : operands[static_cast<size_t>(p.ilengths)].to_ints();
  Tensor y = Tensor::zeros(p.y_shape(), DType::float64), h_end = Tensor::zeros(p.state_shape(), DType::float64);
  Tensor c_end = Tensor::zeros(p.state_shape(), DType::float64);
  const int64_t H = p.hidden, I = p.input, G = p.gates();
  const auto clipped = [&](double v) { return p.clip > 0 ? std::min(std::max(v, -p.clip), p.clip) : v; };
  for (int d = 0; d < p.directions; ++d) {
    for (int64_t b = 0; b < p.batch; ++b) {
      std::vector<double> h(static_cast<size_t>(H), 0), c(h), next_h(h), gate(static_cast<size_t>(G * H)), part(gate);
      for (int64_t i = 0; i < H; ++i) {
        if (h_start.defined()) h[static_cast<size_t>(i)] = h_start.data<double>()[state_at(p, d, b) + i];
        if (c_start.defined()) c[static_cast<size_t>(i)] = c_start.data<double>()[state_at(p, d, b) + i];
      }
      const int64_t length = lengths[static_cast<size_t>(b)];
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = reversed(p, d) ? length - 1 - s : s;
        const double* xt = x.data<double>() + (p.batch_first ? (b * p.steps + t) : (t * p.batch + b)) * I;
        // gate j of nbx's order, input and recurrent parts apart
        const auto from_x = [&](int64_t j, int64_t i) {
          const int64_t row = p.gate_order[j] * H + i;
          double sum = bias.defined() ? bias.data<double>()[d * 2 * G * H + row] : 0;
          for (int64_t k = 0; k < I; ++k) sum += w.data<double>()[(d * G * H + row) * I + k] * xt[k];
          return sum;
        };
        const auto from_h = [&](int64_t j, int64_t i, const std::vector<double>& state) {
          const int64_t row = p.gate_order[j] * H + i;
          double sum = bias.defined() ? bias.data<double>()[d * 2 * G * H + G * H + row] : 0;
          for (int64_t k = 0; k < H; ++k)
            sum += r.data<double>()[(d * G * H + row) * H + k] * state[static_cast<size_t>(k)];
          return sum;
        };
        const RecurrentActivation* act = p.activations[d];
        if (p.kind == RecurrentKind::rnn) {
          for (int64_t i = 0; i < H; ++i)
            next_h[static_cast<size_t>(i)] = apply(act[0], clipped(from_x(0, i) + from_h(0, i, h)));
        } else if (p.kind == RecurrentKind::gru) {
          std::vector<double> reset(static_cast<size_t>(H)), update(reset), scaled(reset);
          for (int64_t i = 0; i < H; ++i) {
            reset[static_cast<size_t>(i)] = apply(act[0], clipped(from_x(0, i) + from_h(0, i, h)));
            update[static_cast<size_t>(i)] = apply(act[0], clipped(from_x(1, i) + from_h(1, i, h)));
            scaled[static_cast<size_t>(i)] = reset[static_cast<size_t>(i)] * h[static_cast<size_t>(i)];
          }
          for (int64_t i = 0; i < H; ++i) {
            const size_t u = static_cast<size_t>(i);
            const double n =
                p.linear_before_reset ? from_x(2, i) + reset[u] * from_h(2, i, h) : from_x(2, i) + from_h(2, i, scaled);
            next_h[u] = (1 - update[u]) * apply(act[1], clipped(n)) + update[u] * h[u];
          }
        } else {
          const auto peephole = [&](int64_t block, int64_t i, double cell) {
            return peep.defined() ? peep.data<double>()[(d * 3 + block) * H + i] * cell : 0.0;  // blocks i, o, f
          };
          std::vector<double> next_c(static_cast<size_t>(H));
          for (int64_t i = 0; i < H; ++i) {
            const size_t u = static_cast<size_t>(i);
            const double in = apply(act[0], clipped(from_x(0, i) + from_h(0, i, h) + peephole(0, i, c[u])));
            const double forget = p.couple_forget
                                      ? 1 - in
                                      : apply(act[0], clipped(from_x(1, i) + from_h(1, i, h) + peephole(2, i, c[u])));
            next_c[u] = forget * c[u] + in * apply(act[1], clipped(from_x(2, i) + from_h(2, i, h)));
            next_h[u] = apply(act[0], clipped(from_x(3, i) + from_h(3, i, h) + peephole(1, i, next_c[u]))) *
                        apply(act[2], next_c[u]);
          }
          c = next_c;
        }
        h = next_h;
        double* out = y.mutable_data<double>() + (p.batch_first ? ((b * p.steps + t) * p.directions + d) * H
                                                                : ((t * p.directions + d) * p.batch + b) * H);
        std::copy(h.begin(), h.end(), out);
      }
      std::copy(h.begin(), h.end(), h_end.mutable_data<double>() + state_at(p, d, b));
      std::copy(c.begin(), c.end(), c_end.mutable_data<double>() + state_at(p, d, b));
    }
  }
  if (p.kind == RecurrentKind::lstm) return {y, h_end, c_end};
  return {y, h_end};
}

Bound bind_plain(RecurrentProblem p) {
  std::vector<Meta> metas(8);
  int count = 0;
  const auto note = [&](int index, const Meta& m) {
    if (index < 0) return;
    metas[static_cast<size_t>(index)] = m.like();
    count = std::max(count, index + 1);
  };
  note(p.ix, p.x);
  note(p.iw, p.w);
  note(p.ir, p.r);
  if (p.b) note(p.ib, *p.b);
  if (p.lengths) note(p.ilengths, *p.lengths);
  if (p.h0) note(p.ih, *p.h0);
  if (p.c0) note(p.ic, *p.c0);
  if (p.p) note(p.ip, *p.p);
  metas.resize(static_cast<size_t>(count));
  return [p, metas](const Run& r) {
    std::vector<Tensor> operands;
    for (size_t i = 0; i < metas.size(); ++i)
      operands.push_back(
          Tensor::borrow(const_cast<void*>(r.inputs[i]), metas[i].shape, metas[i].dtype, nullptr, false));
    const std::vector<Tensor> results = recurrent_float64(p, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      const Tensor narrow = results[i].to(p.dtype);
      if (narrow.nbytes() > 0) std::memcpy(r.outputs[i], narrow.raw(), static_cast<size_t>(narrow.nbytes()));
    }
  };
}

}  // namespace nbx
