// SPDX-License-Identifier: Apache-2.0
// Is a result right? The comparison of results with a float64 oracle, at a dtype's tolerance.
#pragma once
#include <nbx/tensor.h>

#include <string>

#include "ops/declare.h"

namespace nbx {

struct Comparison {
  bool ok = true;
  int64_t first_bad = -1;    // row-major index
  double got = 0, want = 0;  // there
  double largest_error = 0;  // absolute, over finite elements
  double largest_ulp = 0;
  std::string text() const;  // one line
};

// The step of `dtype` at v: the distance of neighbouring values around |v|.
double ulp_at(DType dtype, double v);
const Tolerance& tolerance_for(const Tolerances& t, DType dtype);
// Same shape is required. Integers and bool must be equal. Any NaN equals any NaN; an oracle value is rounded to the
// dtype before its class (finite, inf, nan) is compared.
Comparison compare_with_oracle(const Tensor& got, const Tensor& oracle, const Tolerances& tolerances);
// |got - want| <= atol + rtol * |want|, NaN equal to NaN, inf equal to the same inf.
Comparison compare_close(const Tensor& got, const Tensor& want, double atol, double rtol);

}  // namespace nbx
