// SPDX-License-Identifier: Apache-2.0
// Values of arguments that a graph leaves open: read from a tensor, or computed from symbols (nbx JSON §4.4, §4.5).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "ops/from_tensor.h"

namespace nbx {

// Symbols that are extents of inputs. Error (value) when an extent is outside a symbol's bounds, naming symbol, value,
// bound and source.
void bind_dimension_symbols(const Graph& graph, const Metas& inputs, std::map<std::string, int64_t>& symbols);
// The integer or list; nothing when an input's value is needed and not known (`input_value` answered null).
std::optional<Value> resolve_symbols(const Value& value, const Graph& graph, std::map<std::string, int64_t>& symbols,
                                     const std::function<const Tensor*(int input)>& input_value);

}  // namespace nbx
