// SPDX-License-Identifier: Apache-2.0
// Element types: one table of facts (src/dtype/table.cpp), and C++ storage types for the ones C++ lacks.
#pragma once
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

namespace nbx {

enum class DType : uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  bool_,
  complex64,
  complex128,
  uint16,
  uint32,
  uint64,
  float8_e4m3fn,
  float8_e5m2,
  // These two take part in promotion only (float16 or bfloat16 with a complex number): no tensor of them can be made.
  complex32,
  bcomplex32,
};
inline constexpr int kDTypes = 19;

// Category order of type promotion: bool < integral < floating < complex.
enum class Category : uint8_t { boolean, integral, floating, complex };

struct DTypeInfo {
  DType dtype;
  const char* name;  // "float32"
  int itemsize;      // bytes
  Category category;
  bool is_signed;
  const char* safetensors;  // "F32"; "" when that format has no code for it
  const char* tag;          // the element type in launch keys: "fp32"
};

const DTypeInfo& info(DType dtype);
inline int itemsize(DType dtype) { return info(dtype).itemsize; }
inline const char* name(DType dtype) { return info(dtype).name; }
inline Category category(DType dtype) { return info(dtype).category; }
inline bool is_floating(DType dtype) { return category(dtype) == Category::floating; }
inline bool is_integral(DType dtype, bool with_bool = false) {
  return category(dtype) == Category::integral || (with_bool && category(dtype) == Category::boolean);
}
inline bool is_complex(DType dtype) { return category(dtype) == Category::complex; }
inline bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// From "float32", "torch.float32" or an alias (half, float, double, int, long, byte, fp16, bf16, fp32, fp64, bool).
// Error (dtype) naming the text and the known names.
DType parse_dtype(std::string_view text);

// 16-bit and 8-bit floats are storage: widen to float, compute, narrow. Conversions round to nearest even.
struct float16_t {
  uint16_t bits;
};
struct bfloat16_t {
  uint16_t bits;
};
struct float8_e4m3fn_t {
  uint8_t bits;
};
struct float8_e5m2_t {
  uint8_t bits;
};

float to_float(float16_t v);
inline float to_float(bfloat16_t v) {
  const uint32_t wide = static_cast<uint32_t>(v.bits) << 16;
  float out;
  __builtin_memcpy(&out, &wide, 4);
  return out;
}
float to_float(float8_e4m3fn_t v);
float to_float(float8_e5m2_t v);
float16_t to_float16(float v);
float16_t to_float16(double v);  // one rounding
bfloat16_t to_bfloat16(float v);
bfloat16_t to_bfloat16(double v);
float8_e4m3fn_t to_float8_e4m3fn(float v);  // overflow and inf give NaN (the format has no inf), as ATen
float8_e5m2_t to_float8_e5m2(float v);

template <class T>
struct dtype_of;
template <>
struct dtype_of<float16_t> {
  static constexpr DType value = DType::float16;
};
template <>
struct dtype_of<bfloat16_t> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct dtype_of<int8_t> {
  static constexpr DType value = DType::int8;
};
template <>
struct dtype_of<int16_t> {
  static constexpr DType value = DType::int16;
};
template <>
struct dtype_of<int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct dtype_of<int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct dtype_of<uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct dtype_of<bool> {
  static constexpr DType value = DType::bool_;
};
template <>
struct dtype_of<std::complex<float>> {
  static constexpr DType value = DType::complex64;
};
template <>
struct dtype_of<std::complex<double>> {
  static constexpr DType value = DType::complex128;
};
template <>
struct dtype_of<uint16_t> {
  static constexpr DType value = DType::uint16;
};
template <>
struct dtype_of<uint32_t> {
  static constexpr DType value = DType::uint32;
};
template <>
struct dtype_of<uint64_t> {
  static constexpr DType value = DType::uint64;
};
template <>
struct dtype_of<float8_e4m3fn_t> {
  static constexpr DType value = DType::float8_e4m3fn;
};
template <>
struct dtype_of<float8_e5m2_t> {
  static constexpr DType value = DType::float8_e5m2;
};

}  // namespace nbx
