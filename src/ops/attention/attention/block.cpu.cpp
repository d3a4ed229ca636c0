// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention/block.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd_math.h"

#include "ops/attention/attention/block.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;

// Four rows, or one, by two vectors: the sums stay in registers.
template <bool four>
HWY_INLINE void tile(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc, size_t left,
                     size_t k) {
  const F d;
  const size_t lanes = hn::Lanes(d), rest = left > lanes ? left - lanes : 0;
  const auto zero = hn::Zero(d);
  auto c00 = zero, c01 = zero, c10 = zero, c11 = zero, c20 = zero, c21 = zero, c30 = zero, c31 = zero;
  const auto sums = [&](auto b0, auto b1, const float* at) HWY_ATTR {
    const auto a0 = hn::Set(d, at[0]);
    c00 = hn::MulAdd(a0, b0, c00);
    c01 = hn::MulAdd(a0, b1, c01);
    if constexpr (four) {
      const auto a1 = hn::Set(d, at[lda]), a2 = hn::Set(d, at[2 * lda]), a3 = hn::Set(d, at[3 * lda]);
      c10 = hn::MulAdd(a1, b0, c10);
      c11 = hn::MulAdd(a1, b1, c11);
      c20 = hn::MulAdd(a2, b0, c20);
      c21 = hn::MulAdd(a2, b1, c21);
      c30 = hn::MulAdd(a3, b0, c30);
      c31 = hn::MulAdd(a3, b1, c31);
    }
  };
  if (left >= 2 * lanes) {
    for (size_t j = 0; j < k; ++j) sums(simd::load(d, b + j * ldb), simd::load(d, b + j * ldb + lanes), a + j);
  } else {
    for (size_t j = 0; j < k; ++j) {
      const float* row = b + j * ldb;
      sums(simd::load(d, row, left), rest > 0 ? simd::load(d, row + lanes, rest) : zero, a + j);
    }
  }
  const auto add = [&](auto v0, auto v1, float* to) HWY_ATTR {
    simd::store(d, hn::Add(simd::load(d, to, left), v0), to, left);
    if (rest > 0) simd::store(d, hn::Add(simd::load(d, to + lanes, rest), v1), to + lanes, rest);
  };
  add(c00, c01, c);
  if constexpr (four) {
    add(c10, c11, c + ldc);
    add(c20, c21, c + 2 * ldc);
    add(c30, c31, c + 3 * ldc);
  }
}

void product(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc, size_t m, size_t n,
             size_t k) {
  const size_t width = 2 * hn::Lanes(F());
  for (size_t j = 0; j < n; j += width) {
    size_t i = 0;
    for (; i + 4 <= m; i += 4) tile<true>(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, n - j, k);
    for (; i < m; ++i) tile<false>(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, n - j, k);
  }
}
void cap_row(float* x, size_t n, float cap) {
  const F d;
  const auto high = hn::Set(d, cap);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    simd::store(d, hn::Mul(simd::tanh(d, hn::Div(simd::load(d, x + i, n - i), high)), high), x + i, n - i);
}

}  // namespace nbx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

namespace nbx {
HWY_EXPORT(product);
HWY_EXPORT(cap_row);

namespace {
size_t count(int64_t n) { return static_cast<size_t>(n); }
}  // namespace

void block_product(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t k) {
  HWY_DYNAMIC_DISPATCH(product)(a, count(lda), b, count(ldb), c, count(ldc), count(m), count(n), count(k));
}
void block_product(const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < k; ++j)
      for (int64_t t = 0; t < n; ++t) c[i * ldc + t] += a[i * lda + j] * b[j * ldb + t];
}
void soft_cap(float* x, int64_t n, float cap) { HWY_DYNAMIC_DISPATCH(cap_row)(x, count(n), cap); }
void soft_cap(double* x, int64_t n, double cap) {
  for (int64_t i = 0; i < n; ++i) x[i] = std::tanh(x[i] / cap) * cap;
}
}  // namespace nbx
#endif
