// SPDX-License-Identifier: Apache-2.0
// Which dtypes an op takes and which it gives, as data: one row an op in rules.cpp. An op's `infer` asks for its row by
// name and applies it to its operands; what the op refuses is refused here, by name.
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>

#include "dtype/promotion.h"

namespace nbx {

// The result in terms of the operands' common type T.
enum class DtypeRule : uint8_t {
  same,              // the first operand's, whatever the others are
  promote,           // T
  boolean,           // bool
  int64,             // int64
  float_up,          // FUP: integral and bool give float32, others T
  accumulate,        // ACC: integral and bool give int64, others T
  number,            // bool gives int64, others T
  real,              // the real part's type of T
  boolean_or_uint8,  // bool, but uint8 stays uint8
  complex_up,        // the complex type of float_up(T)
  real_up,           // the real part's type of complex_up(T)
};

enum Takes : unsigned {  // categories that T may have
  kBool = 1u << 0,
  kInt = 1u << 1,
  kFloat = 1u << 2,
  kComplex = 1u << 3,
  kReal = kBool | kInt | kFloat,
  kNumber = kInt | kFloat | kComplex,
  kAny = kReal | kComplex,
};

enum RuleFlag : unsigned {
  kPlain = 0,
  kNumberRight = 1u << 0,  // the second operand may be a plain number
  kNumberLeft = 1u << 1,   // the first may
  kNoBool = 1u << 2,       // no operand may be bool, not only T
  kOneDtype = 1u << 3,     // all operands have one dtype
  kFill = 1u << 4,         // the second operand is one value for the first: 0-d or a number that the first can hold
  kWithIndices = 1u << 5,  // a second result: int64
  kNoHalf = 1u << 6,
  kBits = 1u << 7,         // selects or compares: the common type bcomplex32 is fine
  kNoComplex32 = 1u << 8,  // the common type complex32 is refused, too
};

struct OpRule {
  std::string_view op;
  DtypeRule result = DtypeRule::promote;
  unsigned takes = kAny;
  unsigned flags = kPlain;
};

// nullptr when there is no row.
const OpRule* find_op_rule(std::string_view op);
// Error (internal) when there is none.
const OpRule& op_rule(std::string_view op);
std::span<const OpRule> op_rules();

struct RuleResult {
  DType common;          // compute in this type
  DType result;          // of the first output
  bool indices = false;  // a second output of int64
};
// As the reference answers, which may be complex32. Error (dtype) naming op and operands where it raises.
RuleResult apply_rule(const OpRule& rule, std::span<const Operand> operands);

// For `infer`: as apply_rule, and refuses by name what no tensor can hold (a half tensor with a complex number).
RuleResult op_dtypes(std::string_view op, std::span<const Operand> operands);
inline RuleResult op_dtypes(std::string_view op, std::initializer_list<Operand> operands) {
  return op_dtypes(op, std::span<const Operand>(operands.begin(), operands.size()));
}
// One tensor operand: unary ops and reductions.
inline RuleResult op_dtypes(std::string_view op, DType dtype) { return op_dtypes(op, {Operand{dtype}}); }

}  // namespace nbx
