// SPDX-License-Identifier: Apache-2.0
// The inner loops of the norms: moments of a row, and the affine map that follows. Vectorised for float32, plain for
// double.
#pragma once
#include <cstdint>

#include "ops/reduce/blocks.h"

namespace nbx {

// y = (x - mean) scale + shift
void centre_scale(const float* x, float* y, int64_t n, float mean, float scale, float shift);
void centre_scale(const double* x, double* y, int64_t n, double mean, double scale, double shift);
// y = ((x - mean) rstd - rest) w + b; w and b hold one value an element, or are null (1 and 0). rest: rstd times what
// the exact mean has beyond `mean`.
void centre_scale_weights(const float* x, float* y, int64_t n, float mean, float rstd, float rest, const float* w,
                          const float* b);
void centre_scale_weights(const double* x, double* y, int64_t n, double mean, double rstd, double rest, const double* w,
                          const double* b);
// y = (x - mean) scale + shift, all per element.
void affine_columns(const float* x, float* y, int64_t n, const float* mean, const float* scale, const float* shift);
void affine_columns(const double* x, double* y, int64_t n, const double* mean, const double* scale,
                    const double* shift);

struct Moments {
  double mean = 0;
  double variance = 0;  // biased
};
// Mean first, then the squares around it: one pass with E[x^2] - mean^2 cancels.
template <class A>
Moments row_moments(const Source<A>& source, const void* x, int64_t offset, int64_t n);
template <class A>
double row_mean_square(const Source<A>& source, const void* x, int64_t offset, int64_t n);

}  // namespace nbx
