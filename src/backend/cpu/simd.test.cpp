// SPDX-License-Identifier: Apache-2.0
// The header's own kernels, for every target: conversions against the scalar ones of <nbx/dtype.h>, memory bounds,
// folds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd.test.cpp"
#include <hwy/foreach_target.h>
#include "backend/cpu/targets.h"

#include "backend/cpu/simd.h"

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

template <class From, class To>
void copy_rows(const From* from, To* to, size_t n) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) simd::store(d, simd::load(d, from + i, n - i), to + i, n - i);
}

void widen_bf16(const bfloat16_t* from, float* to, size_t n) { copy_rows(from, to, n); }
void widen_f16(const float16_t* from, float* to, size_t n) { copy_rows(from, to, n); }
void narrow_bf16(const float* from, bfloat16_t* to, size_t n) { copy_rows(from, to, n); }
void narrow_f16(const float* from, float16_t* to, size_t n) { copy_rows(from, to, n); }
void copy_f32(const float* from, float* to, size_t n) { copy_rows(from, to, n); }
void copy_i64(const int64_t* from, int64_t* to, size_t n) {
  const hn::ScalableTag<int64_t> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) simd::store(d, simd::load(d, from + i, n - i), to + i, n - i);
}

void split_pairs(const float* p, float* even, float* odd) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> a, b;
  simd::load_pairs(d, p, a, b);
  simd::store(d, simd::in_register(a), even);
  simd::store(d, b, odd);
}
size_t lanes() { return hn::Lanes(hn::ScalableTag<float>()); }

struct AddSquare {
  template <class VF>
  HWY_INLINE VF operator()(VF sum, VF v) const {
    return hn::MulAdd(v, v, sum);
  }
};
struct Larger {
  template <class VF>
  HWY_INLINE VF operator()(VF a, VF b) const {
    return simd::max(a, b);
  }
};

