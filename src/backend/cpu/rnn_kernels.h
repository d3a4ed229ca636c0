// SPDX-License-Identifier: Apache-2.0
// The pass over the gates of one batch row.
#pragma once
#include "backend/cpu/rnn.h"

namespace nbx {

struct CellRow {
  const RecurrentWeights* weights;
  const Recurrent* args;
  const float* from_x;  // (gates * hidden): input projection with its bias
  float* from_h;        // (gates * hidden): recurrent product; a gru that resets first: (2 hidden), then (hidden)
  float* h;             // (hidden) state, updated
  float* c;             // (hidden) lstm
  float* reset_h;       // (hidden) gru that resets first: r h, made by gru_reset
  void* y;              // (hidden) in y_dtype, or null
};

void lstm_cell(const CellRow& row);
void gru_cell(const CellRow& row);   // linear_before_reset, or the second half of a gru that resets first
void gru_reset(const CellRow& row);  // its first half: r and z are left activated in from_h
void rnn_cell(const CellRow& row);

}  // namespace nbx
