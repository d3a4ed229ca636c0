// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers as NumPy writes them: the fewest digits that read back to the same value in the number's own
// type, cut to a precision where that is shorter.
#pragma once
#include <nbx/dtype.h>

#include <string>

namespace nbx {

struct NumberStyle {
  int precision = -1;  // digits after the point at most; -1: as many as needed
  int min_digits = 0;  // digits after the point at least (scientific form)
  int exp_digits = 2;  // digits of the exponent at least
  bool plus = false;   // a sign before positive numbers
};

// "1.5", "-0.", "100." — a finite value of a floating `dtype` (widened).
std::string positional(double value, DType dtype, const NumberStyle& style);
// "1.5e+10", "1.e-05"
std::string scientific(double value, DType dtype, const NumberStyle& style);
// A number on its own: "1.5", "1e-05", "nan". `point`: whole numbers end in ".0".
std::string alone(double value, DType dtype, bool point);
// From here on an array is written in the scientific form; 0-d float64 has another limit.
double scientific_from(DType dtype);

}  // namespace nbx
