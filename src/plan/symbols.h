// SPDX-License-Identifier: Apache-2.0
// Values of arguments that a graph leaves open: read from a tensor, or computed from symbols (nbx JSON §4.4, §4.5).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"

namespace nbx {

// What a tensor holds, in the form the parameter takes. Error (shape, dtype) naming op, parameter and tensor.
Value value_from_tensor(const OpDecl& op, const Param& param, const Tensor& tensor);
// A one-element tensor as a number of its category.
Value number_of(const Tensor& tensor);

// Symbols that are extents of inputs. Error (value) when an extent is outside a symbol's bounds, naming symbol, value, bound
// and source.
void bind_dimension_symbols(const Graph& graph, const Metas& inputs, std::map<std::string, int64_t>& symbols);
// The integer or list; nothing when an input's value is needed and not known (`input_value` answered null).
std::optional<Value> resolve_symbols(const Value& value, const Graph& graph, std::map<std::string, int64_t>& symbols,
                                     const std::function<const Tensor*(int input)>& input_value);

}  // namespace nbx
