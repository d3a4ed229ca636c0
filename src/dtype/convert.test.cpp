// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/dtype.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace nbx {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A format's values from its definition: sign, `exponent` bits with this bias, `mantissa` bits.
struct Layout {
  int exponent, mantissa, bias;
  bool has_infinity;  // else the top exponent holds numbers, and only all ones is NaN
};
constexpr Layout kHalf{5, 10, 15, true}, kBrain{8, 7, 127, true}, kE5m2{5, 2, 15, true}, kE4m3fn{4, 3, 7, false};

double defined_value(unsigned bits, Layout f) {
  const unsigned mantissa = bits & ((1u << f.mantissa) - 1), exponent = (bits >> f.mantissa) & ((1u << f.exponent) - 1);
  const unsigned top = (1u << f.exponent) - 1;
  const double sign = bits >> (f.mantissa + f.exponent) & 1 ? -1 : 1;
  if (exponent == top && f.has_infinity) return mantissa == 0 ? sign * HUGE_VAL : NAN;
  if (exponent == top && mantissa == (1u << f.mantissa) - 1) return NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa);
  return sign * std::ldexp((1u << f.mantissa) + mantissa, static_cast<int>(exponent) - f.bias - f.mantissa);
}

TEST(Convert, EveryHalfPatternWidensToItsDefinedValueAndComesBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float wide = to_float(float16_t{static_cast<uint16_t>(bits)});
    const double expected = defined_value(bits, kHalf);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_EQ(to_float16(wide).bits, 0x7e00 | (bits & 0x8000)) << bits;
      continue;
    }
    ASSERT_EQ(wide, expected) << bits;
    ASSERT_EQ(std::signbit(wide), bits >> 15 == 1) << bits;
    ASSERT_EQ(to_float16(wide).bits, bits);
    ASSERT_EQ(to_float16(static_cast<double>(wide)).bits, bits);
  }
}

TEST(Convert, EveryBfloat16PatternWidensToItsDefinedValueAndComesBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float wide = to_float(bfloat16_t{static_cast<uint16_t>(bits)});
    const double expected = defined_value(bits, kBrain);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_EQ(to_bfloat16(wide).bits, 0x7fc0) << bits;
      continue;
    }
    ASSERT_EQ(wide, expected) << bits;
    ASSERT_EQ(to_bfloat16(wide).bits, bits);
    ASSERT_EQ(to_bfloat16(static_cast<double>(wide)).bits, bits);
  }
}

TEST(Convert, EveryFloat8PatternWidensToItsDefinedValueAndComesBack) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<uint8_t>(bits);
    const double e4 = defined_value(bits, kE4m3fn), e5 = defined_value(bits, kE5m2);
    const float wide4 = to_float(float8_e4m3fn_t{byte}), wide5 = to_float(float8_e5m2_t{byte});
    if (std::isnan(e4)) {
      EXPECT_TRUE(std::isnan(wide4)) << bits;
    } else {
      EXPECT_EQ(wide4, e4) << bits;
      EXPECT_EQ(to_float8_e4m3fn(wide4).bits, bits);
    }
    if (std::isnan(e5)) {
      EXPECT_TRUE(std::isnan(wide5)) << bits;
    } else {
      EXPECT_EQ(wide5, e5) << bits;
      EXPECT_EQ(to_float8_e5m2(wide5).bits, bits);
    }
  }
}

// Nearest of all finite patterns to `v`, ties to the even one; the overflow rule is tested apart.
unsigned nearest(double v, unsigned patterns, Layout f) {
  unsigned best = 0;
  double distance = HUGE_VAL;
  for (unsigned bits = 0; bits < patterns; ++bits) {
    const double candidate = defined_value(bits, f);
    if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(v)) continue;
    const double d = std::fabs(candidate - v);
    if (d < distance || (d == distance && (bits & 1) == 0)) {
      distance = d;
      best = bits;
    }
  }
  return best;
}

