// SPDX-License-Identifier: Apache-2.0
// One element of one C++ type as another: the rule for each pair of kinds, in one place.
#pragma once
#include <nbx/dtype.h>

#include <complex>
#include <limits>
#include <type_traits>

#include "dtype/bits.h"

namespace nbx {

template <class T>
struct is_std_complex : std::false_type {};
template <class T>
struct is_std_complex<std::complex<T>> : std::true_type {};
template <class T>
inline constexpr bool is_narrow_float = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t> ||
                                        std::is_same_v<T, float8_e4m3fn_t> || std::is_same_v<T, float8_e5m2_t>;

// A bool in memory: files may hold bytes other than 0 and 1, which as a C++ bool would be undefined.
struct StoredBool {
  uint8_t byte;
};

template <class To, class From>
To float_to_integer(From v) {
  // The limits as floats: the lowest is exact, the highest + 1 is a power of two and exact.
  constexpr From low = static_cast<From>(std::numeric_limits<To>::lowest());
  constexpr From beyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From{2};
  if (v >= beyond) return std::numeric_limits<To>::max();
  if (v >= low) return static_cast<To>(v);
  if (v < low) return std::numeric_limits<To>::lowest();
  return 0;  // NaN
}

template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (std::is_same_v<From, StoredBool>) {
    return convert<To>(static_cast<uint8_t>(v.byte != 0));
  } else if constexpr (is_narrow_float<From>) {
    if constexpr (std::is_same_v<From, bfloat16_t>)
      return convert<To>(to_float(v));
    else
      return convert<To>(bits::to_float(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From{};
  } else if constexpr (is_std_complex<To>::value) {
    using Part = typename To::value_type;
    if constexpr (is_std_complex<From>::value)
      return To(static_cast<Part>(v.real()), static_cast<Part>(v.imag()));
    else
      return To(static_cast<Part>(v));
  } else if constexpr (is_narrow_float<To>) {
    // Integers go through float, as ATen's; a double is rounded once.
    using Middle = std::conditional_t<std::is_same_v<From, double>, double, float>;
    const auto middle = static_cast<Middle>(v);
    if constexpr (std::is_same_v<To, float16_t>)
      return bits::to_float16(middle);
    else if constexpr (std::is_same_v<To, bfloat16_t>)
      return bits::to_bfloat16(middle);
    else if constexpr (std::is_same_v<To, float8_e4m3fn_t>)
      return bits::to_float8_e4m3fn(bits::to_odd(middle));
    else
      return bits::to_float8_e5m2(bits::to_odd(middle));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return float_to_integer<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace nbx
