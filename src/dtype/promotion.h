// SPDX-License-Identifier: Apache-2.0
// Type promotion, equal to PyTorch's: categories bool < integral < floating < complex; among operands of one kind the
// wider type wins; 0-d tensors and plain numbers count by category only.
#pragma once
#include <nbx/dtype.h>
#include <nbx/shape.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nbx {

inline constexpr DType kDefaultFloat = DType::float32;
inline constexpr DType kDefaultComplex = DType::complex64;

// complex32 and bcomplex32 are names that promotion arrives at; memory of them does not exist.
inline bool has_tensors(DType dtype) { return dtype != DType::complex32 && dtype != DType::bcomplex32; }

// The dtype of a number without one: bool, int64, float32, complex64.
DType default_dtype(Category category);
DType real_part(DType dtype);      // complex64 -> float32; others unchanged
DType complex_of(DType floating);  // float32 -> complex64; error (dtype) for float8 and what is not floating

// Two tensors of equal standing. nullopt (error) where there is no such type: uint16/32/64 with another integer, bool
// or complex; float8 with anything but itself.
std::optional<DType> try_promote(DType a, DType b);
DType promote_types(DType a, DType b, std::string_view what = "promotion");

// May a result of `from` be stored as `to` without leaving its category? (complex -> real, floating -> integral and
// anything -> bool may not.)
bool can_cast(DType from, DType to);
// Does an integer fit into an integral dtype? (bool: 0 and 1; the others: true)
bool fits(int64_t value, DType dtype);

struct Operand {
  enum class Kind : uint8_t { tensor, tensor_0d, number };
  DType dtype;  // of a number: default_dtype of its category
  Kind kind = Kind::tensor;
};
inline Operand number(Category category) { return {default_dtype(category), Operand::Kind::number}; }
// From anything with dtype, shape and `weak` (ops/args.h Meta).
template <class M>
Operand operand(const M& meta) {
  if (meta.weak) return number(category(meta.dtype));
  return {meta.dtype, meta.shape.empty() ? Operand::Kind::tensor_0d : Operand::Kind::tensor};
}
std::string describe(const Operand& operand);  // "float32", "float32 (0-d)", "an int number"
std::string describe(std::span<const Operand> operands);

// The common type of an op's operands; `what` names the op in the error (dtype).
DType result_type(std::span<const Operand> operands, std::string_view what = "promotion");
inline DType result_type(std::initializer_list<Operand> operands, std::string_view what = "promotion") {
  return result_type(std::span<const Operand>(operands.begin(), operands.size()), what);
}

}  // namespace nbx
