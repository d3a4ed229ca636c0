// SPDX-License-Identifier: Apache-2.0
#include "dtype/rules.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace nbx {
namespace {

using R = DtypeRule;
constexpr unsigned kEither = kNumberLeft | kNumberRight;

constexpr OpRule kRows[] = {
    // Two operands. Where the overload for a number differs from the one for tensors it has its own row.
    {"add", R::promote, kAny, kEither},
    {"sub", R::promote, kNumber, kEither | kNoBool},
    {"mul", R::promote, kAny, kEither},
    {"div", R::float_up, kAny, kEither | kNoComplex32},
    {"rdiv", R::float_up, kAny, kNumberLeft},  // number / tensor: the reference takes reciprocal, then mul
    {"div_floor", R::promote, kInt | kFloat, kEither},
    {"div_trunc", R::promote, kInt | kFloat, kEither},
    {"floor_divide", R::promote, kInt | kFloat, kEither},
    {"remainder", R::promote, kInt | kFloat, kEither},
    {"fmod", R::promote, kInt | kFloat, kEither},
    {"pow", R::promote, kNumber, kNumberLeft | kNoComplex32},
    {"pow.Tensor_Scalar", R::promote, kAny, kNumberRight | kNoComplex32},
    {"atan2", R::float_up, kReal, kPlain},
    {"maximum", R::promote, kReal, kPlain},
    {"minimum", R::promote, kReal, kPlain},
    {"fmax", R::promote, kReal, kPlain},
    {"fmin", R::promote, kReal, kPlain},
    {"eq", R::boolean, kAny, kEither | kBits},
    {"ne", R::boolean, kAny, kEither | kBits},
    {"lt", R::boolean, kReal, kEither},
    {"le", R::boolean, kReal, kEither},
    {"gt", R::boolean, kReal, kEither},
    {"ge", R::boolean, kReal, kEither},
    {"logical_and", R::boolean, kAny, kNoComplex32},
    {"logical_or", R::boolean, kAny, kNoComplex32},
    {"logical_xor", R::boolean, kAny, kNoComplex32},
    {"bitwise_and", R::promote, kBool | kInt, kEither},
    {"bitwise_or", R::promote, kBool | kInt, kEither},
    {"bitwise_xor", R::promote, kBool | kInt, kEither},
    {"bitwise_left_shift", R::promote, kInt, kEither},
    {"bitwise_right_shift", R::promote, kInt, kEither},
    {"where", R::promote, kAny, kEither | kBits},
    {"cat", R::promote, kAny, kPlain},
    {"stack", R::promote, kAny, kPlain},
    {"clamp_min", R::promote, kReal, kPlain},
    {"clamp_max", R::promote, kReal, kPlain},
    {"clamp_min.Scalar", R::promote, kInt | kFloat, kNumberRight},
    {"clamp_max.Scalar", R::promote, kInt | kFloat, kNumberRight},
    {"mm", R::promote, kNumber, kOneDtype},
    {"lerp", R::promote, kFloat | kComplex, kOneDtype},
    {"addcmul", R::promote, kNumber, kPlain},
    {"addcdiv", R::promote, kFloat | kComplex, kPlain},
    {"masked_fill", R::same, kAny, kFill | kNumberRight},

    // One operand.
    {"abs", R::real, kNumber},
    {"neg", R::promote, kNumber},
    {"exp", R::float_up},
    {"exp2", R::float_up},
    {"expm1", R::float_up},
    {"log", R::float_up},
    {"log2", R::float_up},
    {"log10", R::float_up},
    {"log1p", R::float_up},
    {"sqrt", R::float_up},
    {"rsqrt", R::float_up},
    {"reciprocal", R::float_up},
    {"sin", R::float_up},
    {"cos", R::float_up},
    {"tan", R::float_up},
    {"asin", R::float_up},
    {"acos", R::float_up},
    {"atan", R::float_up},
    {"sinh", R::float_up},
    {"cosh", R::float_up},
    {"tanh", R::float_up},
    {"asinh", R::float_up},
    {"acosh", R::float_up},
    {"atanh", R::float_up},
    {"sigmoid", R::float_up},
    {"erf", R::float_up, kReal},
    {"erfc", R::float_up, kReal},
    {"erfinv", R::float_up, kReal},
    {"floor", R::promote, kInt | kFloat},
    {"ceil", R::promote, kInt | kFloat},
    {"round", R::promote, kInt | kFloat},
    {"trunc", R::promote, kInt | kFloat},
    {"frac", R::promote, kFloat},
    {"relu", R::promote, kInt | kFloat},
    {"relu6", R::promote, kInt | kFloat},
    {"hardtanh", R::promote, kInt | kFloat},
    {"threshold", R::promote, kInt | kFloat},
    {"sign", R::promote, kReal},
    {"square", R::number},
    {"isnan", R::boolean},
    {"isinf", R::boolean},
    {"isfinite", R::boolean},
    {"logical_not", R::boolean},
    {"bitwise_not", R::promote, kBool | kInt},
    {"nan_to_num", R::promote},
    {"silu", R::promote, kFloat | kComplex},
    {"gelu", R::promote, kFloat},
    {"mish", R::promote, kFloat},
    {"elu", R::promote, kFloat},
    {"celu", R::promote, kFloat},
    {"selu", R::promote, kFloat},
    {"leaky_relu", R::promote, kFloat},
    {"hardswish", R::promote, kFloat},
    {"hardsigmoid", R::promote, kFloat},
    {"softplus", R::promote, kFloat},
    {"log_sigmoid", R::promote, kFloat},
    {"glu", R::promote, kFloat},
    {"prelu", R::promote, kFloat},

    // Reductions, scans, sorting, transforms.
    {"sum", R::accumulate},
    {"prod", R::accumulate},
    {"cumsum", R::accumulate},
    {"cumprod", R::accumulate},
    {"nansum", R::accumulate, kReal},
    {"mean", R::promote, kFloat | kComplex},
    {"amax", R::promote, kReal},
    {"amin", R::promote, kReal},
    {"max", R::promote, kReal},
    {"min", R::promote, kReal},
    {"max.dim", R::promote, kReal, kWithIndices},
    {"min.dim", R::promote, kReal, kWithIndices},
    {"cummax", R::promote, kReal, kWithIndices},
    {"cummin", R::promote, kReal, kWithIndices},
    {"sort", R::promote, kReal, kWithIndices},
    {"topk", R::promote, kInt | kFloat, kWithIndices},
    {"argsort", R::int64, kReal},
    {"var", R::real, kFloat | kComplex},
    {"std", R::real, kFloat | kComplex},
    {"linalg_vector_norm", R::real, kFloat | kComplex},
    {"all", R::boolean_or_uint8},
    {"any", R::boolean_or_uint8},
    {"argmax", R::int64, kInt | kFloat},
    {"argmin", R::int64, kInt | kFloat},
    {"bucketize", R::int64, kInt | kFloat},
    {"count_nonzero", R::int64},
    {"nonzero", R::int64},
    {"logsumexp", R::float_up},
    {"logcumsumexp", R::promote, kFloat | kComplex},
    {"softmax", R::promote, kFloat},
    {"log_softmax", R::promote, kFloat},
    {"trace", R::accumulate, kNumber},
    // The reference refuses half here; the ops of the spectral family raise a half operand to float32 before they ask.
    {"fft_fft", R::complex_up, kAny, kNoHalf},
    {"fft_ifft", R::complex_up, kAny, kNoHalf},
    {"fft_rfft", R::complex_up, kReal, kNoHalf},
    {"fft_irfft", R::real_up, kAny, kNoHalf},

    // Creation: the operands are the numbers given.
    {"arange", R::number, kReal, kEither},
    {"full", R::promote, kAny, kEither},
    {"tensor", R::promote, kAny, kEither},
    {"linspace", R::float_up, kAny, kEither},
};

unsigned bit_of(DType dtype) { return 1u << static_cast<unsigned>(category(dtype)); }

std::string kinds(unsigned takes) {
  std::string text;
  const char* names[] = {"bool", "integral", "floating", "complex"};
  for (unsigned i = 0; i < 4; ++i)
    if (takes & (1u << i)) text += std::string(text.empty() ? "" : ", ") + names[i];
  return text;
}

DType float_up(DType t) { return is_integral(t, true) ? kDefaultFloat : t; }

DType result_of(DtypeRule rule, DType first, DType common) {
  switch (rule) {
    case R::same:
      return first;
    case R::promote:
      return common;
    case R::boolean:
      return DType::bool_;
    case R::int64:
      return DType::int64;
    case R::float_up:
      return float_up(common);
    case R::accumulate:
      return is_integral(common, true) ? DType::int64 : common;
    case R::number:
      return common == DType::bool_ ? DType::int64 : common;
    case R::real:
      return real_part(common);
    case R::boolean_or_uint8:
      return common == DType::uint8 ? common : DType::bool_;
    case R::complex_up:
      return is_complex(common) ? common : complex_of(float_up(common));
    case R::real_up:
      return real_part(is_complex(common) ? common : complex_of(float_up(common)));
  }
  return common;
}

void check_flags(const OpRule& rule, std::span<const Operand> operands) {
  const Operand& first = operands.front();
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    const unsigned allowed = i == 0 ? kNumberLeft : kNumberRight;
    require(operand.kind != Operand::Kind::number || (rule.flags & allowed), Code::dtype,
            "{}: operand {} is {}, a tensor is needed", rule.op, i, describe(operand));
    require(!(rule.flags & kNoBool) || operand.dtype != DType::bool_, Code::dtype,
            "{}: operand {} is bool ({}); use logical_xor or logical_not, or convert it first", rule.op, i,
            describe(operands));
    require(!(rule.flags & kOneDtype) || operand.dtype == first.dtype, Code::dtype,
            "{}: operands are {}; all must have one dtype, convert them first", rule.op, describe(operands));
    require(!(rule.flags & kNoHalf) || !is_half(operand.dtype), Code::dtype,
            "{}: {} is not supported; convert to float32", rule.op, name(operand.dtype));
  }
  if ((rule.flags & kFill) && operands.size() == 2) {
    const Operand& value = operands[1];
    require(value.kind != Operand::Kind::tensor, Code::dtype, "{}: the value ({}) must be a number or a 0-d tensor",
            rule.op, describe(value));
    const bool lost = value.kind == Operand::Kind::number && is_complex(value.dtype) && !is_complex(first.dtype) &&
                      first.dtype != DType::bool_;
    require(!lost, Code::dtype, "{}: {} cannot be stored in {}", rule.op, describe(value), name(first.dtype));
  }
}

}  // namespace

