// SPDX-License-Identifier: Apache-2.0
#include "ops/value.h"

#include <fmt/format.h>

#include <cmath>

namespace nbx {

namespace {

std::string sym_text(const SymExpr& e) {
  using Kind = SymExpr::Kind;
  const auto joined = [&](const char* with) {
    std::string out = "(";
    for (size_t i = 0; i < e.args.size(); ++i) out += (i ? with : "") + sym_text(*e.args[i]);
    return out + ")";
  };
  switch (e.kind) {
    case Kind::constant:
      return fmt::format("{}", e.value);
    case Kind::symbol:
      return e.symbol;
    case Kind::add:
      return joined(" + ");
    case Kind::sub:
      return joined(" - ");
    case Kind::mul:
      return joined(" * ");
    case Kind::floordiv:
      return joined(" // ");
    case Kind::mod:
      return joined(" % ");
    case Kind::neg:
      return "-" + joined("");
  }
  return "?";
}

struct Text {
  std::string operator()(None) const { return "None"; }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::complex<double>& v) const { return fmt::format("({}{:+}j)", v.real(), v.imag()); }
  std::string operator()(const std::string& v) const { return "'" + v + "'"; }
  std::string operator()(DType v) const { return name(v); }
  std::string operator()(const Ints& v) const { return nbx::to_string(v); }
  std::string operator()(const Doubles& v) const {
    std::string out = "[";
    for (size_t i = 0; i < v.size(); ++i) out += fmt::format("{}{}", i ? ", " : "", v[i]);
    return out + "]";
  }
  std::string operator()(TensorRef v) const { return v.defined() ? fmt::format("%{}", v.id) : "None"; }
  std::string operator()(const TensorRefs& v) const {
    std::string out = "[";
    for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + (*this)(v[i]);
    return out + "]";
  }
  std::string operator()(FromTensor v) const { return fmt::format("values(%{})", v.source.id); }
  std::string operator()(const Sym& v) const { return v ? sym_text(*v) : "None"; }
  std::string operator()(const Syms& v) const {
    std::string out = "[";
    for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + (*this)(v[i]);
    return out + "]";
  }
};

}  // namespace

std::string to_string(const Value& value) { return std::visit(Text{}, value); }

double Scalar::as_double() const {
  return std::visit(
      [](const auto& v) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::complex<double>>)
          return v.real();
        else
          return static_cast<double>(v);
      },
      value);
}

int64_t Scalar::as_int() const {
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  const double d = std::trunc(as_double());
  if (std::isnan(d)) return 0;
  if (d >= 9223372036854775807.0) return INT64_MAX;
  if (d <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(d);
}

Category Scalar::category() const {
  static constexpr Category by_index[] = {Category::boolean, Category::integral, Category::floating, Category::complex};
  return by_index[value.index()];
}

}  // namespace nbx
