// SPDX-License-Identifier: Apache-2.0
// The activations that a GEMM or convolution can apply to a row while it is in registers. Formulas are those of the
// ATen ops of the same names; ops/elementwise/activation.h makes the struct from an op's arguments.
#pragma once

namespace nbx {

enum class ActivationKind {
  none,
  relu,         // x > 0 ? x : 0
  clamp,        // max = beta, min = alpha: min(max(x, alpha), beta); NaN stays. relu6 is 0, 6
  sigmoid,      // 1 / (1 + e^-x)
  silu,         // x sigmoid(x)
  gelu,         // x / 2 (1 + erf(x / sqrt 2))
  gelu_tanh,    // x / 2 (1 + tanh(0.79788456 (x + 0.044715 x^3)))
  hardsigmoid,  // min(max(alpha x + beta, 0), 1); ATen's: 1/6, 1/2
  hardswish,    // x min(max(x + 3, 0), 6) / 6
  tanh,
  leaky_relu,  // x >= 0 ? x : alpha x
};

struct ActivationSpec {
  ActivationKind kind = ActivationKind::none;
  float alpha = 0.0f;
  float beta = 0.0f;
  friend bool operator==(const ActivationSpec& a, const ActivationSpec& b) {
    return a.kind == b.kind && a.alpha == b.alpha && a.beta == b.beta;
  }
};

}  // namespace nbx