std::span<const OpRule> op_rules() { return kRows; }

const OpRule* find_op_rule(std::string_view op) {
  static const std::vector<const OpRule*> sorted = [] {
    std::vector<const OpRule*> rows;
    for (const OpRule& row : kRows) rows.push_back(&row);
    std::sort(rows.begin(), rows.end(), [](const OpRule* a, const OpRule* b) { return a->op < b->op; });
    return rows;
  }();
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), op,
                                   [](const OpRule* row, std::string_view wanted) { return row->op < wanted; });
  return at != sorted.end() && (*at)->op == op ? *at : nullptr;
}

const OpRule& op_rule(std::string_view op) {
  const OpRule* row = find_op_rule(op);
  require(row != nullptr, Code::internal, "there is no dtype rule for {}; add a row to src/dtype/rules.cpp", op);
  return *row;
}

RuleResult apply_rule(const OpRule& rule, std::span<const Operand> operands) {
  NBX_ASSERT(!operands.empty());
  check_flags(rule, operands);
  RuleResult out;
  // `same` does not mix the operands: the others are converted to the first.
  out.common = rule.result == R::same ? operands.front().dtype : result_type(operands, rule.op);
  require(rule.takes & bit_of(out.common), Code::dtype, "{}: {} is not supported (operands: {}); it takes {}", rule.op,
          name(out.common), describe(operands), kinds(rule.takes));
  const bool refused = (out.common == DType::bcomplex32 && !(rule.flags & kBits)) ||
                       (out.common == DType::complex32 && (rule.flags & kNoComplex32));
  require(!refused, Code::dtype, "{}: {} would be {}, which has no arithmetic here; convert to float32 first", rule.op,
          describe(operands), name(out.common));
  out.result = result_of(rule.result, operands.front().dtype, out.common);
  out.indices = (rule.flags & kWithIndices) != 0;
  return out;
}

RuleResult op_dtypes(std::string_view op, std::span<const Operand> operands) {
  const RuleResult out = apply_rule(op_rule(op), operands);
  require(has_tensors(out.common) && has_tensors(out.result), Code::dtype,
          "{}: {} would be {}, which no tensor holds; convert the half operand to float32 first", op,
          describe(operands), name(out.common));
  return out;
}

}  // namespace nbx
