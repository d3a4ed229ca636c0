// SPDX-License-Identifier: Apache-2.0
// Activations that a graph spells out become one call, which a GEMM or convolution then takes as its epilogue:
// hardswish, silu and both forms of gelu are a product of a number, x and one more factor that is made from x alone.
#include <algorithm>
#include <cmath>

#include "ops/elementwise/activation.h"
#include "ops/registry.h"
#include "plan/lowered.h"

namespace nbx {

namespace {

constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kTanhScale = 0.79788456080286536;
constexpr double kTanhCube = 0.044715;

// Constants of graphs are float32.
bool close(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

class Finder {
 public:
  Finder(std::vector<Step>& steps, const std::vector<Cell>& cells, const std::vector<char>& needed,
         const LowerOptions& options)
      : steps_(steps),
        cells_(cells),
        needed_(needed),
        options_(options),
        readers_(cells.size(), 0),
        maker_(cells.size(), -1),
        gone_(steps.size(), 0) {
    for (const Step& s : steps)
      for (const int c : s.in) ++readers_[root(c)];
  }

  void run() {
    for (size_t j = 0; j < steps_.size(); ++j) {
      if (steps_[j].out.size() == 1) maker_[static_cast<size_t>(steps_[j].out[0])] = static_cast<int>(j);
      if (is(steps_[j], "mul") || divides(steps_[j])) replace(j);
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (gone_[i]) continue;
      if (kept != i) steps_[kept] = std::move(steps_[i]);
      ++kept;
    }
    steps_.resize(kept);
  }

 private:
  // A product of cells and a number; `steps`: those that made it, the last one first.
  struct Terms {
    double number = 1;
    std::vector<int> cells;
    std::vector<int> steps;
  };

  size_t root(int c) const { return static_cast<size_t>(cells_[static_cast<size_t>(c)].root); }
  const Meta& meta(int c) const { return cells_[static_cast<size_t>(c)].meta; }

  static bool is(const Step& s, const char* op) {
    return s.op->parsed.space == "aten" && s.op->parsed.name == op && s.out.size() == 1;
  }
  // Float division; a rounding mode makes it another op.
  static bool divides(const Step& s) {
    if (s.out.size() != 1 || s.in.size() != 2) return false;
    if (s.op->parsed.full_name() == "custom::onnx_div") return true;
    return is(s, "div") && (s.op->parsed.find("rounding_mode") < 0 || !s.args.has("rounding_mode"));
  }

  // The step that makes c for one reader alone, element by element, in float32: halves round in between.
  const Step* inner(int c) const {
    const int i = maker_[static_cast<size_t>(c)];
    if (i < 0 || gone_[static_cast<size_t>(i)] || root(c) != static_cast<size_t>(c) || readers_[root(c)] != 1)
      return nullptr;
    if (static_cast<size_t>(c) < needed_.size() && needed_[static_cast<size_t>(c)]) return nullptr;
    return &steps_[static_cast<size_t>(i)];
  }
  std::optional<double> number(int c) const {
    const Meta& m = meta(c);
    if (!m.known.defined() || m.numel() != 1 || is_complex(m.dtype)) return std::nullopt;
    return m.known.item();
  }
  // s(x, number): its cell and number; `right`: the number must be the second.
  std::optional<std::pair<int, double>> with_number(const Step& s, bool right) const {
    if (s.in.size() != 2) return std::nullopt;
    for (const size_t k : {size_t{1}, size_t{0}}) {
      if (right && k == 0) break;
      const auto n = number(s.in[k]);
      if (n && meta(s.in[1 - k]).shape == meta(s.out[0]).shape) return std::pair(s.in[1 - k], *n);
    }
    return std::nullopt;
  }
  std::optional<std::pair<int, double>> plus_number(const Step& s) const {
    if (!is(s, "add") || s.in.size() != 2 || s.args.scalar("alpha").as_double() != 1.0) return std::nullopt;
    return with_number(s, false);
  }
  // f(x) with one operand.
  std::optional<int> unary(const Step* s, const char* op) const {
    if (!s || !is(*s, op) || s->in.size() != 1) return std::nullopt;
    return s->in[0];
  }

  void multiply(const Step& s, Terms& t) const {
    t.steps.push_back(maker_[static_cast<size_t>(s.out[0])]);
    if (const auto n = with_number(s, divides(s))) {
      t.number *= divides(s) ? 1 / n->second : n->second;
      return factor(n->first, t);
    }
    for (const int c : s.in) factor(c, t);
  }
  void factor(int c, Terms& t) const {
    const Step* s = inner(c);
    const bool more = s && t.cells.size() + t.steps.size() < 16 && s->in.size() == 2 &&
                      (is(*s, "mul") || (divides(*s) && with_number(*s, true)));
    if (more) return multiply(*s, t);
    t.cells.push_back(c);
  }
  Terms product(int c) const {
    Terms t;
    factor(c, t);
    return t;
  }

  // What t(x) is when the number is in front of x t(x); the steps that go with it join `spent`.
  const char* kind(int x, int other, double number, std::vector<int>& spent) const {
    const Step* s = inner(other);
    if (!s) return nullptr;
    const auto spend = [&](const Step* step) { spent.push_back(maker_[static_cast<size_t>(step->out[0])]); };
    spend(s);
    if (close(number, 1) && unary(s, "sigmoid") == x) return "aten::silu";
    if (const auto act = as_activation(*s->op, s->args)) {
      if (act->kind == ActivationKind::clamp && act->alpha == 0 && act->beta == 6 && close(number, 1.0 / 6)) {
        const Step* sum = inner(s->in[0]);
        const auto plus = sum ? plus_number(*sum) : std::nullopt;
        if (!plus || plus->first != x || !close(plus->second, 3)) return nullptr;
        spend(sum);
        return "aten::hardswish";
      }
      if (act->kind == ActivationKind::hardsigmoid && s->in[0] == x && close(number, 1) && close(act->alpha, 1.0 / 6) &&
          act->beta == 0.5f)
        return "aten::hardswish";
      return nullptr;
    }
    const auto plus = plus_number(*s);
    if (!plus || !close(plus->second, 1) || !close(number, 0.5)) return nullptr;
    const Step* f = inner(plus->first);
    if (!f) return nullptr;
    spend(f);
    const auto add = [&](const Terms& t) { spent.insert(spent.end(), t.steps.begin(), t.steps.end()); };
    if (const auto inside = unary(f, "erf")) {
      const Terms t = product(*inside);
      add(t);
      return t.cells == std::vector<int>{x} && close(t.number, kSqrtHalf) ? "gelu" : nullptr;
    }
    if (const auto inside = unary(f, "tanh")) {
      const Terms t = product(*inside);
      add(t);
      if (t.cells.size() != 1 || !close(t.number, kTanhScale)) return nullptr;
      const Step* sum = inner(t.cells[0]);
      if (!sum || !is(*sum, "add") || sum->in.size() != 2 || sum->args.scalar("alpha").as_double() != 1.0)
        return nullptr;
      spend(sum);
      if (sum->in[0] != x && sum->in[1] != x) return nullptr;
      const Terms cube = product(sum->in[sum->in[0] == x ? 1 : 0]);
      add(cube);
      return cube.cells == std::vector<int>{x, x, x} && close(cube.number, kTanhCube) ? "gelu_tanh" : nullptr;
    }
    return nullptr;
  }

  // x comes from a GEMM or convolution, perhaps with a bias: the activation will move into it.
  bool follows_product(int x) const {
    const Step* s = inner_or_shared(x);
    if (s && is(*s, "add"))
      for (const int c : s->in)
        if (const Step* p = inner_or_shared(c); p && p->op->with_epilogue) return true;
    return s && s->op->with_epilogue;
  }
  const Step* inner_or_shared(int c) const {
    const int i = maker_[static_cast<size_t>(c)];
    return i < 0 ? nullptr : &steps_[static_cast<size_t>(i)];
  }

  void replace(size_t j) {
    Step& last = steps_[j];
    if (last.in.size() != 2 || meta(last.out[0]).dtype != DType::float32) return;
    if (divides(last) && !with_number(last, true)) return;
    Terms t;
    multiply(last, t);
    if (t.cells.size() != 2) return;
    for (const int k : {0, 1}) {
      const int x = t.cells[static_cast<size_t>(k)];
      const Meta& from = meta(x);
      if (from.dtype != DType::float32 || from.shape != meta(last.out[0]).shape) continue;
      std::vector<int> spent = t.steps;
      const char* what = kind(x, t.cells[static_cast<size_t>(1 - k)], t.number, spent);
      if (!what) continue;
      // Alone it stays spelled out: far below zero 1 + tanh is 0, while the op's own form passes through subnormal
      // numbers, which cost a hundred cycles each.
      if (std::string_view(what) == "gelu_tanh" && !follows_product(x)) continue;
      const bool gelu = std::string_view(what).substr(0, 4) == "gelu";
      Step step;
      step.op = &require_op(gelu ? "aten::gelu" : what);
      step.in = {x};
      step.out = last.out;
      step.name = last.name + ":" + step.op->parsed.name;
      std::vector<std::pair<std::string, Value>> keywords;
      if (gelu) keywords.emplace_back("approximate", std::string(std::string_view(what) == "gelu" ? "none" : "tanh"));
      step.args = build_args(
          step.op->parsed, bind_values(step.op->parsed, {TensorRef{0}}, keywords), [&](TensorRef) { return from; },
          options_.packs);
      for (const int i : spent) gone_[static_cast<size_t>(i)] = 1;
      gone_[j] = 0;
      steps_[j] = std::move(step);
      return;
    }
  }

  std::vector<Step>& steps_;
  const std::vector<Cell>& cells_;
  const std::vector<char>& needed_;
  const LowerOptions& options_;
  std::vector<int> readers_;  // root cell → operands that read it
  std::vector<int> maker_;    // cell → step
  std::vector<char> gone_;
};

}  // namespace

void find_activations(std::vector<Step>& steps, const std::vector<Cell>& cells, const std::vector<char>& needed,
                      const LowerOptions& options) {
  Finder(steps, cells, needed, options).run();
}

}  // namespace nbx
