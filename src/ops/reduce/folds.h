// SPDX-License-Identifier: Apache-2.0
// Folding dense blocks of floats: the inner loops of reductions, norms and softmax, vectorised. A block is at most
// kBlock long, so its float32 sum carries little error; callers join the blocks in double, in order.
#pragma once
#include <cstdint>

namespace nbx {

enum class Fold : uint8_t {
  sum,
  nansum,
  abs,
  square,
  nonzero,  // sums of x, x without NaN, |x|, x^2, x != 0
  centred,
  centred_square,
  exp_shifted,  // sums of x - p, (x - p)^2, e^(x - p)
  prod,
  power,  // product; sum of |x|^q
  max,
  min,
  absmax,
  absmin,  // a NaN wins
};

// Of x[0..n). `p` is used by the shifted ones, q by power.
double fold_row(Fold kind, const float* x, int64_t n, float p = 0, double q = 0);
// acc[i] = acc[i] + f(x[i]) for every kind but prod and power; `p` one an element.
void fold_columns(Fold kind, float* acc, const float* x, int64_t n, const float* p = nullptr);

}  // namespace nbx
