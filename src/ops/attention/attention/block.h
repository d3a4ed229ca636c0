// SPDX-License-Identifier: Apache-2.0
// The loops of attention over small dense blocks in cache.
#pragma once
#include <cstdint>

namespace nbx {

// C (m, n) += A (m, k) B (k, n), rows lda, ldb, ldc apart; sums in the order of k.
void block_product(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t k);
void block_product(const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t k);
// x = cap tanh(x / cap)
void soft_cap(float* x, int64_t n, float cap);
void soft_cap(double* x, int64_t n, double cap);

}  // namespace nbx
