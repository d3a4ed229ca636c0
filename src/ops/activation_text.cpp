// SPDX-License-Identifier: Apache-2.0
#include "ops/activation_text.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace nbx {

namespace {

struct Row {
  ActivationKind kind;
  const char* name;
};
constexpr Row kRows[] = {
    {ActivationKind::none, "none"},
    {ActivationKind::relu, "relu"},
    {ActivationKind::clamp, "clamp"},
    {ActivationKind::sigmoid, "sigmoid"},
    {ActivationKind::silu, "silu"},
    {ActivationKind::gelu, "gelu"},
    {ActivationKind::gelu_tanh, "gelu_tanh"},
    {ActivationKind::hardsigmoid, "hardsigmoid"},
    {ActivationKind::hardswish, "hardswish"},
    {ActivationKind::tanh, "tanh"},
    {ActivationKind::leaky_relu, "leaky_relu"},
};

}  // namespace

const char* activation_name(ActivationKind kind) {
  for (const Row& r : kRows)
    if (r.kind == kind) return r.name;
  return "none";
}

ActivationKind parse_activation(const std::string& text) {
  std::string known;
  for (const Row& r : kRows) {
    if (text == r.name) return r.kind;
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  fail(Code::value, "unknown activation '{}'; known ones: {}", text, known);
}

ActivationSpec activation_of(const Args& args) {
  return {parse_activation(args.text("activation")), static_cast<float>(args.number("act_alpha")),
          static_cast<float>(args.number("act_beta"))};
}

double activate(const ActivationSpec& s, double x) {
  const double alpha = s.alpha, beta = s.beta;
  const auto clamp = [](double v, double low, double high) {
    return std::isnan(v) ? v : std::min(std::max(v, low), high);
  };
  switch (s.kind) {
    case ActivationKind::none:
      return x;
    case ActivationKind::relu:
      return x > 0 || std::isnan(x) ? x : 0;
    case ActivationKind::clamp:
      return clamp(x, alpha, beta);
    case ActivationKind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::silu:
      return x / (1 + std::exp(-x));
    case ActivationKind::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case ActivationKind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case ActivationKind::hardsigmoid:
      return clamp(alpha * x + beta, 0, 1);
    case ActivationKind::hardswish:
      return x * clamp(x + 3, 0, 6) / 6;
    case ActivationKind::tanh:
      return std::tanh(x);
    case ActivationKind::leaky_relu:
      return x >= 0 ? x : alpha * x;
  }
  return x;
}

}  // namespace nbx
