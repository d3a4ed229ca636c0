// SPDX-License-Identifier: Apache-2.0
// The one table of element types.
#include <fmt/format.h>
#include <nbx/dtype.h>

#include "base/check.h"

namespace nbx {
namespace {

constexpr DTypeInfo kTable[kDTypes] = {
    {DType::float16, "float16", 2, Category::floating, true, "F16", "fp16"},
    {DType::bfloat16, "bfloat16", 2, Category::floating, true, "BF16", "bf16"},
    {DType::float32, "float32", 4, Category::floating, true, "F32", "fp32"},
    {DType::float64, "float64", 8, Category::floating, true, "F64", "fp64"},
    {DType::int8, "int8", 1, Category::integral, true, "I8", "int8"},
    {DType::int16, "int16", 2, Category::integral, true, "I16", "int16"},
    {DType::int32, "int32", 4, Category::integral, true, "I32", "int32"},
    {DType::int64, "int64", 8, Category::integral, true, "I64", "int64"},
    {DType::uint8, "uint8", 1, Category::integral, false, "U8", "uint8"},
    {DType::bool_, "bool", 1, Category::boolean, false, "BOOL", "int1"},
    {DType::complex64, "complex64", 8, Category::complex, true, "C64", "complex64"},
    {DType::complex128, "complex128", 16, Category::complex, true, "", "complex128"},
    {DType::uint16, "uint16", 2, Category::integral, false, "U16", "uint16"},
    {DType::uint32, "uint32", 4, Category::integral, false, "U32", "uint32"},
    {DType::uint64, "uint64", 8, Category::integral, false, "U64", "uint64"},
    {DType::float8_e4m3fn, "float8_e4m3fn", 1, Category::floating, true, "F8_E4M3", "fp8e4m3"},
    {DType::float8_e5m2, "float8_e5m2", 1, Category::floating, true, "F8_E5M2", "fp8e5m2"},
    {DType::complex32, "complex32", 4, Category::complex, true, "", "complex32"},
    {DType::bcomplex32, "bcomplex32", 4, Category::complex, true, "", "bcomplex32"},
};

struct Alias {
  std::string_view text;
  DType dtype;
};
constexpr Alias kAliases[] = {
    {"half", DType::float16}, {"float", DType::float32}, {"double", DType::float64}, {"int", DType::int32},
    {"long", DType::int64},   {"byte", DType::uint8},    {"fp16", DType::float16},   {"bf16", DType::bfloat16},
    {"fp32", DType::float32}, {"fp64", DType::float64},
};

constexpr bool in_enum_order() {
  for (int i = 0; i < kDTypes; ++i)
    if (static_cast<int>(kTable[i].dtype) != i) return false;
  return true;
}
static_assert(in_enum_order(), "info() indexes the table by the enum's value");

}  // namespace

const DTypeInfo& info(DType dtype) { return kTable[static_cast<int>(dtype)]; }

DType parse_dtype(std::string_view text) {
  std::string_view bare = text;
  constexpr std::string_view prefix = "torch.";
  if (bare.substr(0, prefix.size()) == prefix) bare.remove_prefix(prefix.size());
  for (const DTypeInfo& row : kTable)
    if (bare == row.name) return row.dtype;
  for (const Alias& alias : kAliases)
    if (bare == alias.text) return alias.dtype;

  std::string known;
  for (const DTypeInfo& row : kTable) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  for (const Alias& alias : kAliases) known += fmt::format(", {}", alias.text);
  fail(Code::dtype, "unknown dtype '{}'; the known ones are {}", text, known);
}

}  // namespace nbx
