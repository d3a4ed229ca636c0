// SPDX-License-Identifier: Apache-2.0
#include "tensor/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace nbx {
namespace {

// 0.DIGITS x 10^exponent; no trailing zeros; zero has no digits and exponent 1.
struct Decimal {
  std::string digits;
  int exponent = 1;
};

Decimal parsed(const char* scientific_text) {  // "d.ddde+xx" of a non-negative number
  Decimal out;
  const char* at = scientific_text;
  for (; *at != 'e'; ++at)
    if (*at != '.') out.digits += *at;
  out.exponent = std::atoi(at + 1) + 1;
  while (!out.digits.empty() && out.digits.back() == '0') out.digits.pop_back();
  if (out.digits.empty()) out.exponent = 1;
  return out;
}

// Does this double, read as `dtype`, give `value`?
bool reads_back(double read, double value, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return to_float(to_float16(read)) == value;
    case DType::bfloat16:
      return to_float(to_bfloat16(read)) == value;
    case DType::float8_e4m3fn:
      return to_float(to_float8_e4m3fn(static_cast<float>(read))) == value;
    case DType::float8_e5m2:
      return to_float(to_float8_e5m2(static_cast<float>(read))) == value;
    default:
      return read == value;
  }
}

Decimal shortest(double magnitude, DType dtype) {
  char text[64];
  if (dtype == DType::float32 || dtype == DType::float64) {
    const auto end =
        dtype == DType::float32
            ? std::to_chars(text, text + sizeof text - 1, static_cast<float>(magnitude), std::chars_format::scientific)
            : std::to_chars(text, text + sizeof text - 1, magnitude, std::chars_format::scientific);
    *end.ptr = '\0';
    return parsed(text);
  }
  for (int digits = 0;; ++digits) {
    std::snprintf(text, sizeof text, "%.*e", digits, magnitude);
    if (digits == 17 || reads_back(std::strtod(text, nullptr), magnitude, dtype)) return parsed(text);
  }
}

std::string sign_of(double value, const NumberStyle& style) {
  return std::signbit(value) ? "-" : style.plus ? "+" : "";
}

void pad_zeros(std::string& fraction, int digits) {
  if (static_cast<int>(fraction.size()) < digits) fraction.append(static_cast<size_t>(digits) - fraction.size(), '0');
}

}  // namespace

std::string positional(double value, DType dtype, const NumberStyle& style) {
  const double magnitude = std::fabs(value);
  const Decimal decimal = shortest(magnitude, dtype);
  const int count = static_cast<int>(decimal.digits.size());
  std::string whole, fraction;
  if (style.precision >= 0 && count - decimal.exponent > style.precision) {
    // As below: the exact value is rounded.
    char text[400];  // 309 digits of the largest double, and a precision below 60
    std::snprintf(text, sizeof text, "%.*f", style.precision, magnitude);
    const std::string cut = text;
    const size_t point = cut.find('.');
    whole = cut.substr(0, point);
    if (point != std::string::npos) fraction = cut.substr(point + 1);
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  } else {
    const int before = std::max(decimal.exponent, 0);
    whole = decimal.digits.substr(0, static_cast<size_t>(std::min(before, count)));
    if (before > count) whole.append(static_cast<size_t>(before - count), '0');
    if (whole.empty()) whole = "0";
    if (before < count)
      fraction = std::string(static_cast<size_t>(before - decimal.exponent), '0') +
                 decimal.digits.substr(static_cast<size_t>(before));
  }
  return sign_of(value, style) + whole + "." + fraction;
}

std::string scientific(double value, DType dtype, const NumberStyle& style) {
  const double magnitude = std::fabs(value);
  Decimal decimal = shortest(magnitude, dtype);
  const int after = static_cast<int>(decimal.digits.size()) - 1;
  const bool longer = style.precision >= 0 && after > style.precision;
  if (longer || after < style.min_digits) {
    // A cut rounds the exact value, not its shortest text; digits past the shortest text are the exact value's.
    char text[400];
    std::snprintf(text, sizeof text, "%.*e", longer ? style.precision : style.min_digits, magnitude);
    decimal = parsed(text);
  }
  std::string fraction = decimal.digits.size() > 1 ? decimal.digits.substr(1) : "";
  pad_zeros(fraction, style.min_digits);
  std::string exponent = std::to_string(std::abs(decimal.exponent - 1));
  exponent.insert(0, static_cast<size_t>(std::max(0, style.exp_digits - static_cast<int>(exponent.size()))), '0');
  return sign_of(value, style) + (decimal.digits.empty() ? '0' : decimal.digits[0]) + "." + fraction + "e" +
         (decimal.exponent < 1 ? "-" : "+") + exponent;
}

double scientific_from(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 1e8;
    case DType::float32:
      return 1e6;
    default:
      return 1e3;
  }
}

std::string alone(double value, DType dtype, bool point) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double magnitude = std::fabs(value);
  const double limit = dtype == DType::float64 ? 1e16 : scientific_from(dtype);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < limit)) {
    std::string text = positional(value, dtype, {});
    if (text.back() == '.') point ? text.push_back('0') : text.pop_back();
    return text;
  }
  std::string text = scientific(value, dtype, {});
  const size_t bare = text.find(".e");
  if (bare != std::string::npos) text.erase(bare, 1);
  return text;
}

}  // namespace nbx
