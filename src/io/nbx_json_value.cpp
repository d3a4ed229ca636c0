// SPDX-License-Identifier: Apache-2.0
#include "io/nbx_json_value.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/check.h"
#include "io/quote.h"

namespace nbx {
namespace {

using Json = nlohmann::json;

const Json& field(const Json& json, std::initializer_list<const char*> names, const std::string& where) {
  for (const char* name : names)
    if (const auto it = json.find(name); it != json.end()) return *it;
  fail(Code::file, "{}: field '{}' is missing in {}", where, *names.begin(), shown(json));
}

int64_t integer(const Json& json, const std::string& where) {
  const bool fits =
      json.is_number_integer() && (!json.is_number_unsigned() ||
                                   json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  require(fits, Code::file, "{}: {} is no integer of 64 bits", where, shown(json));
  return json.get<int64_t>();
}

std::string text(const Json& json, const std::string& where) {
  require(json.is_string(), Code::file, "{}: {} is no text", where, shown(json));
  return json.get<std::string>();
}

// "1j", "2.5", "1-2j", "(1+2j)" as Python prints them.
std::optional<std::complex<double>> parse_complex(std::string s) {
  if (s.size() >= 2 && s.front() == '(' && s.back() == ')') s = s.substr(1, s.size() - 2);
  const char* at = s.c_str();
  char* end = nullptr;
  const double first = std::strtod(at, &end);
  if (end == at) return {};
  if (*end == 'j' && end[1] == '\0') return std::complex<double>(0, first);
  if (*end == '\0') return std::complex<double>(first, 0);
  at = end;
  const double second = std::strtod(at, &end);
  if (end == at || *end != 'j' || end[1] != '\0') return {};
  return std::complex<double>(first, second);
}

std::optional<double> special_number(const std::string& s) {
  if (s == "inf") return std::numeric_limits<double>::infinity();
  if (s == "-inf") return -std::numeric_limits<double>::infinity();
  if (s == "nan") return std::numeric_limits<double>::quiet_NaN();
  return {};
}

Json number_to_json(double v) {
  if (std::isfinite(v)) return v;
  return {{"type", "float"}, {"value", std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf"}};
}

TensorRef tensor_of(const Json& json, const FindTensor& find, const std::string& where) {
  const std::string id = text(json, where + ".tensor_id");
  const auto found = find(id);
  require(found.has_value(), Code::file, "{}: tensor_id {} is not in 'tensors'", where, quote(id));
  return TensorRef{*found};
}

Value plain(const Json& json, const FindTensor& find, const std::string& where) {
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return integer(json, where);
  if (json.is_number_float()) return json.get<double>();
  const std::string s = text(json, where);
  if (const auto id = find(s)) return TensorRef{*id};
  return s;
}

// One list out of its elements: all tensors, all integers, numbers, or integers with symbols.
Value list_of(const Json& json, const FindTensor& find, const std::string& where) {
  require(json.is_array(), Code::file, "{}: {} is no list", where, shown(json));
  bool tensors = false, reals = false, symbols = false;
  std::vector<Value> elements;
  elements.reserve(json.size());
  for (const Json& element : json) {
    elements.push_back(value_from_json(element, find, where));
    tensors = tensors || std::holds_alternative<TensorRef>(elements.back());
    reals = reals || std::holds_alternative<double>(elements.back());
    symbols = symbols || std::holds_alternative<Sym>(elements.back());
  }
  TensorRefs refs;
  Ints ints;
  Doubles doubles;
  Syms syms;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Value& v = elements[i];
    const auto* n = std::get_if<int64_t>(&v);
    const auto* b = std::get_if<bool>(&v);
    bool good = true;
    if (tensors) {
      const auto* ref = std::get_if<TensorRef>(&v);
      good = ref || is_none(v);
      refs.push_back(ref ? *ref : TensorRef{});
    } else if (symbols) {
      const auto* sym = std::get_if<Sym>(&v);
      good = sym || n;
      if (sym) syms.push_back(*sym);
      if (!sym && n) {
        auto constant = std::make_shared<SymExpr>();
        constant->value = constant->trace = *n;
        syms.push_back(std::move(constant));
      }
    } else if (reals) {
      const auto* d = std::get_if<double>(&v);
      good = d || n;
      doubles.push_back(d ? *d : n ? static_cast<double>(*n) : 0);
    } else {
      good = n || b;
      ints.push_back(n ? *n : b ? *b : 0);
    }
    require(good, Code::file, "{}: element {} of the list, {}, does not go with the others", where, i, shown(json[i]));
  }
  if (tensors) return refs;
  if (symbols) return syms;
  if (reals) return doubles;
  return ints;
}

bool is_symbolic(const std::string& type) {
  for (const char* name : {"symbol", "product", "add", "sub", "mul", "floordiv", "mod", "neg", "const"})
    if (type == name) return true;
  return false;
}

}  // namespace

Sym symbol_from_json(const Json& json, const std::string& where) {
  auto out = std::make_shared<SymExpr>();
  if (json.is_number()) {
    out->value = out->trace = integer(json, where);
    return out;
  }
  if (json.is_string()) {
    out->kind = SymExpr::Kind::symbol;
    out->symbol = json.get<std::string>();
    return out;
  }
  require(json.is_object(), Code::file, "{}: {} is no extent", where, shown(json));
  const std::string type = text(field(json, {"type"}, where), where + ".type");
  for (const char* name : {"trace", "trace_value"})
    if (const auto it = json.find(name); it != json.end() && !it->is_null())
      out->trace = integer(*it, where + "." + name);
  const auto part = [&](const char* name) {
    out->args.push_back(symbol_from_json(field(json, {name}, where), where + "." + name));
  };
  using Kind = SymExpr::Kind;
  if (type == "const") {
    out->value = out->trace = integer(field(json, {"value"}, where), where + ".value");
  } else if (type == "symbol") {
    out->kind = Kind::symbol;
    out->symbol = text(field(json, {"symbol_id", "id", "name"}, where), where + ".symbol_id");
    const auto offset = json.find("offset");
    if (offset != json.end() && !offset->is_null() && integer(*offset, where + ".offset") != 0) {
      auto shift = std::make_shared<SymExpr>();
      shift->value = shift->trace = integer(*offset, where);
      auto sum = std::make_shared<SymExpr>();
      sum->kind = Kind::add;
      require(!__builtin_add_overflow(out->trace, shift->value, &sum->trace), Code::file,
              "{}: trace + offset does not fit into 64 bits", where);
      sum->args = {std::move(out), std::move(shift)};
      return sum;
    }
  } else if (type == "product") {
    out->kind = Kind::mul;
    const Json& factors = field(json, {"factors"}, where);
    require(factors.is_array() && !factors.empty(), Code::file, "{}: factors is {}", where, shown(factors));
    for (const Json& factor : factors) out->args.push_back(symbol_from_json(factor, where + ".factors"));
    if (out->args.size() == 1) return out->args[0];
  } else if (type == "neg") {
    out->kind = Kind::neg;
    part("operand");
  } else {
    require(is_symbolic(type), Code::file, "{}: unknown expression {}", where, quote(type));
    out->kind = type == "add"        ? Kind::add
                : type == "sub"      ? Kind::sub
                : type == "mul"      ? Kind::mul
                : type == "floordiv" ? Kind::floordiv
                                     : Kind::mod;
    part("left");
    part("right");
  }
  return out;
}

Json symbol_to_json(const Sym& symbol) {
  using Kind = SymExpr::Kind;
  const SymExpr& e = *symbol;
  const auto binary = [&](const char* type) {
    Json out = symbol_to_json(e.args.at(0));
    for (size_t i = 1; i < e.args.size(); ++i)
      out = {{"type", type}, {"left", std::move(out)}, {"right", symbol_to_json(e.args[i])}, {"trace", e.trace}};
    return out;
  };
  switch (e.kind) {
    case Kind::constant:
      return {{"type", "const"}, {"value", e.value}};
    case Kind::symbol:
      return {{"type", "symbol"}, {"symbol_id", e.symbol}, {"trace_value", e.trace}};
    case Kind::add:
      return binary("add");
    case Kind::sub:
      return binary("sub");
    case Kind::mul: {
      Json factors = Json::array();
      for (const Sym& factor : e.args) factors.push_back(symbol_to_json(factor));
      return {{"type", "product"}, {"factors", std::move(factors)}, {"trace_value", e.trace}};
    }
    case Kind::floordiv:
      return binary("floordiv");
    case Kind::mod:
      return binary("mod");
    case Kind::neg:
      return {{"type", "neg"}, {"operand", symbol_to_json(e.args.at(0))}, {"trace", e.trace}};
  }
  return nullptr;
}

Value value_from_json(const Json& json, const FindTensor& find, const std::string& where) {
  if (json.is_array()) return list_of(json, find, where);
  if (!json.is_object()) return plain(json, find, where);
  const std::string type = text(field(json, {"type"}, where), where + ".type");
  if (type == "tensor" || type == "tensor_ref") return tensor_of(field(json, {"tensor_id"}, where), find, where);
  if (type == "from_tensor") return FromTensor{tensor_of(field(json, {"tensor_id"}, where), find, where)};
  if (type == "tensor_tuple") {
    const Json& ids = field(json, {"tensor_ids"}, where);
    require(ids.is_array(), Code::file, "{}: tensor_ids is {}, not a list", where, shown(ids));
    TensorRefs refs;
    for (const Json& id : ids) refs.push_back(id.is_null() ? TensorRef{} : tensor_of(id, find, where));
    return refs;
  }
  if (type == "none" || type == "device" || type == "layout" || type == "memory_format") return None{};
  if (is_symbolic(type)) return symbol_from_json(json, where);
  const Json& value = field(json, {"value"}, where);
  if (type == "list" || type == "tuple") return list_of(value, find, where);
  if (type == "str") return text(value, where + ".value");
  if (type == "dtype") return parse_dtype(text(value, where + ".value"));
  if (type == "unknown") {
    const std::string s = text(value, where + ".value");
    if (s.rfind("torch.", 0) == 0) return parse_dtype(s);
    const auto number = parse_complex(s);
    require(number.has_value(), Code::file, "{}: {} is neither a dtype nor a complex number", where, quote(s));
    return *number;
  }
  require(type == "scalar" || type == "int" || type == "float" || type == "bool", Code::file, "{}: unknown type {}",
          where, quote(type));
  if (value.is_string() && type != "bool") {
    const auto special = special_number(value.get<std::string>());
    require(special.has_value(), Code::file, "{}: {} is no number", where, shown(value));
    return *special;
  }
  require(value.is_number() || value.is_boolean() || value.is_null(), Code::file, "{}: {} is no {}", where,
          shown(value), type);
  Value v = plain(value, find, where);
  if (type == "float")
    if (const auto* n = std::get_if<int64_t>(&v)) return static_cast<double>(*n);
  return v;
}

Json value_to_json(const Value& value, const std::vector<std::string>& ids) {
  struct Write {
    const std::vector<std::string>& ids;
    const std::string& id(TensorRef ref) const { return ids.at(static_cast<size_t>(ref.id)); }
    Json operator()(None) const { return {{"type", "none"}, {"value", nullptr}}; }
    Json operator()(bool v) const { return {{"type", "bool"}, {"value", v}}; }
    Json operator()(int64_t v) const { return {{"type", "int"}, {"value", v}}; }
    Json operator()(double v) const {
      const Json number = number_to_json(v);
      return number.is_object() ? number : Json{{"type", "float"}, {"value", v}};
    }
    Json operator()(const std::complex<double>& v) const {
      return {{"type", "unknown"}, {"value", fmt::format("({}{:+}j)", v.real(), v.imag())}};
    }
    Json operator()(const std::string& v) const { return {{"type", "str"}, {"value", v}}; }
    Json operator()(DType v) const { return {{"type", "dtype"}, {"value", std::string("torch.") + name(v)}}; }
    Json operator()(const Ints& v) const {
      return {{"type", "list"}, {"value", std::vector<int64_t>(v.begin(), v.end())}};
    }
    Json operator()(const Doubles& v) const {
      Json list = Json::array();
      for (const double d : v) list.push_back(number_to_json(d));
      return {{"type", "list"}, {"value", std::move(list)}};
    }
    Json operator()(TensorRef v) const {
      if (!v.defined()) return (*this)(None{});
      return {{"type", "tensor"}, {"tensor_id", id(v)}};
    }
    Json operator()(const TensorRefs& v) const {
      Json list = Json::array();
      for (const TensorRef ref : v) list.push_back(ref.defined() ? Json(id(ref)) : Json());
      return {{"type", "tensor_tuple"}, {"tensor_ids", std::move(list)}};
    }
    Json operator()(FromTensor v) const { return {{"type", "from_tensor"}, {"tensor_id", id(v.source)}}; }
    Json operator()(const Sym& v) const { return v ? symbol_to_json(v) : (*this)(None{}); }
    Json operator()(const Syms& v) const {
      Json list = Json::array();
      for (const Sym& s : v) list.push_back(symbol_to_json(s));
      return {{"type", "list"}, {"value", std::move(list)}};
    }
  };
  return std::visit(Write{ids}, value);
}

std::string to_base64(const std::vector<std::byte>& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<uint32_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out.push_back(k <= count ? kDigits[(group >> (18 - 6 * k)) & 63] : '=');
  }
  return out;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const auto digit = [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  std::vector<std::byte> out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const int value = pad ? 0 : digit(text[i]);
    if (value < 0) return {};
    group = group << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(group >> shift & 255));
    group = 0;
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace nbx
