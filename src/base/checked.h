// SPDX-License-Identifier: Apache-2.0
// 64-bit arithmetic that says when it overflows, and alignment.
#pragma once
#include <cstdint>

namespace nbx {

// False when the result does not fit; `out` is then unspecified.
[[nodiscard]] inline bool checked_mul(int64_t a, int64_t b, int64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}
[[nodiscard]] inline bool checked_add(int64_t a, int64_t b, int64_t& out) {
  return !__builtin_add_overflow(a, b, &out);
}
[[nodiscard]] inline bool checked_sub(int64_t a, int64_t b, int64_t& out) {
  return !__builtin_sub_overflow(a, b, &out);
}

inline constexpr int64_t kAlignment = 64;  // a cache line, and the widest vector register

// Up to the next multiple of `to` (a power of two). The caller keeps `value` below 2^63 - to.
constexpr int64_t align_up(int64_t value, int64_t to = kAlignment) { return (value + to - 1) & ~(to - 1); }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }  // a >= 0, b > 0

}  // namespace nbx
