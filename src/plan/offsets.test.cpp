// SPDX-License-Identifier: Apache-2.0
#include "plan/offsets.h"

#include <gtest/gtest.h>

#include <random>

namespace nbx {
namespace {

int64_t rounded(int64_t bytes) { return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

void expect_sound(const std::vector<Buffer>& buffers, const Layout& layout) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& a = buffers[i];
    ASSERT_GE(a.offset, 0);
    EXPECT_EQ(a.offset % kBufferAlignment, 0);
    EXPECT_LE(a.offset + a.bytes, layout.arena_bytes);
    for (size_t j = i + 1; j < buffers.size(); ++j) {
      const Buffer& b = buffers[j];
      if (a.bytes == 0 || b.bytes == 0 || a.first > b.last || b.first > a.last) continue;
      EXPECT_TRUE(a.offset + rounded(a.bytes) <= b.offset || b.offset + rounded(b.bytes) <= a.offset)
          << i << " and " << j << " share bytes";
    }
  }
}

TEST(Place, NoTwoLiveBuffersShareAByteOnRandomPlans) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Buffer> buffers;
    for (int i = 0, n = pick(0, 40); i < n; ++i) {
      const int first = pick(0, 30);
      buffers.push_back({pick(0, 9) == 0 ? 0 : pick(1, 5000), first, first + pick(0, 10), -1});
    }
    const Layout layout = place(buffers);
    expect_sound(buffers, layout);
    EXPECT_GE(layout.arena_bytes, layout.lower_bound);
  }
}

TEST(Place, IsAFunctionOfItsInput) {
  std::vector<Buffer> a{{100, 0, 3, -1}, {700, 1, 2, -1}, {300, 2, 5, -1}, {50, 0, 9, -1}}, b = a;
  place(a);
  place(b);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].offset, b[i].offset);
}

TEST(Place, BuffersThatArePlacedStay) {
  std::vector<Buffer> buffers{{128, 0, 5, 640}, {1000, 0, 5, -1}, {64, 2, 3, -1}};
  const Layout layout = place(buffers);
  EXPECT_EQ(buffers[0].offset, 640);
  expect_sound(buffers, layout);
}

TEST(Place, ReusesWhatHasDied) {
  std::vector<Buffer> buffers{{1024, 0, 1, -1}, {1024, 1, 2, -1}, {1024, 2, 3, -1}, {1024, 3, 4, -1}};
  const Layout layout = place(buffers);
  EXPECT_EQ(layout.lower_bound, 2048);
  EXPECT_EQ(layout.arena_bytes, 2048);
}

TEST(Place, RefusesWhatDoesNotFitInto63Bits) {
  std::vector<Buffer> buffers{{INT64_MAX / 2, 0, 1, -1}, {INT64_MAX / 2, 0, 1, -1}, {INT64_MAX / 2, 0, 1, -1}};
  EXPECT_THROW(place(buffers), std::runtime_error);
}

}  // namespace
}  // namespace nbx
