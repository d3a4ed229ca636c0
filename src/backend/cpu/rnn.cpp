// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/rnn.h"

#include "backend/cpu/gemm_kernels.h"
#include "backend/cpu/rnn_kernels.h"
#include "base/check.h"

#include <algorithm>
#include <vector>

namespace nbx {

RecurrentWeights::RecurrentWeights(const RecurrentPack& p, Team* team)
    : kind(p.kind),
      input(p.input),
      hidden(p.hidden),
      gates(p.kind == RecurrentKind::lstm  ? 4
            : p.kind == RecurrentKind::gru ? 3
                                           : 1),
      linear_before_reset(p.linear_before_reset) {
  require(p.dtype == DType::float32 || is_half(p.dtype), Code::dtype,
          "recurrent layer: weights are {}; pass float32, bfloat16 or float16", name(p.dtype));
  require(p.input >= 1 && p.hidden >= 1, Code::shape,
          "recurrent layer: input size {} and hidden size {} must be at least 1", p.input, p.hidden);
  const GemmKernels kernels = gemm_kernels();
  // Gates in nbx's order, float32.
  const auto reorder = [&](const void* from, int64_t row) {
    std::vector<float> out(static_cast<size_t>(gates * hidden * row));
    for (int64_t g = 0; g < gates; ++g)
      kernels.widen(from, p.dtype, p.gate_order[g] * hidden * row, 1, hidden * row, out.data() + g * hidden * row);
    return out;
  };
  const std::vector<float> all_w = reorder(p.w, input), all_r = reorder(p.r, hidden);
  w = PackedB({all_w.data(), DType::float32, 1, input}, input, gates * hidden, team);
  const bool reset_first = kind == RecurrentKind::gru && !linear_before_reset;
  r = PackedB({all_r.data(), DType::float32, 1, hidden}, hidden, (reset_first ? 2 : gates) * hidden, team);
  if (reset_first)
    r_new = PackedB({all_r.data() + 2 * hidden * hidden, DType::float32, 1, hidden}, hidden, hidden, team);

  // Both biases go into the input projection, but for a gru whose reset gate scales the recurrent one.
  const bool apart = kind == RecurrentKind::gru && linear_before_reset;
  x_bias = FloatBlock(gates * hidden);
  if (apart) h_bias = FloatBlock(gates * hidden);
  for (int64_t i = 0; i < gates * hidden; ++i) {
    const int64_t from = p.gate_order[i / hidden] * hidden + i % hidden;
    const float bw = p.w_bias == nullptr ? 0.0f : p.w_bias[from], br = p.r_bias == nullptr ? 0.0f : p.r_bias[from];
    x_bias.data()[i] = apart ? bw : bw + br;
    if (apart) h_bias.data()[i] = br;
  }
  if (p.peepholes != nullptr && kind == RecurrentKind::lstm) {
    peepholes = FloatBlock(3 * hidden);
    std::copy_n(p.peepholes, 3 * hidden, peepholes.data());
  }
}

int64_t RecurrentWeights::bytes() const {
  return w.bytes() + r.bytes() + r_new.bytes() + x_bias.bytes() + h_bias.bytes() + peepholes.bytes();
}

namespace {

struct Spaces {
  float *from_x, *from_h, *h, *c, *reset_h;
};

Spaces cut_workspace(const RecurrentWeights& w, int64_t steps, int64_t batch, float* base) {
  const int64_t gates = w.gates * w.hidden;
  Spaces s{};
  s.from_x = base;
  s.from_h = s.from_x + steps * batch * gates;
  s.h = s.from_h + batch * gates;
  s.c = s.h + batch * w.hidden;
  s.reset_h = s.c + batch * w.hidden;
  return s;
}

void zero_y(const Recurrent& a, int64_t t, int64_t b) {
  char* row = static_cast<char*>(a.y) + (t * a.y_step + b * a.y_batch) * itemsize(a.y_dtype);
  std::fill_n(row, a.weights->hidden * itemsize(a.y_dtype), '\0');
}

// C (batch, n) = state (batch, hidden) x R
void recur(Team& team, const PackedB& r, const float* state, int64_t batch, const float* bias, float* out,
           int64_t out_stride) {
  Gemm g;
  g.m = batch, g.n = r.n(), g.k = r.k();
  g.a = {state, DType::float32, r.k(), 1};
  g.packed_b = &r;
  g.c = out;
  g.c_row_stride = out_stride;
  g.epilogue.col_bias = bias;
  gemm(team, g);
}

}  // namespace

int64_t recurrent_workspace_floats(const RecurrentWeights& w, int64_t steps, int64_t batch) {
  return (steps + 1) * batch * w.gates * w.hidden + 3 * batch * w.hidden;
}

void recurrent(Team& team, const Recurrent& a) {
  NBX_ASSERT(a.weights != nullptr && (a.workspace != nullptr || a.batch == 0));
  const RecurrentWeights& w = *a.weights;
  if (a.batch <= 0) return;
  const int64_t gates = w.gates * w.hidden, H = w.hidden;
  const Spaces s = cut_workspace(w, a.steps, a.batch, a.workspace);
  if (a.h0 != nullptr) {
    std::copy_n(a.h0, a.batch * H, s.h);
  } else {
    std::fill_n(s.h, a.batch * H, 0.0f);
  }
  if (a.c0 != nullptr) {
    std::copy_n(a.c0, a.batch * H, s.c);
  } else {
    std::fill_n(s.c, a.batch * H, 0.0f);
  }

  Gemm project;
  const bool flat = a.x_step == a.batch * a.x_batch;
  project.m = flat ? a.steps * a.batch : a.batch;
  project.batch = flat ? 1 : a.steps;
  project.n = gates, project.k = w.input;
  project.a = {a.x, a.x_dtype, a.x_batch, 1, a.x_step};
  project.packed_b = &w.w;
  project.c = s.from_x;
  project.c_row_stride = gates;
  project.c_batch_stride = a.batch * gates;
  project.epilogue.col_bias = w.x_bias.data();
  gemm(team, project);

  const bool reset_first = w.kind == RecurrentKind::gru && !w.linear_before_reset;
  const auto cell = w.kind == RecurrentKind::lstm ? lstm_cell : w.kind == RecurrentKind::gru ? gru_cell : rnn_cell;
  // A pass over fewer gates than this is not worth a wake-up.
  const int64_t grain = std::max<int64_t>(1, 8192 / gates);
  for (int64_t step = 0; step < a.steps; ++step) {
    const auto each_row = [&](void (*f)(const CellRow&), bool last) {
      parallel_rows(team, a.batch, grain, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const int64_t length = a.lengths == nullptr ? a.steps : std::clamp<int64_t>(a.lengths[b], 0, a.steps);
          if (step >= length) {
            if (last && a.y != nullptr) zero_y(a, step, b);
            continue;
          }
          const int64_t t = a.reverse ? length - 1 - step : step;
          f({&w, &a, s.from_x + (t * a.batch + b) * gates, s.from_h + b * gates, s.h + b * H, s.c + b * H,
             s.reset_h + b * H,
             a.y == nullptr ? nullptr
                            : static_cast<char*>(a.y) + (t * a.y_step + b * a.y_batch) * itemsize(a.y_dtype)});
        }
      });
    };
    recur(team, w.r, s.h, a.batch, w.h_bias.data(), s.from_h, gates);
    if (reset_first) {
      // Rows that have ended leave reset_h as it was; what their product gives is not used.
      if (step == 0) std::fill_n(s.reset_h, a.batch * H, 0.0f);
      each_row(gru_reset, false);
      recur(team, w.r_new, s.reset_h, a.batch, nullptr, s.from_h + 2 * H, gates);
    }
    each_row(cell, true);
  }
  if (a.h_last != nullptr) std::copy_n(s.h, a.batch * H, a.h_last);
  if (a.c_last != nullptr) std::copy_n(s.c, a.batch * H, a.c_last);
}

}  // namespace nbx
