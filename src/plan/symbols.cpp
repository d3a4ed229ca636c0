// SPDX-License-Identifier: Apache-2.0
#include "plan/symbols.h"

#include <fmt/format.h>

#include "base/check.h"

namespace nbx {

namespace {

void check_bounds(const std::string& id, const Symbol& s, int64_t value, const Graph& graph) {
  const std::string source =
      s.input < 0 ? std::string("no input")
                  : fmt::format("{} {} of input '{}'", s.source == Symbol::Source::input_dim ? "dim" : "value", s.index,
                                graph.tensors[static_cast<size_t>(graph.inputs[static_cast<size_t>(s.input)])].name);
  const std::string label = s.name.empty() ? id : fmt::format("{} ({})", id, s.name);
  require(value >= s.min, Code::value, "symbol {} is {}, at least {} is allowed (from {})", label, value, s.min,
          source);
  require(value <= s.max, Code::value, "symbol {} is {}, at most {} is allowed (from {})", label, value, s.max, source);
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

class Evaluator {
 public:
  Evaluator(const Graph& graph, std::map<std::string, int64_t>& symbols,
            const std::function<const Tensor*(int)>& input_value)
      : graph_(graph), symbols_(symbols), input_value_(input_value) {}

  std::optional<int64_t> eval(const SymExpr& e, int depth = 0) {
    require(depth < 64, Code::value, "a symbolic expression is nested deeper than 64");
    using Kind = SymExpr::Kind;
    if (e.kind == Kind::constant) return e.value;
    if (e.kind == Kind::symbol) {
      const auto base = symbol(e.symbol);
      if (!base) return std::nullopt;
      return add(*base, e.value);
    }
    std::vector<int64_t> v;
    for (const Sym& a : e.args) {
      const auto part = eval(*a, depth + 1);
      if (!part) return std::nullopt;
      v.push_back(*part);
    }
    NBX_ASSERT(!v.empty());
    int64_t out = v[0];
    if (e.kind == Kind::neg) return sub(0, out);
    for (size_t i = 1; i < v.size(); ++i) {
      switch (e.kind) {
        case Kind::add:
          out = add(out, v[i]);
          break;
        case Kind::sub:
          out = sub(out, v[i]);
          break;
        case Kind::mul:
          require(!__builtin_mul_overflow(out, v[i], &out), Code::value, "a symbolic product exceeds 63 bits");
          break;
        case Kind::floordiv:
        case Kind::mod:
          require(v[i] != 0, Code::value, "a symbolic expression divides by 0: {}",
                  to_string(Value(std::make_shared<SymExpr>(e))));
          out = e.kind == Kind::floordiv ? floor_div(out, v[i]) : out - floor_div(out, v[i]) * v[i];
          break;
        default:
          break;
      }
    }
    return out;
  }

 private:
  static int64_t add(int64_t a, int64_t b) {
    require(!__builtin_add_overflow(a, b, &a), Code::value, "a symbolic sum exceeds 63 bits");
    return a;
  }
  static int64_t sub(int64_t a, int64_t b) {
    require(!__builtin_sub_overflow(a, b, &a), Code::value, "a symbolic difference exceeds 63 bits");
    return a;
  }
  std::optional<int64_t> symbol(const std::string& id) {
    if (const auto it = symbols_.find(id); it != symbols_.end()) return it->second;
    const auto it = graph_.symbols.find(id);
    require(it != graph_.symbols.end(), Code::value, "symbol '{}' is not defined in graph '{}'", id, graph_.name);
    const Symbol& s = it->second;
    require(s.source == Symbol::Source::input_value, Code::value, "symbol '{}' has no source to take its value from",
            id);
    const Tensor* t = input_value_(s.input);
    if (!t) return std::nullopt;
    const auto values = t->to_ints();
    const int64_t n = static_cast<int64_t>(values.size());
    const int64_t at = s.index < 0 ? s.index + n : s.index;
    require(at >= 0 && at < n, Code::index, "symbol '{}' reads element {} of an input with {}", id, s.index, n);
    require(s.floordiv != 0, Code::value, "symbol '{}' divides by 0", id);
    const int64_t value = floor_div(values[static_cast<size_t>(at)], s.floordiv);
    check_bounds(id, s, value, graph_);
    symbols_[id] = value;
    return value;
  }

  const Graph& graph_;
  std::map<std::string, int64_t>& symbols_;
  const std::function<const Tensor*(int)>& input_value_;
};

}  // namespace

void bind_dimension_symbols(const Graph& graph, const Metas& inputs, std::map<std::string, int64_t>& symbols) {
  for (const auto& [id, s] : graph.symbols) {
    if (s.source != Symbol::Source::input_dim) continue;
    NBX_ASSERT(s.input >= 0 && static_cast<size_t>(s.input) < inputs.size());
    const int64_t value = inputs[static_cast<size_t>(s.input)].dim(s.index);
    check_bounds(id, s, value, graph);
    symbols[id] = value;
  }
}

std::optional<Value> resolve_symbols(const Value& value, const Graph& graph, std::map<std::string, int64_t>& symbols,
                                     const std::function<const Tensor*(int input)>& input_value) {
  Evaluator evaluator(graph, symbols, input_value);
  if (const auto* one = std::get_if<Sym>(&value)) {
    const auto v = evaluator.eval(**one);
    return v ? std::optional<Value>(Value(*v)) : std::nullopt;
  }
  Ints out;
  for (const Sym& s : std::get<Syms>(value)) {
    const auto v = evaluator.eval(*s);
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return Value(out);
}

}  // namespace nbx
