// SPDX-License-Identifier: Apache-2.0
#include "random/philox.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nbx {
namespace {

TEST(Philox, GivesThePublishedWords) {  // the known answers of the authors' library
  EXPECT_EQ(philox(PhiloxWords{0, 0, 0, 0}, 0), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(PhiloxWords{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, ~0ull),
            (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(PhiloxWords{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ull),
            (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, CountsElementsBeyond32Bits) { EXPECT_NE(philox(5, 1), philox(5 + (1ull << 32), 1)); }

TEST(Philox, UniformNumbersAreInTheHalfOpenUnitInterval) {
  EXPECT_EQ(unit_of(0), 0.0f);
  EXPECT_EQ(unit_of(0xffffffffu), 0.0f);
  EXPECT_LT(unit_of(0x7fffffffu), 1.0f);
  EXPECT_LT(unit_of(0x80000000u), 1.0f);
}

struct Moments {
  double mean = 0, variance = 0;
};
template <class Draw>
Moments moments(int n, Draw draw) {
  Moments m;
  for (int i = 0; i < n; ++i) m.mean += draw(i) / n;
  for (int i = 0; i < n; ++i) m.variance += (draw(i) - m.mean) * (draw(i) - m.mean) / n;
  return m;
}

// Four standard errors at n = 2^16.
TEST(Philox, HasTheMomentsOfItsDistributions) {
  constexpr int n = 1 << 16;
  const uint64_t key = stream_key(0, 3);
  const Moments u = moments(n, [&](int i) { return unit_of(philox(static_cast<uint64_t>(i), key)[0]); });
  EXPECT_NEAR(u.mean, 0.5, 4 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(u.variance, 1.0 / 12, 4 * std::sqrt(1.0 / 180 / n));
  const Moments z = moments(n, [&](int i) {
    const PhiloxWords w = philox(static_cast<uint64_t>(i), key);
    return normal_of(w[0], w[1]);
  });
  EXPECT_NEAR(z.mean, 0, 4 * std::sqrt(1.0 / n));
  EXPECT_NEAR(z.variance, 1, 4 * std::sqrt(2.0 / n));
}

TEST(Philox, NeighbouringDrawsAndSeedsAreNotCorrelated) {
  constexpr int n = 1 << 16;
  const auto correlation = [&](uint64_t a, uint64_t b) {
    double sum = 0;
    for (uint64_t i = 0; i < n; ++i)
      sum += (static_cast<double>(unit_of(philox(i, a)[0])) - 0.5) *
             (static_cast<double>(unit_of(philox(i, b)[0])) - 0.5) * 12 / n;
    return sum;
  };
  EXPECT_NEAR(correlation(stream_key(0, 0), stream_key(0, 1)), 0, 4 / std::sqrt(n));
  EXPECT_NEAR(correlation(stream_key(0, 0), stream_key(1, 0)), 0, 4 / std::sqrt(n));
}

}  // namespace
}  // namespace nbx
