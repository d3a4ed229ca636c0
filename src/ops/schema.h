// SPDX-License-Identifier: Apache-2.0
// ATen-style signatures: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/value.h"

namespace nbx {

enum class ParamType { tensor, tensors, scalar, integer, integers, number, numbers, boolean, booleans, string, dtype };

struct Param {
  std::string name;
  ParamType type = ParamType::tensor;
  bool optional = false;      // "Tensor?", "int?"
  bool keyword_only = false;  // after "*"
  int list_size = 0;          // int[2]: 2; a single value is spread to this many
  bool has_default = false;
  bool elements_optional = false;  // "Tensor?[]"
  Value default_value;
};

struct Return {
  ParamType type = ParamType::tensor;
  std::string name;
};

struct Schema {
  std::string space;     // "aten", "custom"
  std::string name;      // "add"
  std::string overload;  // "Tensor" or ""
  std::vector<Param> params;
  std::vector<Return> returns;  // a single ParamType::tensors return: as many tensors as infer says
  std::string text;             // as declared

  std::string full_name() const;           // "aten::add.Tensor"
  int find(std::string_view param) const;  // index or -1
};

// Error (value) naming the text and the column.
Schema parse_schema(std::string_view text);

}  // namespace nbx
