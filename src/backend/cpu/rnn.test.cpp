// SPDX-License-Identifier: Apache-2.0
// Against ONNX's equations in float64, written for ONNX's gate orders.
#include "backend/cpu/rnn.h"

#include "backend/cpu/kernel_test.h"

namespace nbx {
namespace {
using namespace kernel_test;

NBX_EACH_TARGET(RnnTest);

struct Case {
  RecurrentKind kind = RecurrentKind::lstm;
  int64_t steps = 4, batch = 3, input = 5, hidden = 7;
  DType dtype = DType::float32;
  bool bias = true, peepholes = false, reset_after = true, reverse = false, couple = false, lengths = false,
       initial = true;
  bool batch_first = false;
  float clip = 0.0f;
  RecurrentActivation acts[3] = {
      {RecurrentActivation::sigmoid}, {RecurrentActivation::tanh}, {RecurrentActivation::tanh}};

  std::string text() const {
    return "kind " + std::to_string(static_cast<int>(kind)) + " steps " + std::to_string(steps) + " batch " +
           std::to_string(batch) + " input " + std::to_string(input) + " hidden " + std::to_string(hidden) +
           " reverse " + std::to_string(reverse) + " reset_after " + std::to_string(reset_after) + " lengths " +
           std::to_string(lengths) + " act " + std::to_string(acts[0].kind);
  }
};

double formula(const RecurrentActivation& a, double x) {
  const double al = a.alpha, be = a.beta;
  switch (a.kind) {
    case RecurrentActivation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case RecurrentActivation::tanh:
      return std::tanh(x);
    case RecurrentActivation::relu:
      return std::max(x, 0.0);
    case RecurrentActivation::affine:
      return al * x + be;
    case RecurrentActivation::leaky_relu:
      return x >= 0 ? x : al * x;
    case RecurrentActivation::thresholded_relu:
      return x > al ? x : 0;
    case RecurrentActivation::scaled_tanh:
      return al * std::tanh(be * x);
    case RecurrentActivation::hard_sigmoid:
      return std::min(std::max(al * x + be, 0.0), 1.0);
    case RecurrentActivation::elu:
      return x >= 0 ? x : al * (std::exp(x) - 1);
    case RecurrentActivation::softsign:
      return x / (1 + std::fabs(x));
    case RecurrentActivation::softplus:
      return std::log(1 + std::exp(x));
  }
  return x;
}

struct Layer {
  explicit Layer(const Case& layer)
      : c(layer),
        gates(c.kind == RecurrentKind::lstm  ? 4
              : c.kind == RecurrentKind::gru ? 3
                                             : 1),
        random(static_cast<uint32_t>(c.hidden + 3 * c.batch)),
        x(random.values(c.steps * c.batch * c.input), c.dtype),
        w(random.values(gates * c.hidden * c.input), c.dtype),
        r(random.values(gates * c.hidden * c.hidden), c.dtype),
        wb(random.values(gates * c.hidden)),
        rb(random.values(gates * c.hidden)),
        p(random.values(3 * c.hidden)),
        h0(random.values(c.batch * c.hidden)),
        c0(random.values(c.batch * c.hidden)) {
    for (int64_t b = 0; b < c.batch; ++b) lengths.push_back(b % (c.steps + 1));
    if (!c.initial) {
      std::fill(h0.begin(), h0.end(), 0.0f);
      std::fill(c0.begin(), c0.end(), 0.0f);
    }
  }
  int64_t x_step() const { return c.batch_first ? c.input : c.batch * c.input; }
  int64_t x_batch() const { return c.batch_first ? c.steps * c.input : c.input; }

  struct Out {
    std::vector<char> y;
    std::vector<float> h, c;
    bool operator==(const Out& o) const { return y == o.y && h == o.h && c == o.c; }
  };

