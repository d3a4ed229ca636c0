// SPDX-License-Identifier: Apache-2.0
#include "ops/schema.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/check.h"

namespace nbx {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema s;
    s.text = std::string(text_);
    s.space = word("a namespace");
    expect("::");
    s.name = word("an op name");
    if (take(".")) s.overload = word("an overload");
    expect("(");
    bool keyword_only = false;
    while (!take(")")) {
      if (take("*")) {
        keyword_only = true;
      } else {
        s.params.push_back(param(keyword_only));
      }
      if (peek() != ')') expect(",");
    }
    expect("->");
    if (take("(")) {
      while (!take(")")) {
        s.returns.push_back(result());
        if (peek() != ')') expect(",");
      }
    } else {
      s.returns.push_back(result());
    }
    skip();
    if (at_ != text_.size()) error("the end");
    return s;
  }

 private:
  [[noreturn]] void error(const char* wanted) const {
    fail(Code::value, "schema '{}': expected {} at column {}", text_, wanted, at_ + 1);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) error(std::string(token).c_str());
  }
  std::string word(const char* what) {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (at_ == begin) error(what);
    return std::string(text_.substr(begin, at_ - begin));
  }

  struct Type {
    ParamType type;
    bool optional = false, elements_optional = false;
    int list_size = 0;
  };
  Type type() {
    const std::string base = word("a type");
    Type t{};
    bool element_optional = take("?");
    if (take("(")) {  // alias annotation: Tensor(a!)
      while (peek() != ')') {
        if (at_ >= text_.size()) error(")");
        ++at_;
      }
      expect(")");
      element_optional = element_optional || take("?");
    }
    bool list = false;
    if (take("[")) {
      list = true;
      skip();
      const size_t begin = at_;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (at_ > begin) t.list_size = std::atoi(std::string(text_.substr(begin, at_ - begin)).c_str());
      expect("]");
      t.elements_optional = element_optional;
      t.optional = take("?");
    } else {
      t.optional = element_optional;
    }
    struct Row {
      std::string_view name;
      ParamType one;
      std::optional<ParamType> many;
    };
    static constexpr auto no = std::nullopt;
    static const Row rows[] = {
        {"Tensor", ParamType::tensor, ParamType::tensors},
        {"Scalar", ParamType::scalar, no},
        {"int", ParamType::integer, ParamType::integers},
        {"SymInt", ParamType::integer, ParamType::integers},
        {"float", ParamType::number, ParamType::numbers},
        {"bool", ParamType::boolean, ParamType::booleans},
        {"str", ParamType::string, no},
        {"ScalarType", ParamType::dtype, no},
    };
    for (const Row& row : rows) {
      if (row.name != base) continue;
      if (list && !row.many) error("a type that can be a list");
      t.type = list ? *row.many : row.one;
      return t;
    }
    error("a known type (Tensor, Scalar, int, float, bool, str, ScalarType)");
  }

  Value default_value(const Type& t) {
    if (take("None")) return None{};
    if (take("True")) return true;
    if (take("False")) return false;
    if (take("inf")) return std::numeric_limits<double>::infinity();
    if (take("-inf")) return -std::numeric_limits<double>::infinity();
    if (take("nan")) return std::nan("");
    if (peek() == '\'' || peek() == '"') {
      const char quote = text_[at_++];
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != quote) ++at_;
      if (at_ >= text_.size()) error("a closing quote");
      std::string out(text_.substr(begin, at_ - begin));
      ++at_;
      return out;
    }
    if (take("[")) {
      Ints values;
      while (!take("]")) {
        const Value v = number();
        if (!std::holds_alternative<int64_t>(v)) error("an integer");
        values.push_back(std::get<int64_t>(v));
        if (peek() != ']') expect(",");
      }
      if (t.type == ParamType::numbers) return Doubles(values.begin(), values.end());
      return values;
    }
    Value v = number();
    if (t.type == ParamType::integers && std::holds_alternative<int64_t>(v))
      return Ints(static_cast<size_t>(t.list_size ? t.list_size : 1), std::get<int64_t>(v));
    if (t.type == ParamType::number && std::holds_alternative<int64_t>(v))
      return static_cast<double>(std::get<int64_t>(v));
    return v;
  }
  Value number() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.' ||
                                  text_[at_] == '-' || text_[at_] == '+'))
      ++at_;
    const std::string s(text_.substr(begin, at_ - begin));
    char* end = nullptr;
    if (s.find_first_of(".e") == std::string::npos) {
      const long long v = std::strtoll(s.c_str(), &end, 10);
      if (!s.empty() && *end == '\0') return static_cast<int64_t>(v);
    } else {
      const double v = std::strtod(s.c_str(), &end);
      if (*end == '\0') return v;
    }
    at_ = begin;
    error("a default value");
  }

  Param param(bool keyword_only) {
    const Type t = type();
    Param p;
    p.type = t.type;
    p.optional = t.optional;
    p.elements_optional = t.elements_optional;
    p.list_size = t.list_size;
    p.keyword_only = keyword_only;
    p.name = word("a parameter name");
    if (take("=")) {
      p.has_default = true;
      p.default_value = default_value(t);
    }
    return p;
  }
  Return result() {
    const Type t = type();
    Return r{t.type, {}};
    const char next = peek();
    if (next != ',' && next != ')' && next != '\0') r.name = word("a result name");
    return r;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string Schema::full_name() const { return space + "::" + name + (overload.empty() ? "" : "." + overload); }

int Schema::find(std::string_view param) const {
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].name == param) return static_cast<int>(i);
  return -1;
}

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace nbx
