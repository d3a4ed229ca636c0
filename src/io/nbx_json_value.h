// SPDX-License-Identifier: Apache-2.0
// Arguments of ops in JSON, and base64.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"
#include "ops/schema.h"
#include "ops/value.h"

namespace nbx {

// The tree of a file's text. Error (file): no JSON, nested too deeply, too large, a key twice in one object.
nlohmann::json parse_json(const FileBytes& file);
std::string shown(const nlohmann::json& json);  // quoted and cut, for messages

// Tensor id of the file → graph tensor; nothing when there is no such id.
using FindTensor = std::function<std::optional<int>(const std::string&)>;

// Errors (file) start with `where`.
Value value_from_json(const nlohmann::json& json, const FindTensor& find, const std::string& where);
nlohmann::json value_to_json(const Value& value, const std::vector<std::string>& tensor_ids);

// An extent or a part of one: a number, a symbol's name, an expression.
Sym symbol_from_json(const nlohmann::json& json, const std::string& where);
nlohmann::json symbol_to_json(const Sym& symbol);

std::string to_base64(const std::vector<std::byte>& bytes);
std::optional<std::vector<std::byte>> from_base64(std::string_view text);  // nothing: not base64

}  // namespace nbx