TEST(Convert, NarrowingToFloat8TakesTheNearestValueAndTheEvenOneOnATie) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-12, 8), mantissa(-2, 2);
  for (int i = 0; i < 3000; ++i) {
    float v = std::ldexp(mantissa(random), static_cast<int>(exponent(random)));
    if (i % 3 == 0)
      v = (to_float(float8_e4m3fn_t{static_cast<uint8_t>(i % 126)}) +
           to_float(float8_e4m3fn_t{static_cast<uint8_t>(i % 126 + 1)})) /
          2;  // an exact tie
    if (std::fabs(v) > 448) continue;
    ASSERT_EQ(to_float8_e4m3fn(v).bits, nearest(v, 256, kE4m3fn)) << v;
    ASSERT_EQ(to_float8_e5m2(v).bits, nearest(v, 256, kE5m2)) << v;
  }
}

TEST(Convert, NarrowingToHalfRoundsTiesToEvenBetweenAllNeighbours) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {  // every positive finite pattern and its successor
    const float low = to_float(float16_t{static_cast<uint16_t>(bits)});
    const float high = to_float(float16_t{static_cast<uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;  // exact in float32
    ASSERT_EQ(to_float16(middle).bits, bits + (bits & 1)) << bits;
    ASSERT_EQ(to_float16(std::nextafter(middle, kInf)).bits, bits + 1) << bits;
    ASSERT_EQ(to_float16(std::nextafter(middle, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(to_float16(-middle).bits, 0x8000 | (bits + (bits & 1))) << bits;
  }
}

TEST(Convert, NarrowingToBfloat16RoundsTiesToEvenBetweenAllNeighbours) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const float middle = std::bit_cast<float>((bits << 16) | 0x8000u);
    ASSERT_EQ(to_bfloat16(middle).bits, bits + (bits & 1)) << bits;
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>((bits << 16) | 0x8001u)).bits, bits + 1) << bits;
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>((bits << 16) | 0x7fffu)).bits, bits) << bits;
  }
}

TEST(Convert, ADoubleIsRoundedOnceNotTwice) {
  // Just above a tie of the narrow format, but on the tie when rounded to float first: the float's tie would go to
  // even.
  const double half_tie = 1 + std::ldexp(1, -11), above = half_tie + std::ldexp(1, -40);
  EXPECT_EQ(to_float16(above).bits, 0x3c01);
  EXPECT_EQ(to_float16(static_cast<float>(above)).bits, 0x3c00);
  EXPECT_EQ(to_float16(half_tie).bits, 0x3c00);
  const double brain_tie = 1 + std::ldexp(1, -8);
  EXPECT_EQ(to_bfloat16(brain_tie + std::ldexp(1, -40)).bits, 0x3f81);
  EXPECT_EQ(to_bfloat16(-brain_tie - std::ldexp(1, -40)).bits, 0xbf81);
  EXPECT_EQ(to_bfloat16(brain_tie).bits, 0x3f80);
  EXPECT_EQ(to_float16(std::ldexp(1, -25)).bits, 0);  // a tie with zero
  EXPECT_EQ(to_float16(std::ldexp(1, -25) * (1 + std::ldexp(1, -50))).bits, 1);
}

TEST(Convert, OverflowAndSpecialValuesFollowTheFormat) {
  EXPECT_EQ(to_float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);  // the tie rounds to infinity
  EXPECT_EQ(to_float16(-kInf).bits, 0xfc00);
  EXPECT_EQ(to_float16(1e300).bits, 0x7c00);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bfloat16(-1e300).bits, 0xff80);
  EXPECT_EQ(to_bfloat16(-kNan).bits, 0x7fc0);  // one NaN
  EXPECT_EQ(to_float16(static_cast<double>(kNan)).bits & 0x7fff, 0x7e00);

  EXPECT_EQ(to_float8_e4m3fn(464.0f).bits, 0x7e);  // a tie, to the even 448
  EXPECT_EQ(to_float8_e4m3fn(464.1f).bits, 0x7f);  // no infinity: NaN
  EXPECT_EQ(to_float8_e4m3fn(kInf).bits, 0x7f);
  EXPECT_EQ(to_float8_e4m3fn(-kInf).bits, 0xff);
  EXPECT_EQ(to_float8_e4m3fn(-0.0f).bits, 0x80);
  EXPECT_EQ(to_float8_e5m2(57344.0f).bits, 0x7b);
  EXPECT_EQ(to_float8_e5m2(61440.0f).bits, 0x7c);  // a tie, to infinity
  EXPECT_EQ(to_float8_e5m2(-kInf).bits, 0xfc);
  EXPECT_EQ(to_float8_e5m2(kNan).bits, 0x7f);
}

}  // namespace
}  // namespace nbx
