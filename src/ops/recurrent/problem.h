// SPDX-License-Identifier: Apache-2.0
// What every op of this family comes down to: one layer in one or two directions, in the shapes of ONNX's RNN, GRU and
// LSTM.
#pragma once
#include "backend/cpu/rnn.h"
#include "ops/declare.h"

namespace nbx {

struct RecurrentProblem {
  RecurrentKind kind = RecurrentKind::lstm;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  int directions = 1;
  bool first_reversed = false;  // direction 'reverse'
  bool batch_first =
      false;  // x (batch, steps, input), y (batch, steps, directions, hidden), states (batch, directions, hidden)
  bool couple_forget = false;
  bool linear_before_reset = false;
  double clip = 0;
  int gate_order[4] = {0, 1, 2, 3};  // which block of the weights is gate i, f, g, o (gru: r, z, n)
  RecurrentActivation activations[2][3];
  DType dtype = DType::float32;
  // Operands; index -1 when absent. Weights are (directions, gates * hidden, ...), b holds the two biases one after the
  // other.
  Meta x, w, r;
  std::optional<Meta> b, lengths, h0, c0, p;
  int ix = -1, iw = -1, ir = -1, ib = -1, ilengths = -1, ih = -1, ic = -1, ip = -1;

  int gates() const { return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1; }
  Shape y_shape() const;
  Shape state_shape() const;
};

// Fills sizes from x, w, r and checks everything; errors name `op`, operand and shapes.
void settle(const std::string& op, RecurrentProblem& p);
// "Sigmoid", alpha and beta taken from the lists in order where the function has them.
RecurrentActivation parse_recurrent_activation(const std::string& op, const std::string& name, const Doubles& alphas,
                                               size_t& next_alpha, const Doubles& betas, size_t& next_beta);

Serves fast_serves(const RecurrentProblem& p);
int64_t fast_workspace(const RecurrentProblem& p);
// Results: y, h (, c for lstm).
Bound bind_fast(RecurrentProblem p, PackCache* packs);
// One step after the other in float64: the oracle, and the kernel for float64.
std::vector<Tensor> recurrent_float64(const RecurrentProblem& p, const std::vector<Tensor>& operands);
Bound bind_plain(RecurrentProblem p);

}  // namespace nbx