  Out run(int threads) const {
    Team team(threads);
    RecurrentPack pack;
    pack.kind = c.kind, pack.input = c.input, pack.hidden = c.hidden;
    pack.w = w.data(), pack.r = r.data(), pack.dtype = c.dtype;
    if (c.bias) pack.w_bias = wb.data(), pack.r_bias = rb.data();
    // ONNX: lstm i o f c, peepholes i o f; gru z r h.
    std::vector<float> peep(p.begin(), p.begin() + c.hidden);
    peep.insert(peep.end(), p.begin() + 2 * c.hidden, p.end());
    peep.insert(peep.end(), p.begin() + c.hidden, p.begin() + 2 * c.hidden);
    if (c.peepholes) pack.peepholes = peep.data();
    const int lstm[4] = {0, 2, 3, 1}, gru[4] = {1, 0, 2, 0}, rnn[4] = {0, 0, 0, 0};
    std::copy_n(c.kind == RecurrentKind::lstm ? lstm : c.kind == RecurrentKind::gru ? gru : rnn, 4, pack.gate_order);
    pack.linear_before_reset = c.reset_after;
    const RecurrentWeights weights(pack, &team);

    Out out;
    out.y.resize(static_cast<size_t>(c.steps * c.batch * c.hidden * itemsize(c.dtype)), 55);
    out.h.resize(h0.size());
    out.c.resize(h0.size());
    std::vector<float> workspace(static_cast<size_t>(recurrent_workspace_floats(weights, c.steps, c.batch)), 1e30f);
    Recurrent a;
    a.weights = &weights;
    a.steps = c.steps, a.batch = c.batch;
    a.x = x.data(), a.x_dtype = c.dtype, a.x_step = x_step(), a.x_batch = x_batch();
    a.y = out.y.data(), a.y_dtype = c.dtype, a.y_step = c.batch * c.hidden, a.y_batch = c.hidden;
    if (c.initial) a.h0 = h0.data(), a.c0 = c0.data();
    a.h_last = out.h.data(), a.c_last = out.c.data();
    if (c.lengths) a.lengths = lengths.data();
    a.reverse = c.reverse, a.couple_forget = c.couple, a.clip = c.clip;
    std::copy_n(c.acts, 3, a.activations);
    a.workspace = workspace.data();
    recurrent(team, a);
    return out;
  }

  void check(const Out& out) const {
    const int64_t H = c.hidden;
    for (int64_t b = 0; b < c.batch; ++b) {
      std::vector<double> h(static_cast<size_t>(H)), cell(static_cast<size_t>(H));
      for (int64_t j = 0; j < H; ++j) {
        h[static_cast<size_t>(j)] = h0[static_cast<size_t>(b * H + j)];
        cell[static_cast<size_t>(j)] = c0[static_cast<size_t>(b * H + j)];
      }
      const int64_t length = c.lengths ? lengths[static_cast<size_t>(b)] : c.steps;
      for (int64_t s = 0; s < c.steps; ++s) {
        if (s >= length) {
          for (int64_t j = 0; j < H; ++j)
            ASSERT_EQ(read(out.y.data(), c.dtype, (s * c.batch + b) * H + j), 0.0) << c.text();
          continue;
        }
        const int64_t t = c.reverse ? length - 1 - s : s;
        const auto from_x = [&](int64_t gate, int64_t j) {
          double v = c.bias ? wb[static_cast<size_t>(gate * H + j)] : 0;
          for (int64_t i = 0; i < c.input; ++i)
            v += x.exact[static_cast<size_t>(t * x_step() + b * x_batch() + i)] *
                 w.exact[static_cast<size_t>((gate * H + j) * c.input + i)];
          return v;
        };
        const auto from_h = [&](int64_t gate, int64_t j, const std::vector<double>& state) {
          double v = c.bias ? rb[static_cast<size_t>(gate * H + j)] : 0;
          for (int64_t i = 0; i < H; ++i)
            v += state[static_cast<size_t>(i)] * r.exact[static_cast<size_t>((gate * H + j) * H + i)];
          return v;
        };
        const auto act = [&](int which, double v) {
          const double l = c.clip;
          return formula(c.acts[which], l > 0 ? std::min(std::max(v, -l), l) : v);
        };
        std::vector<double> next(h), reset(h), z(h);
        for (int64_t j = 0; j < H; ++j) {
          const size_t u = static_cast<size_t>(j);
          const auto peep = [&](int64_t which, double state) {
            return c.peepholes ? p[static_cast<size_t>(which * H + j)] * state : 0;
          };
          if (c.kind == RecurrentKind::rnn) next[u] = act(0, from_x(0, j) + from_h(0, j, h));
          if (c.kind == RecurrentKind::gru) {
            z[u] = act(0, from_x(0, j) + from_h(0, j, h));
            reset[u] = act(0, from_x(1, j) + from_h(1, j, h));
          }
          if (c.kind == RecurrentKind::lstm) {
            const double i = act(0, from_x(0, j) + from_h(0, j, h) + peep(0, cell[u]));
            const double f = c.couple ? 1 - i : act(0, from_x(2, j) + from_h(2, j, h) + peep(2, cell[u]));
            const double g = act(1, from_x(3, j) + from_h(3, j, h));
            cell[u] = f * cell[u] + i * g;
            next[u] = act(0, from_x(1, j) + from_h(1, j, h) + peep(1, cell[u])) * formula(c.acts[2], cell[u]);
          }
        }
        if (c.kind == RecurrentKind::gru) {
          std::vector<double> rh(h);
          for (size_t j = 0; j < rh.size(); ++j) rh[j] *= reset[j];
          for (int64_t j = 0; j < H; ++j) {
            const size_t u = static_cast<size_t>(j);
            const double n = act(1, from_x(2, j) + (c.reset_after ? reset[u] * from_h(2, j, h) : from_h(2, j, rh)));
            next[u] = (1 - z[u]) * n + z[u] * h[u];
          }
        }
        h = next;
        for (int64_t j = 0; j < H; ++j) {
          const double v = h[static_cast<size_t>(j)];
          ASSERT_NEAR(read(out.y.data(), c.dtype, (t * c.batch + b) * H + j), v, 1e-4 + unit(c.dtype) * std::fabs(v))
              << c.text() << " t " << t;
        }
      }
      for (int64_t j = 0; j < H; ++j) {
        ASSERT_NEAR(out.h[static_cast<size_t>(b * H + j)], h[static_cast<size_t>(j)], 1e-4) << c.text();
        if (c.kind == RecurrentKind::lstm) {
          ASSERT_NEAR(out.c[static_cast<size_t>(b * H + j)], cell[static_cast<size_t>(j)], 1e-4) << c.text();
        }
      }
    }
  }

