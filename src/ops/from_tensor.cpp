// SPDX-License-Identifier: Apache-2.0
#include "ops/from_tensor.h"

#include <fmt/format.h>

#include "base/check.h"

namespace nbx {

Value number_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::bool_) return tensor.item_int() != 0;
  if (is_integral(tensor.dtype())) return tensor.item_int();
  return tensor.item();
}

Value value_from_tensor(const OpDecl& op, const Param& param, const Tensor& tensor) {
  const std::string who = fmt::format("{}: argument '{}'", op.parsed.name, param.name);
  const auto one = [&] {
    require(tensor.numel() == 1, Code::shape, "{} needs one value, it is given by {}", who, describe(tensor));
  };
  const auto integers = [&] {
    require(is_integral(tensor.dtype(), true), Code::dtype, "{} needs integers, it is given by {}", who,
            describe(tensor));
    require(tensor.rank() <= 1, Code::shape, "{} needs a list, it is given by {}", who, describe(tensor));
  };
  switch (param.type) {
    case ParamType::integer:
      one();
      require(is_integral(tensor.dtype(), true), Code::dtype, "{} needs an integer, it is given by {}", who,
              describe(tensor));
      return tensor.item_int();
    case ParamType::integers:
    case ParamType::booleans: {
      integers();
      const auto v = tensor.to_ints();
      if (param.list_size > 1 && v.size() == 1) return Ints(static_cast<size_t>(param.list_size), v[0]);
      return Ints(v.begin(), v.end());
    }
    case ParamType::number:
      one();
      return tensor.item();
    case ParamType::numbers:
      return tensor.to_doubles();
    case ParamType::boolean:
      one();
      return tensor.item() != 0;
    case ParamType::scalar:
      one();
      return number_of(tensor);
    default:
      fail(Code::type, "{} cannot be given by a tensor", who);
  }
}

}  // namespace nbx
