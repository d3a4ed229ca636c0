// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "ops/elementwise/formula.h"
#include "ops/registry.h"

namespace nbx {

namespace pointwise {

namespace {

// Numbers keep their kind and all their digits.
std::string number_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
// Nothing for what a chain cannot hold.
std::optional<std::string> value_text(const Value& v, int inputs) {
  if (is_none(v)) return "None";
  if (const auto* b = std::get_if<bool>(&v)) return *b ? "True" : "False";
  if (const auto* i = std::get_if<int64_t>(&v)) return fmt::format("{}", *i);
  if (const auto* d = std::get_if<double>(&v)) return number_text(*d);
  if (const auto* t = std::get_if<DType>(&v)) return std::string(name(*t));
  if (const auto* s = std::get_if<std::string>(&v))
    return s->find_first_of("'\\;,") == std::string::npos ? std::optional("'" + *s + "'") : std::nullopt;
  if (const auto* r = std::get_if<TensorRef>(&v)) {
    if (!r->defined()) return "None";
    return r->id < inputs ? fmt::format("%{}", r->id) : fmt::format("v{}", r->id - inputs);
  }
  return std::nullopt;
}

std::optional<std::string> try_print(const Chain& chain) {
  std::string text;
  for (size_t i = 0; i < chain.calls.size(); ++i) {
    const Chain::Call& call = chain.calls[i];
    const Schema& schema = call.op->parsed;
    text += fmt::format("v{} = {}(", i, schema.full_name());
    bool first = true, skipped = false;
    for (size_t k = 0; k < call.values.size(); ++k) {
      const Param& p = schema.params[k];
      const auto value = value_text(call.values[k], chain.inputs);
      if (!value) return std::nullopt;
      if (p.has_default && value == value_text(p.default_value, chain.inputs)) {
        skipped = true;
        continue;
      }
      text += first ? "" : ", ";
      first = false;
      if (p.keyword_only || skipped) text += p.name + "=";
      text += *value;
    }
    text += "); ";
  }
  text += "return ";
  for (size_t i = 0; i < chain.results.size(); ++i) text += fmt::format("{}v{}", i ? ", " : "", chain.results[i]);
  return text;
}

class Parser {
 public:
  Parser(std::string_view text, int inputs) : text_(text) { chain_.inputs = inputs; }

  Chain parse() {
    for (;;) {
      if (take("return")) {
        do chain_.results.push_back(call_index());
        while (take(","));
        space();
        if (at_ != text_.size()) wrong("the end");
        return std::move(chain_);
      }
      if (!take(fmt::format("v{}", chain_.calls.size())) || !take("="))
        wrong(fmt::format("'v{} =' or 'return'", chain_.calls.size()));
      call();
      if (!take(";")) wrong("';'");
    }
  }

 private:
  [[noreturn]] void wrong(const std::string& wanted) const {
    fail(Code::value, "custom::pointwise: column {} of the program must be {}: {}", at_ + 1, wanted, text_);
  }
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string word(const char* what) {
    space();
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view("_.:+-").find(text_[at_]) != std::string_view::npos))
      ++at_;
    if (at_ == from) wrong(what);
    return std::string(text_.substr(from, at_ - from));
  }
  int integer(int limit) {
    int v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc() || v < 0 || v >= limit) wrong(fmt::format("a number below {}", limit));
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }
  int call_index() {
    if (!take("v")) wrong("a result 'v<number>'");
    return integer(static_cast<int>(chain_.calls.size()));
  }

  Value value() {
    space();
    if (take("%")) return TensorRef{integer(chain_.inputs)};
    if (take("'")) {
      const size_t end = text_.find('\'', at_);
      if (end == std::string_view::npos) wrong("a closing quote");
      std::string s(text_.substr(at_, end - at_));
      at_ = end + 1;
      return s;
    }
    const size_t from = at_;
    const std::string w = word("a value");
    if (w == "None") return None{};
    if (w == "True") return true;
    if (w == "False") return false;
    if (w.size() > 1 && w[0] == 'v' && std::isdigit(static_cast<unsigned char>(w[1]))) {
      at_ = from + 1;
      return TensorRef{chain_.inputs + integer(static_cast<int>(chain_.calls.size()))};
    }
    int64_t i = 0;
    if (const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), i);
        error == std::errc() && end == w.data() + w.size())
      return i;
    double d = 0;
    if (const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), d);
        error == std::errc() && end == w.data() + w.size())
      return d;
    return parse_dtype(w);
  }

  void call() {
    const std::string op_name = word("an op");
    const OpDecl& op = require_op(op_name);
    const Formula* formula = find_formula(op.parsed.full_name());
    require(formula && formula->pointwise, Code::unsupported, "custom::pointwise: {} is no pointwise op: {}", op_name,
            text_);
    if (!take("(")) wrong("'('");
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keywords;
    while (!take(")")) {
      if (!positional.empty() || !keywords.empty())
        if (!take(",")) wrong("',' or ')'");
      space();
      // A keyword is a parameter's name with a '='.
      std::string keyword;
      for (const Param& p : op.parsed.params) {
        const size_t from = at_;
        if (take(p.name) && take("=")) {
          keyword = p.name;
          break;
        }
        at_ = from;
      }
      if (keyword.empty())
        positional.push_back(value());
      else
        keywords.emplace_back(keyword, value());
    }
    chain_.calls.push_back({&op, bind_values(op.parsed, std::move(positional), std::move(keywords))});
  }

  std::string_view text_;
  size_t at_ = 0;
  Chain chain_;
};