  Case c;
  int64_t gates;
  Random random;
  Operand x, w, r;
  std::vector<float> wb, rb, p, h0, c0;
  std::vector<int64_t> lengths;
};

void prove(const Case& c) {
  const Layer layer(c);
  const auto one = layer.run(1);
  layer.check(one);
  if (testing::Test::HasFatalFailure()) return;
  for (int threads : {2, 3, 7})
    ASSERT_TRUE(one == layer.run(threads)) << c.text() << ": other bits with " << threads << " threads";
}

const RecurrentKind kKinds[] = {RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn};

TEST_P(RnnTest, EveryKindAndSizeFollowsItsEquations) {
  for (RecurrentKind kind : kKinds)
    for (int64_t hidden : {1, 7, 16, 33})
      for (int64_t batch : {1, 2, 5})
        for (bool reset_after : {true, false}) {
          Case c;
          c.kind = kind, c.hidden = hidden, c.batch = batch, c.reset_after = reset_after;
          c.reverse = hidden == 7;
          c.batch_first = batch == 2;
          c.initial = hidden != 16;
          c.bias = hidden != 33;
          prove(c);
          if (HasFatalFailure()) return;
        }
}

TEST_P(RnnTest, SequencesOfDifferentLengthsEndAloneInBothDirections) {
  for (RecurrentKind kind : kKinds)
    for (bool reverse : {false, true})
      for (bool reset_after : {true, false}) {
        Case c;
        c.kind = kind, c.batch = 6, c.lengths = true, c.reverse = reverse, c.reset_after = reset_after;
        prove(c);
        if (HasFatalFailure()) return;
      }
}

TEST_P(RnnTest, PeepholesClipAndCoupling) {
  for (bool couple : {false, true})
    for (float clip : {0.0f, 0.7f}) {
      Case c;
      c.peepholes = true, c.couple = couple, c.clip = clip;
      prove(c);
      if (HasFatalFailure()) return;
    }
  Case gru;
  gru.kind = RecurrentKind::gru, gru.clip = 0.5f;
  prove(gru);
}

TEST_P(RnnTest, HalfTypesKeepAFloatState) {
  for (DType dtype : {DType::bfloat16, DType::float16})
    for (RecurrentKind kind : kKinds) {
      Case c;
      c.kind = kind, c.dtype = dtype, c.hidden = 19;
      prove(c);
      if (HasFatalFailure()) return;
    }
}

TEST_P(RnnTest, EveryActivation) {
  for (int k = RecurrentActivation::sigmoid; k <= RecurrentActivation::softplus; ++k) {
    Case c;
    c.kind = RecurrentKind::rnn;
    c.steps = 2;  // unbounded activations grow
    c.acts[0] = {static_cast<RecurrentActivation::Kind>(k), 0.3f, 0.4f};
    prove(c);
    if (HasFatalFailure()) return;
  }
}

TEST_P(RnnTest, ManyRowsAreSharedOut) {
  Case c;
  c.batch = 70, c.hidden = 64, c.steps = 2, c.input = 20;
  c.acts[0] = {RecurrentActivation::hard_sigmoid, 0.2f, 0.5f};
  prove(c);
  c.kind = RecurrentKind::gru;
  prove(c);
}

}  // namespace
}  // namespace nbx
