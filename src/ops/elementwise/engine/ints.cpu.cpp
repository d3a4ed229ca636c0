// SPDX-License-Identifier: Apache-2.0
// NBX_INT_FNS and NBX_BOOL_FNS: plain loops in steps of 16, which the compiler turns into vectors for each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/engine/ints.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include <hwy/highway.h>

#include <limits>
#include <type_traits>

#include "base/check.h"
#include "ops/elementwise/engine/functions.h"

// Inputs and output are the same tile or do not meet, so no element depends on another.
#undef NBX_INDEPENDENT
#if defined(__clang__)
#define NBX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define NBX_INDEPENDENT _Pragma("GCC ivdep")
#endif

HWY_BEFORE_NAMESPACE();
namespace nbx::pointwise {
namespace HWY_NAMESPACE {

// Arithmetic that wraps: done in the unsigned type.
template <class T>
using Raw = std::make_unsigned_t<T>;
template <class T>
HWY_INLINE T wrap(Raw<T> v) {
  return static_cast<T>(v);
}
template <class T>
HWY_INLINE T times(T x, T y) {
  return wrap<T>(static_cast<Raw<T>>(x) * static_cast<Raw<T>>(y));
}

template <class T>
HWY_INLINE void check_divisor(T y) {
  if (y == 0) fail(Code::value, "ZeroDivisionError: integer division or remainder by zero");
}
// The quotient of the lowest value by -1 wraps.
template <class T>
HWY_INLINE T quotient(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return wrap<T>(Raw<T>{0} - static_cast<Raw<T>>(x));
  return x / y;
}
template <class T>
HWY_INLINE T rest(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return x % y;
}
template <class T>
HWY_INLINE T quotient_floor(T x, T y) {
  const T q = quotient(x, y);
  if constexpr (std::is_signed_v<T>) return q - ((rest(x, y) != 0 && (x < 0) != (y < 0)) ? 1 : 0);
  return q;
}
template <class T>
HWY_INLINE T rest_floor(T x, T y) {
  T r = rest(x, y);
  if constexpr (std::is_signed_v<T>)
    if (r != 0 && (r < 0) != (y < 0)) r += y;
  return r;
}
template <class T>
HWY_INLINE T power(T x, T y) {
  if (y < 0) return x == 1 ? 1 : x == static_cast<T>(-1) ? (y % 2 == 0 ? 1 : static_cast<T>(-1)) : 0;
  T out = 1;
  for (auto e = static_cast<Raw<T>>(y); e != 0; e >>= 1) {
    if (e & 1) out = times(out, x);
    x = times(x, x);
  }
  return out;
}
template <class T>
HWY_INLINE T shift_left(T x, T y, int64_t bits) {
  if (y < 0 || static_cast<uint64_t>(y) >= static_cast<uint64_t>(bits)) return 0;
  return wrap<T>(static_cast<Raw<T>>(x) << y);
}
// Beyond the width: the sign's bits, which for a value that is held wider than its dtype come from this lane's top.
template <class T>
HWY_INLINE T shift_right(T x, T y, int64_t bits) {
  constexpr int top = static_cast<int>(sizeof(T) * 8 - 1);
  if (y < 0 || static_cast<uint64_t>(y) >= static_cast<uint64_t>(bits)) return std::is_signed_v<T> ? x >> top : 0;
  return x >> y;
}

constexpr int64_t kStep = 16;

template <class T, class Out, class F>
HWY_INLINE void steps1(const Block& b, F f) {
  const T* x = static_cast<const T*>(b.in[0]);
  Out* out = static_cast<Out*>(b.out);
  for (int64_t i = 0; i < b.n; i += kStep) {
    NBX_INDEPENDENT
    for (int64_t j = 0; j < kStep; ++j) out[i + j] = f(x[i + j]);
  }
}
template <class T, class Out, class F>
HWY_INLINE void steps2(const Block& b, F f) {
  const T* x = static_cast<const T*>(b.in[0]);
  const T* y = static_cast<const T*>(b.in[1]);
  Out* out = static_cast<Out*>(b.out);
  for (int64_t i = 0; i < b.n; i += kStep) {
    NBX_INDEPENDENT
    for (int64_t j = 0; j < kStep; ++j) out[i + j] = f(x[i + j], y[i + j]);
  }
}
// Exactly n: garbage after the end must not divide.
template <class T, class F>
HWY_INLINE void each2(const Block& b, F f) {
  const T* x = static_cast<const T*>(b.in[0]);
  const T* y = static_cast<const T*>(b.in[1]);
  T* out = static_cast<T*>(b.out);
  for (int64_t i = 0; i < b.n; ++i) out[i] = f(x[i], y[i]);
}

#define NBX_I1(name, expression)                                                    \
  template <class T>                                                                \
  void name(const Block& b) {                                                       \
    [[maybe_unused]] const T low = static_cast<T>(b.params->i[0]);                  \
    [[maybe_unused]] const T high = static_cast<T>(b.params->i[1]);                 \
    steps1<T, T>(b, [=](T x) HWY_ATTR -> T { return static_cast<T>(expression); }); \
  }
#define NBX_I2(name, Out, expression)                                                          \
  template <class T>                                                                           \
  void name(const Block& b) {                                                                  \
    [[maybe_unused]] const T scale = static_cast<T>(b.params->i[0]);                           \
    steps2<T, Out>(b, [=](T x, T y) HWY_ATTR -> Out { return static_cast<Out>(expression); }); \
  }
#define NBX_E2(name, prepare, expression)                 \
  template <class T>                                      \
  void name(const Block& b) {                             \
    [[maybe_unused]] const int64_t bits = b.params->i[0]; \
    each2<T>(b, [=](T x, T y) HWY_ATTR -> T {             \
      prepare;                                            \
      return expression;                                  \
    });                                                   \
  }

namespace ints {
NBX_I2(add, T, static_cast<Raw<T>>(x) + static_cast<Raw<T>>(y))
NBX_I2(sub, T, static_cast<Raw<T>>(x) - static_cast<Raw<T>>(y))
NBX_I2(mul, T, times(x, y))
NBX_I2(add_scaled, T, static_cast<Raw<T>>(x) + static_cast<Raw<T>>(times(scale, y)))
NBX_I2(maximum, T, x > y ? x : y)
NBX_I2(minimum, T, x < y ? x : y)
NBX_I2(eq, uint8_t, x == y)
NBX_I2(ne, uint8_t, x != y)
NBX_I2(lt, uint8_t, x < y)
NBX_I2(le, uint8_t, x <= y)
NBX_I1(neg, Raw<T>{0} - static_cast<Raw<T>>(x))
NBX_I1(abs, x < 0 ? Raw<T>{0} - static_cast<Raw<T>>(x) : static_cast<Raw<T>>(x))
NBX_I1(square, times(x, x))
NBX_I1(sign, (x > 0) - (x < 0))
NBX_I2(bit_and, T, x& y)
NBX_I2(bit_or, T, x | y)
NBX_I2(bit_xor, T, x ^ y)
NBX_I1(bit_not, ~x)
NBX_E2(shl, , shift_left(x, y, bits))
NBX_E2(shr, , shift_right(x, y, bits))
NBX_E2(div_trunc, check_divisor(y), quotient(x, y))
NBX_E2(div_floor, check_divisor(y), quotient_floor(x, y))
NBX_E2(fmod, check_divisor(y), rest(x, y))
NBX_E2(remainder, check_divisor(y), rest_floor(x, y))
NBX_E2(pow, , power(x, y))
NBX_I1(clamp, (x < low ? low : x) > high ? high : (x < low ? low : x))
NBX_I1(clamp_min, x < low ? low : x)
NBX_I1(clamp_max, x > low ? low : x)
NBX_I1(relu, x > 0 ? x : 0)
NBX_I1(threshold, x <= low ? high : x)

template <class T>
void where(const Block& b) {
  const uint8_t* c = static_cast<const uint8_t*>(b.in[0]);
  const T* x = static_cast<const T*>(b.in[1]);
  const T* y = static_cast<const T*>(b.in[2]);
  T* out = static_cast<T*>(b.out);
  for (int64_t i = 0; i < b.n; i += kStep) {
    NBX_INDEPENDENT
    for (int64_t j = 0; j < kStep; ++j) out[i + j] = c[i + j] ? x[i + j] : y[i + j];
  }
}
template <class T>
void addcmul(const Block& b) {
  const T* x = static_cast<const T*>(b.in[0]);
  const T* y = static_cast<const T*>(b.in[1]);
  const T* z = static_cast<const T*>(b.in[2]);
  T* out = static_cast<T*>(b.out);
  const T scale = static_cast<T>(b.params->i[0]);
  for (int64_t i = 0; i < b.n; i += kStep) {
    NBX_INDEPENDENT
    for (int64_t j = 0; j < kStep; ++j)
      out[i + j] =
          wrap<T>(static_cast<Raw<T>>(x[i + j]) + static_cast<Raw<T>>(times(times(scale, y[i + j]), z[i + j])));
  }
}
}  // namespace ints

namespace bools {
using T8 = uint8_t;
void bit_and(const Block& b) {
  steps2<T8, T8>(b, [](T8 x, T8 y) HWY_ATTR -> T8 { return x & y; });
}
void bit_or(const Block& b) {
  steps2<T8, T8>(b, [](T8 x, T8 y) HWY_ATTR -> T8 { return x | y; });
}
void bit_xor(const Block& b) {
  steps2<T8, T8>(b, [](T8 x, T8 y) HWY_ATTR -> T8 { return x ^ y; });
}
void bit_not(const Block& b) {
  steps1<T8, T8>(b, [](T8 x) HWY_ATTR -> T8 { return x ^ 1; });
}
void eq(const Block& b) {
  steps2<T8, T8>(b, [](T8 x, T8 y) HWY_ATTR -> T8 { return x ^ y ^ 1; });
}
void lt(const Block& b) {
  steps2<T8, T8>(b, [](T8 x, T8 y) HWY_ATTR -> T8 { return (x ^ 1) & y; });
}
void le(const Block& b) {
  steps2<T8, T8>(b, [](T8 x, T8 y) HWY_ATTR -> T8 { return (x ^ 1) | y; });
}
void where(const Block& b) { ints::where<T8>(b); }
void set(const Block& b) {
  steps1<T8, T8>(b, [](T8) HWY_ATTR -> T8 { return 1; });
}
void clear(const Block& b) {
  steps1<T8, T8>(b, [](T8) HWY_ATTR -> T8 { return 0; });
}
}  // namespace bools

template <class T>
const BlockFn* int_table() {
#define NBX_ROW(name) &ints::name<T>,
  static constexpr BlockFn table[] = {NBX_INT_FNS(NBX_ROW)};
#undef NBX_ROW
  return table;
}
const BlockFn* i32() { return int_table<int32_t>(); }
const BlockFn* i64() { return int_table<int64_t>(); }
const BlockFn* u64() { return int_table<uint64_t>(); }
const BlockFn* b8() {
#define NBX_ROW(name) &bools::name,
  static constexpr BlockFn table[] = {NBX_BOOL_FNS(NBX_ROW)};
#undef NBX_ROW
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx::pointwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx::pointwise {
HWY_EXPORT(i32);
HWY_EXPORT(i64);
HWY_EXPORT(u64);
HWY_EXPORT(b8);
const BlockFn* i32_table() { return HWY_DYNAMIC_DISPATCH(i32)(); }
const BlockFn* i64_table() { return HWY_DYNAMIC_DISPATCH(i64)(); }
const BlockFn* u64_table() { return HWY_DYNAMIC_DISPATCH(u64)(); }
const BlockFn* b8_table() { return HWY_DYNAMIC_DISPATCH(b8)(); }
}  // namespace nbx::pointwise
#endif
