// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/rows.h"

#include <algorithm>

#include "ops/reduce/folds.h"

namespace nbx {

void centre_scale(const double* x, double* y, int64_t n, double mean, double scale, double shift) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale + shift;
}
void centre_scale_weights(const double* x, double* y, int64_t n, double mean, double rstd, double rest, const double* w,
                          const double* b) {
  for (int64_t i = 0; i < n; ++i) y[i] = ((x[i] - mean) * rstd - rest) * (w ? w[i] : 1) + (b ? b[i] : 0);
}
void affine_columns(const double* x, double* y, int64_t n, const double* mean, const double* scale,
                    const double* shift) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean[i]) * scale[i] + shift[i];
}

namespace {

double folded(Fold kind, const float* x, int64_t n, double p) { return fold_row(kind, x, n, static_cast<float>(p)); }
double folded(Fold kind, const double* x, int64_t n, double p) {
  double t = 0;
  for (int64_t i = 0; i < n; ++i)
    t += kind == Fold::sum       ? x[i]
         : kind == Fold::square  ? x[i] * x[i]
         : kind == Fold::centred ? x[i] - p
                                 : (x[i] - p) * (x[i] - p);
  return t;
}

template <class A>
double over_row(const Source<A>& source, const void* x, int64_t offset, int64_t n, Fold kind, double p) {
  A scratch[kBlock];
  double total = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    total += folded(kind, source.read(x, offset + i, 1, m, scratch), m, p);
  }
  return total;
}

}  // namespace

template <class A>
Moments row_moments(const Source<A>& source, const void* x, int64_t offset, int64_t n) {
  const double count = static_cast<double>(n);
  // The first mean carries float32 rounding of the sum; what it is off by follows from the deviations, which are small.
  const A around = static_cast<A>(over_row(source, x, offset, n, Fold::sum, 0) / count);
  const double off = over_row(source, x, offset, n, Fold::centred, around) / count;
  Moments m;
  m.mean = around + off;
  const double variance = over_row(source, x, offset, n, Fold::centred_square, around) / count - off * off;
  m.variance = variance < 0 ? 0 : variance;  // a NaN stays
  return m;
}
template <class A>
double row_mean_square(const Source<A>& source, const void* x, int64_t offset, int64_t n) {
  return over_row(source, x, offset, n, Fold::square, 0) / static_cast<double>(n);
}
template Moments row_moments<float>(const Source<float>&, const void*, int64_t, int64_t);
template Moments row_moments<double>(const Source<double>&, const void*, int64_t, int64_t);
template double row_mean_square<float>(const Source<float>&, const void*, int64_t, int64_t);
template double row_mean_square<double>(const Source<double>&, const void*, int64_t, int64_t);

}  // namespace nbx