float sum_of_squares(const float* p, size_t n) {
  const hn::ScalableTag<float> d;
  return simd::fold(d, p, n, AddSquare());
}
float sum_of_squares_bf16(const bfloat16_t* p, size_t n) {
  const hn::ScalableTag<float> d;
  return simd::fold(d, p, n, AddSquare());
}
float largest(const float* p, size_t n) {
  const hn::ScalableTag<float> d;
  return simd::fold_with(d, p, n, -std::numeric_limits<float>::infinity(), Larger(), Larger());
}
void max_min_clamp(float a, float b, float* out) {
  const hn::ScalableTag<float> d;
  out[0] = hn::GetLane(simd::max(hn::Set(d, a), hn::Set(d, b)));
  out[1] = hn::GetLane(simd::min(hn::Set(d, a), hn::Set(d, b)));
  out[2] = hn::GetLane(simd::clamp(hn::Set(d, a), hn::Set(d, b), hn::Set(d, b)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
namespace {

HWY_EXPORT(widen_bf16);
HWY_EXPORT(widen_f16);
HWY_EXPORT(narrow_bf16);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(copy_f32);
HWY_EXPORT(copy_i64);
HWY_EXPORT(split_pairs);
HWY_EXPORT(lanes);
HWY_EXPORT(sum_of_squares);
HWY_EXPORT(sum_of_squares_bf16);
HWY_EXPORT(largest);
HWY_EXPORT(max_min_clamp);

class Simd : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_cpu_target(GetParam()); }
  void TearDown() override { set_cpu_target(""); }
};
INSTANTIATE_TEST_SUITE_P(Targets, Simd, testing::ValuesIn(cpu_targets()));

float from_bits(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint32_t bits_of(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

// Every 16-bit value, and its neighbourhood in float32: ties, just above and below.
std::vector<float> around_halves(float (*widen)(uint16_t)) {
  std::vector<float> out;
  for (uint32_t h = 0; h < 65536; ++h) {
    const uint32_t b = bits_of(widen(static_cast<uint16_t>(h)));
    for (uint32_t delta : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
      out.push_back(from_bits(b + delta));
  }
  return out;
}

TEST_P(Simd, Bfloat16WidensExactly) {
  std::vector<bfloat16_t> in(65536);
  for (uint32_t i = 0; i < 65536; ++i) in[i].bits = static_cast<uint16_t>(i);
  std::vector<float> out(in.size());
  HWY_DYNAMIC_DISPATCH(widen_bf16)(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(bits_of(out[i]), bits_of(to_float(in[i]))) << i;
}

TEST_P(Simd, Float16WidensExactly) {
  std::vector<float16_t> in(65536);
  for (uint32_t i = 0; i < 65536; ++i) in[i].bits = static_cast<uint16_t>(i);
  std::vector<float> out(in.size());
  HWY_DYNAMIC_DISPATCH(widen_f16)(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const float want = to_float(in[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(out[i])) << i;
    } else {
      ASSERT_EQ(bits_of(out[i]), bits_of(want)) << i;
    }
  }
}

TEST_P(Simd, Bfloat16RoundsToNearestEvenAndKeepsNan) {
  const auto in = around_halves([](uint16_t h) { return to_float(bfloat16_t{h}); });
  std::vector<bfloat16_t> out(in.size());
  HWY_DYNAMIC_DISPATCH(narrow_bf16)(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (std::isnan(in[i])) {
      ASSERT_TRUE(std::isnan(to_float(out[i]))) << in[i];
    } else {
      ASSERT_EQ(out[i].bits, to_bfloat16(in[i]).bits) << in[i];
    }
  }
}

TEST_P(Simd, Float16RoundsToNearestEvenWithSubnormals) {
  const auto in = around_halves([](uint16_t h) { return to_float(float16_t{h}); });
  std::vector<float16_t> out(in.size());
  HWY_DYNAMIC_DISPATCH(narrow_f16)(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (std::isnan(in[i])) {
      ASSERT_TRUE(std::isnan(to_float(out[i]))) << in[i];
    } else {
      ASSERT_EQ(out[i].bits, to_float16(in[i]).bits) << in[i];
    }
  }
}

TEST_P(Simd, TailsReadAndWriteNothingOutsideTheRow) {
  // Exactly sized heap blocks: the address sanitizer sees a read beyond. Guards around the output see a write.
  for (size_t n = 0; n <= 70; ++n) {
    std::vector<float> wide(n, 1.5f);
    std::vector<bfloat16_t> narrow(n + 2, bfloat16_t{0xbeef});
    HWY_DYNAMIC_DISPATCH(narrow_bf16)(wide.data(), narrow.data() + 1, n);
    EXPECT_EQ(narrow.front().bits, 0xbeef);
    EXPECT_EQ(narrow.back().bits, 0xbeef);
    const std::vector<bfloat16_t> exact(narrow.begin() + 1, narrow.end() - 1);
    std::vector<float> back(n + 2, -7.0f);
    HWY_DYNAMIC_DISPATCH(widen_bf16)(exact.data(), back.data() + 1, n);
    EXPECT_EQ(back.front(), -7.0f);
    EXPECT_EQ(back.back(), -7.0f);
    std::vector<float16_t> half(n);
    HWY_DYNAMIC_DISPATCH(narrow_f16)(wide.data(), half.data(), n);
    HWY_DYNAMIC_DISPATCH(widen_f16)(half.data(), back.data() + 1, n);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(back[i + 1], 1.5f);
    std::vector<float> same(n);
    HWY_DYNAMIC_DISPATCH(copy_f32)(wide.data(), same.data(), n);
    EXPECT_EQ(same, wide);
    std::vector<int64_t> longs(n), copied(n);
    for (size_t i = 0; i < n; ++i) longs[i] = static_cast<int64_t>(i) << 40;
    HWY_DYNAMIC_DISPATCH(copy_i64)(longs.data(), copied.data(), n);
    EXPECT_EQ(longs, copied);
  }
}

TEST_P(Simd, PairsAreTakenApart) {
  const size_t n = HWY_DYNAMIC_DISPATCH(lanes)();
  std::vector<float> p(2 * n), even(n), odd(n);
  for (size_t i = 0; i < 2 * n; ++i) p[i] = static_cast<float>(i);
  HWY_DYNAMIC_DISPATCH(split_pairs)(p.data(), even.data(), odd.data());
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(even[i], static_cast<float>(2 * i));
    EXPECT_EQ(odd[i], static_cast<float>(2 * i + 1));
  }
}

TEST_P(Simd, FoldsLeaveOutWhatIsBeyondTheRow) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (size_t n : {0, 1, 3, 7, 8, 15, 16, 17, 63, 64, 65, 130, 4097}) {
    std::vector<float> p(n);
    std::vector<bfloat16_t> h(n);
    double squares = 0, squares_h = 0;
    float top = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < n; ++i) {
      p[i] = normal(random) - 3;  // mostly negative: a zero from a tail would be the largest
      h[i] = to_bfloat16(p[i]);
      squares += static_cast<double>(p[i]) * p[i];
      squares_h += static_cast<double>(to_float(h[i])) * to_float(h[i]);
      top = std::max(top, p[i]);
    }
    EXPECT_NEAR(HWY_DYNAMIC_DISPATCH(sum_of_squares)(p.data(), n), squares, 1e-5 * squares);
    EXPECT_NEAR(HWY_DYNAMIC_DISPATCH(sum_of_squares_bf16)(h.data(), n), squares_h, 1e-5 * squares_h);
    EXPECT_EQ(HWY_DYNAMIC_DISPATCH(largest)(p.data(), n), top);
  }
}

TEST_P(Simd, MaxAndMinGiveNanForANanInEitherOperand) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float out[3];
  HWY_DYNAMIC_DISPATCH(max_min_clamp)(nan, 1.0f, out);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]) && std::isnan(out[2]));
  HWY_DYNAMIC_DISPATCH(max_min_clamp)(1.0f, nan, out);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  HWY_DYNAMIC_DISPATCH(max_min_clamp)(-2.0f, 1.0f, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
  EXPECT_EQ(out[2], 1.0f);
}

TEST(SimdTargets, AnUnknownTargetIsNamedBesideTheKnownOnes) {
  try {
    set_cpu_target("MMX");
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("MMX"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find(cpu_targets().front()), std::string::npos);
  }
}

}  // namespace
}  // namespace nbx
#endif
