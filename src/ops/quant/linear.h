// SPDX-License-Identifier: Apache-2.0
// What the linear quantisation of ONNX shares: which scale an element has, reading any dtype as float, rounding.
#pragma once
#include <cmath>

#include "ops/declare.h"

namespace nbx {

// How scale and zero point spread over a tensor, seen as (outer, axis, inner).
struct Grain {
  enum class Kind { tensor, axis, block } kind = Kind::tensor;
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t block = 1, blocks = 1;  // block: elements along the axis with one scale, and how many such
};
// Error (shape, value) naming x, scale and the way out.
Grain grain_of(const Args& a, const Meta& x, const Meta& scale);

// Elements next to each other with one scale, or with scales next to each other.
struct Segment {
  int64_t at = 0, count = 0, scale = 0;
  bool each = false;  // element i has scale + i
};
int64_t segments(const Grain& g);
Segment segment(const Grain& g, int64_t i);
int64_t longest_segment(const Grain& g);

// The scale index of every element, for oracles.
std::vector<int64_t> scale_of_each(const Grain& g);

// n elements from p[at] as float: float32, float16, bfloat16, the 8 and 16-bit types, int32 (rounded).
using ReadFloats = void (*)(const void* p, int64_t at, int64_t n, float* to);
ReadFloats reader(const std::string& op, DType dtype);
// v[0..n) rounded to the dtype (float32: as it is).
using RoundFloats = void (*)(float* v, int64_t n);
RoundFloats rounder(DType dtype);
// Stores v[0..n) at p[at]. Integers: v is whole or NaN and saturates (NaN gives the least); floating: rounds;
// float8 saturates when asked to, else overflow is what the conversion makes of it.
using WriteFloats = void (*)(const float* v, int64_t n, void* p, int64_t at);
WriteFloats writer(const std::string& op, DType dtype, bool saturate);

// To nearest, ties to even; infinities and NaN stay. Adding 2^23 pushes the fraction out of the significand, which
// vectorises on every target where a call of rintf would not.
inline float round_even(float v) {
  constexpr float kWhole = 8388608.0f;  // from here on every float is whole
  const float magic = std::copysign(kWhole, v);
  const float rounded = (v + magic) - magic;
  return std::fabs(v) < kWhole ? rounded : v;
}

// The largest finite float8, 0 for other dtypes.
inline float float8_limit(DType dtype) {
  return dtype == DType::float8_e4m3fn ? 448.0f : dtype == DType::float8_e5m2 ? 57344.0f : 0.0f;
}

// The sum of an integer product as a quantised value: rint(sum * multiplier) + zero, saturated.
inline int64_t requantize(int32_t sum, float multiplier, int64_t zero, int64_t low, int64_t high) {
  const double v = std::nearbyint(static_cast<double>(sum) * multiplier) + static_cast<double>(zero);
  return v >= static_cast<double>(high) ? high : v > static_cast<double>(low) ? static_cast<int64_t>(v) : low;
}
inline bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }
// An 8-bit operand's element.
inline int32_t byte_at(const void* p, bool is_signed, int64_t i) {
  return is_signed ? int32_t{static_cast<const int8_t*>(p)[i]} : int32_t{static_cast<const uint8_t*>(p)[i]};
}
// Error (dtype) unless int8 or uint8.
void require_byte(const std::string& op, const char* param, const Meta& m);
// Error (shape) unless it has one element.
void require_single(const std::string& op, const char* param, const Meta& m);
// Error (dtype) unless float32, float16 or bfloat16.
void require_scale(const std::string& op, const char* param, const Meta& m);

}  // namespace nbx
