// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/blocks.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace nbx {
namespace {

template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t> ||
                                       std::is_same_v<T, float8_e4m3fn_t> || std::is_same_v<T, float8_e5m2_t>;

// A value outside the integer's range has no right answer; it becomes the lowest one, as on x86, and never undefined
// behaviour.
template <class I, class F>
I to_integer(F v) {
  const double wide = v;
  if (!(wide > -9223372036854775809.0 && wide < 9223372036854775808.0))
    return static_cast<I>(wide >= 9223372036854775808.0 && wide < 18446744073709551616.0 && !std::is_signed_v<I>
                              ? static_cast<I>(static_cast<uint64_t>(wide))
                              : static_cast<I>(std::numeric_limits<int64_t>::min()));
  return static_cast<I>(static_cast<int64_t>(wide));
}

template <class A, class T>
A read_as(T v) {
  if constexpr (is_small_float<T>) {
    return read_as<A>(to_float(v));
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<A>) {
    return to_integer<A>(v);
  } else {
    return static_cast<A>(v);
  }
}

template <class T, class A>
T write_as(A v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != A{0};
  } else if constexpr (std::is_same_v<T, float16_t>) {
    if constexpr (std::is_same_v<A, double>) return to_float16(v);
    return to_float16(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, bfloat16_t>) {
    if constexpr (std::is_same_v<A, double>) return to_bfloat16(v);
    return to_bfloat16(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, float8_e4m3fn_t>) {
    return to_float8_e4m3fn(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, float8_e5m2_t>) {
    return to_float8_e5m2(static_cast<float>(v));
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<A>) {
    return to_integer<T>(v);
  } else {
    return static_cast<T>(v);
  }
}

template <class A, class T>
void widen(const void* from, int64_t step, int64_t n, A* to) {
  const T* p = static_cast<const T*>(from);
  if constexpr (std::is_same_v<A, float> && (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)) {
    if (step == 1) return widen_row(p, n, to);
  }
  for (int64_t i = 0; i < n; ++i) to[i] = read_as<A>(p[i * step]);
}

template <class A, class T>
void narrow(const A* from, int64_t n, int64_t step, void* to) {
  T* p = static_cast<T*>(to);
  if constexpr (std::is_same_v<A, float> && (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)) {
    if (step == 1) return narrow_row(from, n, p);
  }
  for (int64_t i = 0; i < n; ++i) p[i * step] = write_as<T>(from[i]);
}

// f(T{}) for the storage type of a real dtype.
template <class F>
auto with_storage(DType dtype, F f) {
  switch (dtype) {
    case DType::float16:
      return f(float16_t{});
    case DType::bfloat16:
      return f(bfloat16_t{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::int8:
      return f(int8_t{});
    case DType::int16:
      return f(int16_t{});
    case DType::int32:
      return f(int32_t{});
    case DType::int64:
      return f(int64_t{});
    case DType::uint8:
      return f(uint8_t{});
    case DType::bool_:
      return f(bool{});
    case DType::uint16:
      return f(uint16_t{});
    case DType::uint32:
      return f(uint32_t{});
    case DType::uint64:
      return f(uint64_t{});
    case DType::float8_e4m3fn:
      return f(float8_e4m3fn_t{});
    case DType::float8_e5m2:
      return f(float8_e5m2_t{});
    default:
      break;
  }
  fail(Code::dtype, "{} is not supported here; use a real dtype", name(dtype));
}

}  // namespace

template <class A>
Widen<A> widen_from(DType dtype) {
  return with_storage(dtype, [](auto t) -> Widen<A> { return widen<A, decltype(t)>; });
}
template <class A>
Narrow<A> narrow_to(DType dtype) {
  return with_storage(dtype, [](auto t) -> Narrow<A> { return narrow<A, decltype(t)>; });
}
template Widen<float> widen_from<float>(DType);
template Widen<double> widen_from<double>(DType);
template Widen<int64_t> widen_from<int64_t>(DType);
template Widen<uint64_t> widen_from<uint64_t>(DType);
template Narrow<float> narrow_to<float>(DType);
template Narrow<double> narrow_to<double>(DType);
template Narrow<int64_t> narrow_to<int64_t>(DType);
template Narrow<uint64_t> narrow_to<uint64_t>(DType);

Arithmetic arithmetic_of(DType dtype, const char* op) {
  require(!is_complex(dtype), Code::dtype, "{}: {} is not supported; take real and imaginary part", op, name(dtype));
  if (dtype == DType::float64) return Arithmetic::f64;
  if (is_floating(dtype)) return Arithmetic::f32;
  return dtype == DType::uint64 ? Arithmetic::u64 : Arithmetic::i64;
}

}  // namespace nbx
