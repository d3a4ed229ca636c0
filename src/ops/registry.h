// SPDX-License-Identifier: Apache-2.0
// All declarations, found from the folders at configure time. Built on first use; immutable afterwards.
#pragma once
#include <string_view>
#include <vector>

#include "ops/declare.h"

namespace nbx {

const std::vector<const OpDecl*>& all_ops();  // by full name
// "aten::add.Tensor", an alias, or a name without overload when that is not ambiguous ("aten::relu", "add.Tensor").
const OpDecl* find_op(std::string_view name);
const OpDecl& require_op(std::string_view name);  // error (unsupported) naming it and near names
// The import for an ONNX node type at an opset, with its op; null when no declaration claims it.
const OnnxImport* find_import(std::string_view domain, std::string_view op_type, int opset);
std::vector<std::string> imported_onnx_ops();  // names claimed, sorted
// What a declaration lacks: "cost", "oracle", ...; empty when complete.
std::vector<std::string> missing_parts(const OpDecl& op);

}  // namespace nbx
