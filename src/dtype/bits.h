// SPDX-License-Identifier: Apache-2.0
// Conversions between float32/float64 and the float formats C++ lacks, on the bits, rounding to nearest even. Inline,
// so that loops over many elements have no call in them; dtype/convert.cpp gives the public functions.
#pragma once
#include <nbx/dtype.h>

#include <cmath>

namespace nbx::bits {

inline uint32_t bits_of(float v) {
  uint32_t bits;
  __builtin_memcpy(&bits, &v, 4);
  return bits;
}

inline float from_bits(uint32_t bits) {
  float v;
  __builtin_memcpy(&v, &bits, 4);
  return v;
}

// Rounds to odd: a second, narrower rounding (at least two bits narrower) then gives what one rounding of the double
// would have given.
inline float to_odd(float v) { return v; }
inline float to_odd(double v) {
  const float nearest = static_cast<float>(v);
  const double back = nearest;
  if (back == v || v != v) return nearest;
  uint32_t bits = bits_of(nearest);
  if (std::fabs(back) > std::fabs(v)) --bits;  // toward zero; infinity becomes the largest finite value
  return from_bits(bits | 1);
}

// Magnitude bits of |v| in a format with `mantissa` fraction bits and this exponent bias. Values too large for the
// format come out with an exponent past its largest: the caller says what they become.
template <int mantissa, int bias>
inline uint32_t round_magnitude(uint32_t magnitude) {
  constexpr int drop = 23 - mantissa;
  constexpr uint32_t smallest_normal = static_cast<uint32_t>(127 - bias + 1) << 23;
  if (magnitude < smallest_normal) {
    // Adding 2^k, whose unit in the last place is the format's subnormal step, rounds in the float adder.
    constexpr uint32_t anchor = static_cast<uint32_t>(127 - bias + drop + 1) << 23;
    return bits_of(from_bits(magnitude) + from_bits(anchor)) - anchor;
  }
  const uint32_t odd = (magnitude >> drop) & 1;
  constexpr uint32_t rebias = static_cast<uint32_t>(127 - bias) << 23;
  return (magnitude - rebias + ((1u << (drop - 1)) - 1) + odd) >> drop;
}

template <int mantissa, int bias>
inline float widen_magnitude(uint32_t magnitude) {  // finite values only
  constexpr int drop = 23 - mantissa;
  if (magnitude < (1u << mantissa))  // subnormal: an exact product
    return static_cast<float>(magnitude) * from_bits(static_cast<uint32_t>(127 + 1 - bias - mantissa) << 23);
  return from_bits((magnitude << drop) + (static_cast<uint32_t>(127 - bias) << 23));
}

inline constexpr uint32_t kInfinity = 0x7f800000u;
inline constexpr uint32_t kMagnitude = 0x7fffffffu;

inline float to_float(float16_t v) {
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x8000u) << 16;
  const uint32_t magnitude = v.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return from_bits(sign | kInfinity | ((magnitude & 0x3ffu) << 13));
  return from_bits(sign | bits_of(widen_magnitude<10, 15>(magnitude)));
}

inline float16_t to_float16(float v) {
  const uint32_t bits = bits_of(v), magnitude = bits & kMagnitude;
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  if (magnitude >= 0x47800000u)  // 65536 and up, infinity, NaN
    return {static_cast<uint16_t>(sign | (magnitude > kInfinity ? 0x7e00u : 0x7c00u))};
  return {static_cast<uint16_t>(sign | round_magnitude<10, 15>(magnitude))};
}

inline float16_t to_float16(double v) { return to_float16(to_odd(v)); }

inline bfloat16_t to_bfloat16(float v) {
  const uint32_t bits = bits_of(v);
  if ((bits & kMagnitude) > kInfinity) return {0x7fc0};  // one NaN, whatever its sign and payload
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

inline bfloat16_t to_bfloat16(double v) { return to_bfloat16(to_odd(v)); }

inline float to_float(float8_e4m3fn_t v) {
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x80u) << 24;
  const uint32_t magnitude = v.bits & 0x7fu;
  if (magnitude == 0x7fu) return from_bits(sign | 0x7fc00000u);
  return from_bits(sign | bits_of(widen_magnitude<3, 7>(magnitude)));
}

inline float8_e4m3fn_t to_float8_e4m3fn(float v) {
  const uint32_t bits = bits_of(v), magnitude = bits & kMagnitude;
  const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  if (magnitude >= 0x43f00000u) return {static_cast<uint8_t>(sign | 0x7fu)};  // 480 and up, infinity, NaN
  return {static_cast<uint8_t>(sign | round_magnitude<3, 7>(magnitude))};
}

inline float to_float(float8_e5m2_t v) {
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x80u) << 24;
  const uint32_t magnitude = v.bits & 0x7fu;
  if (magnitude >= 0x7cu) return from_bits(sign | (magnitude == 0x7cu ? kInfinity : 0x7fc00000u));
  return from_bits(sign | bits_of(widen_magnitude<2, 15>(magnitude)));
}

inline float8_e5m2_t to_float8_e5m2(float v) {
  const uint32_t bits = bits_of(v), magnitude = bits & kMagnitude;
  const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  if (magnitude >= 0x47800000u)  // 65536 and up, infinity, NaN
    return {static_cast<uint8_t>(sign | (magnitude > kInfinity ? 0x7fu : 0x7cu))};
  return {static_cast<uint8_t>(sign | round_magnitude<2, 15>(magnitude))};
}

}  // namespace nbx::bits
