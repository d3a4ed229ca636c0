// SPDX-License-Identifier: Apache-2.0
// What the tests of the CPU kernels share: operands of any dtype, a target for the test's duration, float64 formulas.
#pragma once
#include "backend/activation_spec.h"
#include "backend/cpu/targets.h"

#include <gtest/gtest.h>
#include <nbx/dtype.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace nbx::kernel_test {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  float value() { return normal_(engine_); }
  std::vector<float> values(int64_t n) {
    std::vector<float> v(static_cast<size_t>(n));
    for (float& x : v) x = value();
    return v;
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<float> normal_;
};

// Elements of a dtype, and the same rounded to it as float64.
struct Operand {
  Operand(const std::vector<float>& values, DType type)
      : dtype(type), bytes(values.size() * static_cast<size_t>(itemsize(type))) {
    for (size_t i = 0; i < values.size(); ++i) {
      char* at = bytes.data() + i * static_cast<size_t>(itemsize(type));
      if (type == DType::bfloat16) {
        const bfloat16_t h = to_bfloat16(values[i]);
        std::memcpy(at, &h, 2);
        exact.push_back(to_float(h));
      } else if (type == DType::float16) {
        const float16_t h = to_float16(values[i]);
        std::memcpy(at, &h, 2);
        exact.push_back(to_float(h));
      } else {
        std::memcpy(at, &values[i], 4);
        exact.push_back(values[i]);
      }
    }
  }
  const void* data() const { return bytes.data(); }

  DType dtype;
  std::vector<char> bytes;
  std::vector<double> exact;
};

inline double read(const void* p, DType dtype, int64_t i) {
  if (dtype == DType::bfloat16) return to_float(static_cast<const bfloat16_t*>(p)[i]);
  if (dtype == DType::float16) return to_float(static_cast<const float16_t*>(p)[i]);
  return static_cast<const float*>(p)[i];
}

inline double unit(DType dtype) {
  return dtype == DType::bfloat16 ? 1.0 / 256 : dtype == DType::float16 ? 1.0 / 2048 : 0;
}

inline double activate(const ActivationSpec& s, double v) {
  switch (s.kind) {
    case ActivationKind::none:
      return v;
    case ActivationKind::relu:
      return v > 0 ? v : 0;
    case ActivationKind::clamp:
      return std::min(std::max(v, static_cast<double>(s.alpha)), static_cast<double>(s.beta));
    case ActivationKind::sigmoid:
      return 1 / (1 + std::exp(-v));
    case ActivationKind::silu:
      return v / (1 + std::exp(-v));
    case ActivationKind::gelu:
      return v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
    case ActivationKind::gelu_tanh:
      return v / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v)));
    case ActivationKind::hardsigmoid:
      return std::min(std::max(s.alpha * v + static_cast<double>(s.beta), 0.0), 1.0);
    case ActivationKind::hardswish:
      return v * std::min(std::max(v + 3, 0.0), 6.0) / 6;
    case ActivationKind::tanh:
      return std::tanh(v);
    case ActivationKind::leaky_relu:
      return v >= 0 ? v : v * static_cast<double>(s.alpha);
  }
  return v;
}

inline std::vector<ActivationSpec> all_activations() {
  return {{ActivationKind::none},
          {ActivationKind::relu},
          {ActivationKind::clamp, -0.5f, 1.5f},
          {ActivationKind::sigmoid},
          {ActivationKind::silu},
          {ActivationKind::gelu},
          {ActivationKind::gelu_tanh},
          {ActivationKind::hardsigmoid, 0.2f, 0.5f},
          {ActivationKind::hardswish},
          {ActivationKind::tanh},
          {ActivationKind::leaky_relu, 0.1f}};
}

// A test that runs once a target of this machine.
class EachTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_cpu_target(GetParam()); }
  void TearDown() override { set_cpu_target(""); }
};
#define NBX_EACH_TARGET(suite)                            \
  class suite : public ::nbx::kernel_test::EachTarget {}; \
  INSTANTIATE_TEST_SUITE_P(Targets, suite, testing::ValuesIn(::nbx::cpu_targets()))

}  // namespace nbx::kernel_test
