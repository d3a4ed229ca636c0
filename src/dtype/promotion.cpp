// SPDX-License-Identifier: Apache-2.0
#include "dtype/promotion.h"

#include <limits>

#include "base/check.h"

namespace nbx {
namespace {

bool is_float8(DType t) { return t == DType::float8_e4m3fn || t == DType::float8_e5m2; }

// uint16, uint32, uint64: storage types that mix with floats only.
bool is_wide_unsigned(DType t) { return is_integral(t) && !info(t).is_signed && itemsize(t) > 1; }

std::optional<DType> promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (is_float8(a) || is_float8(b)) return std::nullopt;
  if (itemsize(a) == itemsize(b)) return DType::float32;  // float16 with bfloat16: neither holds the other
  return itemsize(a) > itemsize(b) ? a : b;
}

std::optional<DType> promote_integers(DType a, DType b) {
  if (category(a) == Category::boolean) return b;
  if (category(b) == Category::boolean) return a;
  if (itemsize(a) != itemsize(b)) return itemsize(a) > itemsize(b) ? a : b;
  return DType::int16;  // int8 with uint8
}

// A higher category decides; the lower one adds nothing but, under a complex number, the width of its floats.
DType combine(DType higher, DType lower, std::string_view what) {
  if (is_complex(higher)) return higher;
  if (is_floating(higher)) return is_complex(lower) ? complex_of(higher) : higher;
  if (category(higher) == Category::boolean || is_floating(lower) || is_complex(lower))
    return promote_types(higher, lower, what);
  return higher;
}

}  // namespace

DType default_dtype(Category category) {
  switch (category) {
    case Category::boolean:
      return DType::bool_;
    case Category::integral:
      return DType::int64;
    case Category::floating:
      return kDefaultFloat;
    case Category::complex:
      break;
  }
  return kDefaultComplex;
}

DType real_part(DType dtype) {
  switch (dtype) {
    case DType::complex32:
      return DType::float16;
    case DType::bcomplex32:
      return DType::bfloat16;
    case DType::complex64:
      return DType::float32;
    case DType::complex128:
      return DType::float64;
    default:
      return dtype;
  }
}

DType complex_of(DType floating) {
  switch (floating) {
    case DType::float16:
      return DType::complex32;
    case DType::bfloat16:
      return DType::bcomplex32;
    case DType::float32:
      return DType::complex64;
    case DType::float64:
      return DType::complex128;
    default:
      fail(Code::dtype, "there is no complex type of {}; convert to float32 first", name(floating));
  }
}

std::optional<DType> try_promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float8(a) || is_float8(b)) return std::nullopt;
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) {
    if (is_floating(a)) return a;
    if (is_floating(b)) return b;
    return std::nullopt;
  }
  if (is_complex(a) || is_complex(b)) {
    if (is_integral(a, true)) return b;
    if (is_integral(b, true)) return a;
    return complex_of(*promote_floats(real_part(a), real_part(b)));
  }
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return promote_integers(a, b);
}

DType promote_types(DType a, DType b, std::string_view what) {
  const std::optional<DType> out = try_promote(a, b);
  require(out.has_value(), Code::dtype, "{}: {} and {} have no common type; convert one of them first", what, name(a),
          name(b));
  return *out;
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to)) return false;
  return category(from) == Category::boolean || category(to) != Category::boolean;
}

bool fits(int64_t value, DType dtype) {
  if (category(dtype) == Category::boolean) return value == 0 || value == 1;
  if (!is_integral(dtype)) return true;
  const int bits = 8 * itemsize(dtype);
  if (!info(dtype).is_signed) return value >= 0 && (bits == 64 || value < (int64_t{1} << bits));
  return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < (int64_t{1} << (bits - 1)));
}

std::string describe(const Operand& operand) {
  if (operand.kind == Operand::Kind::tensor) return name(operand.dtype);
  if (operand.kind == Operand::Kind::tensor_0d) return fmt::format("{} (0-d)", name(operand.dtype));
  switch (category(operand.dtype)) {
    case Category::boolean:
      return "a bool number";
    case Category::integral:
      return "an int number";
    case Category::floating:
      return "a float number";
    case Category::complex:
      break;
  }
  return "a complex number";
}

std::string describe(std::span<const Operand> operands) {
  std::string text;
  for (const Operand& operand : operands) text += (text.empty() ? "" : ", ") + describe(operand);
  return text;
}

DType result_type(std::span<const Operand> operands, std::string_view what) {
  NBX_ASSERT(!operands.empty());
  std::optional<DType> kinds[3];  // tensor, 0-d tensor, number
  for (const Operand& operand : operands) {
    const DType dtype = operand.kind == Operand::Kind::number ? default_dtype(category(operand.dtype)) : operand.dtype;
    std::optional<DType>& of_kind = kinds[static_cast<int>(operand.kind)];
    of_kind = of_kind ? promote_types(*of_kind, dtype, what) : dtype;
  }
  std::optional<DType> out;
  for (int kind = 2; kind >= 0; --kind)
    if (kinds[kind]) out = out ? combine(*kinds[kind], *out, what) : *kinds[kind];
  return *out;
}

}  // namespace nbx
