// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/einsum/equation.h"

#include <algorithm>
#include <map>

namespace nbx::einsum {

namespace {

constexpr char kEllipsis = '.';

// "a...b" as letters with one '.' for the ellipsis.
std::string term_of(const std::string& equation, const std::string& text) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      require(text.compare(i, 3, "...") == 0 && term.find(kEllipsis) == std::string::npos, Code::value,
              "einsum: '{}': '.' stands only in one '...' a term", equation);
      i += 2;
    } else {
      require((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), Code::value, "einsum: '{}': '{}' is no letter",
              equation, std::string(1, c));
    }
    term.push_back(c);
  }
  return term;
}

struct Terms {
  std::vector<std::string> operands;
  std::string result;
};

Terms terms_of(const std::string& equation) {
  Terms t;
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  for (size_t at = 0;;) {
    const size_t comma = left.find(',', at);
    t.operands.push_back(term_of(equation, left.substr(at, comma == std::string::npos ? comma : comma - at)));
    if (comma == std::string::npos) break;
    at = comma + 1;
  }
  if (arrow != std::string::npos) {
    t.result = term_of(equation, equation.substr(arrow + 2));
    return t;
  }
  std::map<char, int> count;  // ordered: '.' before the letters
  for (const std::string& term : t.operands)
    for (const char c : term) ++count[c];
  for (const auto& [c, n] : count)
    if (c == kEllipsis || n == 1) t.result.push_back(c);
  return t;
}

}  // namespace

Shape Equation::shape() const {
  Shape s;
  for (const int label : out) s.push_back(extent[static_cast<size_t>(label)]);
  return s;
}

int64_t Equation::points() const {
  Shape all;
  for (const int64_t e : extent) all.push_back(e);
  return numel(all);
}

Equation bind_equation(const Args& a) {
  const std::string equation = a.text("equation");
  const std::vector<const Meta*> operands = a.tensors("tensors");
  const Terms terms = terms_of(equation);
  require(!operands.empty() && terms.operands.size() == operands.size(), Code::value,
          "einsum: '{}' has {} terms for {} operands", equation, terms.operands.size(), operands.size());
  Equation e;
  e.dtype = operands[0]->dtype;
  int64_t hidden = 0;  // dims under the widest ellipsis
  for (size_t i = 0; i < operands.size(); ++i) {
    const Meta& m = *operands[i];
    require(m.dtype == e.dtype, Code::dtype,
            "einsum: operands must have one dtype, the first is {}, number {} is {}; convert one of them",
            to_string(*operands[0]), i, to_string(m));
    const std::string& term = terms.operands[i];
    const bool open = term.find(kEllipsis) != std::string::npos;
    const int64_t named = static_cast<int64_t>(term.size()) - (open ? 1 : 0);
    require(open ? named <= m.rank() : named == m.rank(), Code::shape,
            "einsum: '{}': term {} has {} letters, operand {} is {}", equation, i, named, i, to_string(m));
    if (open) hidden = std::max(hidden, m.rank() - named);
  }
  require(!is_complex(e.dtype), Code::unsupported, "einsum: complex operands ({}) are not supported",
          to_string(*operands[0]));

  std::map<char, int> labels;
  e.extent.assign(static_cast<size_t>(hidden), 1);
  for (const std::string& term : terms.operands)
    for (const char c : term)
      if (c != kEllipsis && labels.emplace(c, static_cast<int>(e.extent.size())).second) e.extent.push_back(1);

  for (size_t i = 0; i < operands.size(); ++i) {
    const Meta& m = *operands[i];
    Strides strides(e.extent.size(), 0);
    std::vector<bool> has(e.extent.size(), false);
    std::vector<int64_t> own(e.extent.size(), -1);
    const auto take = [&](int label, int64_t dim) {
      const size_t l = static_cast<size_t>(label);
      const int64_t n = m.shape[static_cast<size_t>(dim)];
      // A letter twice in one term is a diagonal: no broadcasting there.
      require(own[l] < 0 || own[l] == n, Code::shape,
              "einsum: '{}': operand {} ({}) has extents {} and {} under one letter", equation, i, to_string(m), own[l],
              n);
      own[l] = n;
      require(n == 1 || e.extent[l] == 1 || e.extent[l] == n, Code::shape,
              "einsum: '{}': dim {} of operand {} ({}) is {}, operands before it have {} there", equation, dim, i,
              to_string(m), n, e.extent[l]);
      if (n != 1) e.extent[l] = n;
      if (n != 1) strides[l] += m.strides[static_cast<size_t>(dim)];
      has[l] = true;
    };
    const std::string& term = terms.operands[i];
    int64_t dim = 0;
    for (const char c : term) {
      if (c != kEllipsis) {
        take(labels.at(c), dim++);
        continue;
      }
      const int64_t own_hidden = m.rank() - static_cast<int64_t>(term.size()) + 1;
      for (int64_t h = hidden - own_hidden; h < hidden; ++h) take(static_cast<int>(h), dim++);
    }
    e.strides.push_back(strides);
    e.has.push_back(has);
  }

  std::vector<bool> kept(e.extent.size(), false);
  for (const char c : terms.result) {
    const auto found = labels.find(c);
    require(c == kEllipsis || found != labels.end(), Code::value, "einsum: '{}': '{}' of the result is in no operand",
            equation, std::string(1, c));
    for (int label = c == kEllipsis ? 0 : found->second;
         label < (c == kEllipsis ? static_cast<int>(hidden) : found->second + 1); ++label) {
      require(!kept[static_cast<size_t>(label)], Code::value, "einsum: '{}': '{}' is twice in the result", equation,
              std::string(1, c));
      kept[static_cast<size_t>(label)] = true;
      e.out.push_back(label);
    }
  }
  for (size_t l = 0; l < kept.size(); ++l)
    if (!kept[l]) e.summed.push_back(static_cast<int>(l));
  e.points();  // refuses what does not fit into 63 bits
  return e;
}

}  // namespace nbx::einsum
