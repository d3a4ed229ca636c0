// SPDX-License-Identifier: Apache-2.0
// Candidates from oneDNN, float32. The packaged library gives other bits for other thread counts, so it is called with
// one thread on chunks that the problem alone fixes; our team claims the chunks. A run makes oneDNN's own small
// objects, so these candidates allocate: they serve when they are asked for by name.
#pragma once
#include "backend/cpu/team.h"

#include <cstdint>
#include <memory>

namespace nbx::onednn {

// C (m, n) = act(A (m, k) B (k, n) + bias), A's rows a_row_stride apart. B is constant: copied, in oneDNN's own layout.
class Matmul {
 public:
  struct Shape {
    int64_t m = 0, n = 0, k = 0;
    int64_t a_row_stride = 0, b_row_stride = 0, b_col_stride = 0;
    bool bias = false, relu = false;
  };
  Matmul(const Shape& shape, const float* b);
  ~Matmul();
  void run(Team& team, const float* a, const float* bias, float* c) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// x (batch, in_channels, *in), w (out_channels, in_channels / groups, *kernel), y (batch, out_channels, *out), dense.
class Convolution {
 public:
  struct Shape {
    int spatial = 2;
    int64_t batch = 1, in_channels = 0, out_channels = 0, groups = 1;
    int64_t in[3] = {}, out[3] = {}, kernel[3] = {}, stride[3] = {}, dilation[3] = {}, begin[3] = {},
            end[3] = {};  // `spatial` used
    bool bias = false, relu = false;
  };
  Convolution(const Shape& shape, const float* w);
  ~Convolution();
  void run(Team& team, const float* x, const float* bias, float* y) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One direction; x (steps, batch, input), y (steps, batch, hidden), states (batch, hidden). Weights as ONNX has them:
// w (gates * hidden, input), r (gates * hidden, hidden), gates i o f c (lstm) or z r h (gru); bias (2 * gates * hidden)
// or null.
class Recurrent {
 public:
  struct Shape {
    bool lstm = true, reverse = false, linear_before_reset = false;
    int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  };
  Recurrent(const Shape& shape, const float* w, const float* r, const float* bias);
  ~Recurrent();
  // h0, c0 null: zero. The work is not cut: one chunk.
  void run(Team& team, const float* x, const float* h0, const float* c0, float* y, float* h, float* c) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nbx::onednn
