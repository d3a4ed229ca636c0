// SPDX-License-Identifier: Apache-2.0
// One direction of an LSTM, GRU or plain RNN layer on the CPU. The input projection of all steps is one GEMM; each step
// is a GEMM with prepacked recurrent weights and one pass over the gates. State and gates are float32; x and y any of
// float32, bfloat16, float16. Results do not depend on the number of threads.
//
// Gate order is nbx's own; callers permute rows when packing (RecurrentPack::gate_order):
//   lstm  i, f, g, o:  c' = f(f) c + f(i) g(g);  h' = f(o) h(c')             peepholes (3, hidden): i, f see c; o sees
//   c' gru   r, z, n:     n = g(xn + r (hn + bn)) or g(xn + (r h) Rn);  h' = (1 - z) n + z h rnn   one gate:    h' =
//   f(x + h R)
#pragma once
#include "backend/cpu/gemm.h"
#include "backend/cpu/team.h"

#include <nbx/dtype.h>

#include <cstdint>

namespace nbx {

enum class RecurrentKind { lstm, gru, rnn };

// ONNX's activations of recurrent ops. sigmoid and tanh are vectorised.
struct RecurrentActivation {
  enum Kind {
    sigmoid,
    tanh,
    relu,
    affine,            // alpha x + beta
    leaky_relu,        // x >= 0 ? x : alpha x
    thresholded_relu,  // x > alpha ? x : 0
    scaled_tanh,       // alpha tanh(beta x)
    hard_sigmoid,      // min(max(alpha x + beta, 0), 1)
    elu,               // x >= 0 ? x : alpha (e^x - 1)
    softsign,          // x / (1 + |x|)
    softplus,          // log(1 + e^x)
  };
  Kind kind = sigmoid;
  float alpha = 0.0f, beta = 0.0f;
};

struct RecurrentPack {
  RecurrentKind kind = RecurrentKind::lstm;
  int64_t input = 0, hidden = 0;
  // w (gates * hidden, input), r (gates * hidden, hidden), contiguous; biases (gates * hidden) float32 or null.
  const void* w = nullptr;
  const void* r = nullptr;
  DType dtype = DType::float32;
  const float* w_bias = nullptr;
  const float* r_bias = nullptr;
  const float* peepholes = nullptr;  // lstm, (3, hidden) in the order i, f, o; or null
  // gate_order[j]: which block of w, r and the biases is nbx's gate j. ONNX lstm (i, o, f, c): 0 2 3 1; gru (z, r, h):
  // 1 0 2.
  int gate_order[4] = {0, 1, 2, 3};
  bool linear_before_reset = true;  // gru: r scales hn + bn (PyTorch, cuDNN); false: r scales h before the product
};

class RecurrentWeights {
 public:
  RecurrentWeights() = default;
  explicit RecurrentWeights(const RecurrentPack& pack, Team* team = nullptr);
  RecurrentKind kind = RecurrentKind::lstm;
  int64_t input = 0, hidden = 0, gates = 0;
  bool linear_before_reset = true;
  PackedB w;             // (input, gates * hidden)
  PackedB r;             // (hidden, gates * hidden), or (hidden, 2 hidden) for a gru that resets first
  PackedB r_new;         // (hidden, hidden), for that gru
  FloatBlock x_bias;     // (gates * hidden) what the input projection adds
  FloatBlock h_bias;     // (gates * hidden) what the recurrent product adds; only a gru with linear_before_reset
  FloatBlock peepholes;  // (3, hidden) or empty
  int64_t bytes() const;
};

struct Recurrent {
  const RecurrentWeights* weights = nullptr;
  int64_t steps = 0, batch = 0;
  const void* x = nullptr;  // element (t, b, i) at t * x_step + b * x_batch + i
  DType x_dtype = DType::float32;
  int64_t x_step = 0, x_batch = 0;
  void* y = nullptr;  // (t, b, h) at t * y_step + b * y_batch + h; or null
  DType y_dtype = DType::float32;
  int64_t y_step = 0, y_batch = 0;
  const float* h0 = nullptr;  // (batch, hidden); null: zero
  const float* c0 = nullptr;  // lstm
  float* h_last = nullptr;    // (batch, hidden) or null
  float* c_last = nullptr;
  const int64_t* lengths = nullptr;  // (batch) in [0, steps] or null: beyond its length y is 0 and the state stays
  bool reverse = false;              // from the last step (of each length) to the first
  bool couple_forget = false;        // lstm: f = 1 - i
  float clip = 0.0f;                 // > 0: gates are clamped to [-clip, clip] before their activation
  // lstm: gates, g, h. gru: gates, n. rnn: the first alone.
  RecurrentActivation activations[3] = {
      {RecurrentActivation::sigmoid}, {RecurrentActivation::tanh}, {RecurrentActivation::tanh}};
  float* workspace = nullptr;  // recurrent_workspace_floats, content undefined
};

int64_t recurrent_workspace_floats(const RecurrentWeights& w, int64_t steps, int64_t batch);
void recurrent(Team& team, const Recurrent& args);

}  // namespace nbx
