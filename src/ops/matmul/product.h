// SPDX-License-Identifier: Apache-2.0
// What every op of this family comes down to: C = act(alpha A B + bias + residual), A (..., m, k), B (..., k, n),
// leading dims broadcast as in numpy.matmul. A and B are read by their strides.
#pragma once
#include "ops/declare.h"

namespace nbx {

struct Product {
  Meta a, b;    // rank >= 2, as (..., m, k) and (..., k, n): a transposed operand is its strides exchanged
  Shape batch;  // broadcast leading dims
  DType dtype = DType::float32;  // of the result
  double alpha = 1;
  // Added to the product, broadcast to (batch, m, n); times beta. Read by strides.
  std::optional<Meta> addend;
  double beta = 1;
  std::optional<Meta> residual;  // added after, of the result's shape
  ActivationSpec activation;
  int a_index = 0, b_index = 1, addend_index = -1, residual_index = -1;  // operands of the call

  int64_t m() const { return a.shape[a.shape.size() - 2]; }
  int64_t k() const { return a.shape[a.shape.size() - 1]; }
  int64_t n() const { return b.shape[b.shape.size() - 1]; }
  Shape shape() const;  // (batch, m, n)
};

// Checks the inner extents and the batch dims; errors name `op` and both shapes.
Product make_product(const std::string& op, const Meta& a, const Meta& b);
Meta transposed(const Meta& m);              // the last two dims exchanged
Meta unsqueezed(const Meta& m, int64_t at);  // an extent of 1 inserted
// The dtype both operands must share; error (dtype) naming both.
DType same_dtype(const std::string& op, const Meta& a, const Meta& b);

// float32, bfloat16, float16 by the blocked GEMM. Sums are float32.
bool gemm_serves(const Product& p);
Bound bind_gemm(Product p, PackCache* packs);
// Any real dtype, one element after the other: float64 for floating ones, 64-bit integers that wrap. The floor for
// tests.
Bound bind_plain(Product p);
// alpha, beta and the addend in float64; operands dense float64 (integers: int64 results exact in 63 bits).
Tensor product_oracle(const Product& p, const std::vector<Tensor>& operands);

}  // namespace nbx