// Tiles a chain keeps alive, without knowing dtypes: a call may need a few of its own for conversions and numbers.
int estimate_live(const Chain& chain) {
  constexpr int kOwn = 8;
  const size_t values = static_cast<size_t>(chain.inputs) + chain.calls.size();
  std::vector<size_t> first(values, SIZE_MAX), last(values, 0);
  int numbers = 0;
  for (size_t i = 0; i < chain.calls.size(); ++i) {
    first[static_cast<size_t>(chain.inputs) + i] = i;
    for (const Value& v : chain.calls[i].values) {
      numbers += std::holds_alternative<double>(v) || std::holds_alternative<int64_t>(v);
      const auto* r = std::get_if<TensorRef>(&v);
      if (!r || !r->defined()) continue;
      first[static_cast<size_t>(r->id)] = std::min(first[static_cast<size_t>(r->id)], i);
      last[static_cast<size_t>(r->id)] = i;
    }
  }
  for (const int r : chain.results) last[static_cast<size_t>(chain.inputs + r)] = chain.calls.size();
  std::vector<int> change(chain.calls.size() + 2, 0);
  int pinned = std::min(numbers, kPinned);
  for (size_t v = 0; v < values; ++v) {
    if (first[v] == SIZE_MAX) continue;
    // An input may turn out to be one number, which holds its tile throughout.
    ++change[first[v]];
    --change[std::max(first[v], last[v]) + 1];
  }
  int alive = 0, most = 0;
  for (const int c : change) most = std::max(most, alive += c);
  pinned += std::min(chain.inputs, kPinned - pinned);
  return most + pinned + kOwn;
}

}  // namespace

Chain parse_chain(std::string_view program, int inputs) { return Parser(program, inputs).parse(); }

std::string print_chain(const Chain& chain) {
  const auto text = try_print(chain);
  NBX_ASSERT(text.has_value());
  return *text;
}

}  // namespace pointwise

using pointwise::Chain;

bool can_join(const OpDecl& op, const Args& args) {
  const pointwise::Formula* formula = pointwise::find_formula(op.parsed.full_name());
  if (!formula || !formula->pointwise) return false;
  for (const Meta& m : args.operands())
    if (is_complex(m.dtype)) return false;
  return std::none_of(args.values().begin(), args.values().end(), [](const Value& v) {
    return std::holds_alternative<FromTensor>(v) || std::holds_alternative<Sym>(v) || std::holds_alternative<Syms>(v) ||
           std::holds_alternative<std::complex<double>>(v) || std::holds_alternative<TensorRefs>(v);
  });
}

std::optional<Fused> fuse(std::span<const ChainStep> steps, std::span<const int> results) {
  std::map<int, int> made;  // the caller's tensor → step
  Fused out;
  const auto input = [&](int id) {
    const auto at = std::find(out.inputs.begin(), out.inputs.end(), id);
    if (at != out.inputs.end()) return static_cast<int>(at - out.inputs.begin());
    out.inputs.push_back(id);
    return static_cast<int>(out.inputs.size()) - 1;
  };
  // Inputs are numbered first, so that results can follow them.
  std::vector<char> seen;
  for (const ChainStep& s : steps) {
    if (!can_join(*s.op, *s.args)) return std::nullopt;
    for (size_t i = 0; i < s.args->operands().size(); ++i)
      if (!s.args->operands()[i].weak && !made.count(s.in[i])) input(s.in[i]);
    made.emplace(s.out, static_cast<int>(made.size()));
  }
  Chain chain;
  chain.inputs = static_cast<int>(out.inputs.size());
  for (const ChainStep& s : steps) {
    Chain::Call call{s.op, s.args->values()};
    for (Value& v : call.values) {
      const auto* r = std::get_if<TensorRef>(&v);
      if (!r || !r->defined()) continue;
      const size_t at = static_cast<size_t>(r->id);
      const Meta& m = s.args->operands()[at];
      if (m.weak) {
        if (!m.known.defined()) return std::nullopt;
        if (m.dtype == DType::bool_)
          v = m.known.item_int() != 0;
        else if (is_integral(m.dtype))
          v = m.known.item_int();
        else
          v = m.known.item();
        continue;
      }
      const auto step = made.find(s.in[at]);
      v = TensorRef{step == made.end() ? input(s.in[at]) : chain.inputs + step->second};
    }
    chain.calls.push_back(std::move(call));
  }
  for (const int r : results) {
    const auto step = made.find(r);
    if (step == made.end()) return std::nullopt;
    chain.results.push_back(step->second);
  }
  if (chain.results.empty() || pointwise::estimate_live(chain) > pointwise::kMaxLive) return std::nullopt;
  auto text = pointwise::try_print(chain);
  if (!text) return std::nullopt;
  out.program = std::move(*text);
  return out;
}

}  // namespace nbx
