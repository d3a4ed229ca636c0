// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/activation.h"

#include <limits>
#include <map>

namespace nbx {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A bound of clamp: its number, `absent` when there is none; nothing when it is a tensor that is not known.
std::optional<float> bound(const Args& args, const char* param, float absent) {
  if (args.schema().find(param) < 0 || !args.has(param)) return absent;
  if (std::holds_alternative<TensorRef>(args.value(param))) {
    const Meta& m = args.tensor(param);
    if (!m.known.defined() || m.known.numel() != 1 || is_complex(m.dtype)) return std::nullopt;
  }
  return static_cast<float>(args.scalar(param).as_double());
}

std::optional<ActivationSpec> clamped(std::optional<float> low, std::optional<float> high) {
  if (!low || !high || *low != *low || *high != *high) return std::nullopt;
  return ActivationSpec{ActivationKind::clamp, *low, *high};
}

}  // namespace

std::optional<ActivationSpec> as_activation(const OpDecl& op, const Args& args) {
  if (!is_floating(args.operands().empty() ? DType::bool_ : args.operands().front().dtype)) return std::nullopt;
  static const std::map<std::string, ActivationKind> plain = {
      {"relu", ActivationKind::relu}, {"sigmoid", ActivationKind::sigmoid},     {"silu", ActivationKind::silu},
      {"tanh", ActivationKind::tanh}, {"hardswish", ActivationKind::hardswish},
  };
  const Schema& schema = op.parsed;
  if (schema.space == "custom") {
    if (schema.name == "hard_sigmoid")
      return ActivationSpec{ActivationKind::hardsigmoid, static_cast<float>(args.scalar("alpha").as_double()),
                            static_cast<float>(args.scalar("beta").as_double())};
    return std::nullopt;
  }
  const auto found = plain.find(schema.name);
  if (found != plain.end()) return ActivationSpec{found->second};
  if (schema.name == "hardsigmoid") return ActivationSpec{ActivationKind::hardsigmoid, 1.0f / 6, 0.5f};
  if (schema.name == "gelu")
    return ActivationSpec{args.text("approximate") == "tanh" ? ActivationKind::gelu_tanh : ActivationKind::gelu};
  if (schema.name == "leaky_relu")
    return ActivationSpec{ActivationKind::leaky_relu, static_cast<float>(args.scalar("negative_slope").as_double())};
  if (schema.name == "relu6") return ActivationSpec{ActivationKind::clamp, 0.0f, 6.0f};
  if (schema.name == "hardtanh") return clamped(bound(args, "min_val", 0), bound(args, "max_val", 0));
  if (schema.name == "clamp") return clamped(bound(args, "min", -kInfinity), bound(args, "max", kInfinity));
  if (schema.name == "clamp_min") return clamped(bound(args, "min", -kInfinity), kInfinity);
  if (schema.name == "clamp_max") return clamped(-kInfinity, bound(args, "max", kInfinity));
  return std::nullopt;
}

}  // namespace nbx
