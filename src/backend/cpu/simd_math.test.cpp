// SPDX-License-Identifier: Apache-2.0
// simd_math.h against float64 libm: random bit patterns, dense ranges, special values.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd_math.test.cpp"
#include <hwy/foreach_target.h>
#include "backend/cpu/targets.h"

#include "backend/cpu/simd_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// which: an index into kFunctions below.
void apply(int which, const float* x, const float* y, float* out, size_t n) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = simd::load(d, x + i, n - i);
    auto r = v;
    switch (which) {
      case 0:
        r = simd::exp(d, v);
        break;
      case 1:
        r = simd::expm1(d, v);
        break;
      case 2:
        r = simd::log(d, v);
        break;
      case 3:
        r = simd::log1p(d, v);
        break;
      case 4:
        r = simd::tanh(d, v);
        break;
      case 5:
        r = simd::sigmoid(d, v);
        break;
      case 6:
        r = simd::erf(d, v);
        break;
      case 7:
        r = simd::sin(d, v);
        break;
      case 8:
        r = simd::cos(d, v);
        break;
      default:
        r = simd::pow(d, v, simd::load(d, y + i, n - i));
        break;
    }
    simd::store(d, r, out + i, n - i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
namespace {

HWY_EXPORT(apply);

struct Function {
  const char* name;
  double (*exact)(double);
  float lo, hi;  // the dense range
};
const Function kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, -105, 90},
    {"expm1", [](double x) { return std::expm1(x); }, -20, 89},
    {"log", [](double x) { return std::log(x); }, 0, 4},
    {"log1p", [](double x) { return std::log1p(x); }, -1, 3},
    {"tanh", [](double x) { return std::tanh(x); }, -10, 10},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -105, 20},
    {"erf", [](double x) { return std::erf(x); }, -4.5f, 4.5f},
    {"sin", [](double x) { return std::sin(x); }, -40, 40},
    {"cos", [](double x) { return std::cos(x); }, -40, 40},
};

// Distance in units of the last place of the exact value's float32 neighbourhood; subnormals have a fixed unit.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const float rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // Near the overflow limit either side of the rounding is one step.
    return std::fabs(exact) < 3.4028240e38 && !std::isinf(got)
               ? 1e9
               : (std::fabs(exact) > 3.4028230e38 && std::fabs(exact) < 3.4028245e38 ? 1 : 1e9);
  }
  int exponent;
  std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - exact) / unit;
}

class SimdMath : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_cpu_target(GetParam()); }
  void TearDown() override { set_cpu_target(""); }
};
INSTANTIATE_TEST_SUITE_P(Targets, SimdMath, testing::ValuesIn(cpu_targets()));

std::vector<float> specials() {
  const float inf = std::numeric_limits<float>::infinity();
  return {0.0f,       -0.0f,           inf,           -inf,           std::numeric_limits<float>::quiet_NaN(),
          1.0f,       -1.0f,           1e-45f,        -1e-45f,        1e-40f,
          -1e-40f,    1.17549435e-38f, 3.4028235e38f, -3.4028235e38f, 88.7228394f,
          88.722836f, -87.33655f,      -103.97f,      -104.0f,        0.5f,
          2.0f,       1.4142135f,      0.70710678f,   16777216.0f,    1e10f,
          -1e10f,     3.14159274f,     1.57079637f,   710.0f,         0.99999994f,
          1.00000012f};
}

TEST_P(SimdMath, UnaryFunctionsAreWithinTwoAndAHalfUlp) {
  std::mt19937 random(1);
  for (int f = 0; f < 9; ++f) {
    std::vector<float> x = specials();
    for (int i = 0; i < 60000; ++i) {
      const uint32_t bits = static_cast<uint32_t>(random());
      float v;
      std::memcpy(&v, &bits, 4);
      x.push_back(v);
      x.push_back(std::uniform_real_distribution<float>(kFunctions[f].lo, kFunctions[f].hi)(random));
      x.push_back(std::uniform_real_distribution<float>(-1.0f, 1.0f)(random));
    }
    std::vector<float> y(x.size());
    HWY_DYNAMIC_DISPATCH(apply)(f, x.data(), x.data(), y.data(), x.size());
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = ulps(y[i], kFunctions[f].exact(x[i]));
      if (e > worst) worst = e, at = x[i];
    }
    RecordProperty(kFunctions[f].name, std::to_string(worst));
    EXPECT_LE(worst, 2.5) << kFunctions[f].name << " at " << at;
    if (f != 0 && f != 2 && f != 5 && f != 8) {
      EXPECT_TRUE(std::signbit(y[1])) << kFunctions[f].name << "(-0) must be -0";
    }
  }
}

TEST_P(SimdMath, PowIsWithinTwoUlp) {
  std::mt19937 random(2);
  std::vector<float> x, y;
  for (float a : specials())
    for (float b : specials()) x.push_back(a), y.push_back(b);
  for (float a : {-3.0f, -2.5f, -0.5f, 3.0f})
    for (float b : {2.0f, 3.0f, -3.0f, 0.0f, 0.5f, 8388609.0f, -1.0f, 1e9f}) x.push_back(a), y.push_back(b);
  for (int i = 0; i < 60000; ++i) {
    x.push_back(std::exp(std::uniform_real_distribution<float>(-80, 80)(random)));
    y.push_back(std::uniform_real_distribution<float>(-3, 3)(random));
    x.push_back(std::uniform_real_distribution<float>(0.9f, 1.1f)(random));
    y.push_back(std::uniform_real_distribution<float>(-900, 900)(random));
    x.push_back(-std::uniform_real_distribution<float>(0, 4)(random));
    y.push_back(static_cast<float>(static_cast<int>(random() % 13) - 6));
  }
  std::vector<float> out(x.size());
  HWY_DYNAMIC_DISPATCH(apply)(9, x.data(), y.data(), out.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps(out[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]))), 2) << x[i] << " ^ " << y[i];
}

}  // namespace
}  // namespace nbx
#endif
