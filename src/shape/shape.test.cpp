// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/shape.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "base/checked.h"
#include "shape/broadcast.h"
#include "shape/strides.h"
#include "shape/view_rule.h"
#include "support/error_text.h"

namespace nbx {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

// Offsets of all elements in row-major order: what strides mean.
std::vector<int64_t> offsets(const Shape& shape, const Strides& strides) {
  std::vector<int64_t> out{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> grown;
    for (int64_t base : out)
      for (int64_t i = 0; i < shape[d]; ++i) grown.push_back(base + i * strides[d]);
    out = grown;
  }
  return out;
}

// All ways to write `n` as a product of `dims` extents, one picked.
Shape random_factors(int64_t n, size_t dims, std::mt19937& random) {
  Shape shape(dims, 1);
  for (int64_t prime : {2, 3, 5, 7})
    while (n % prime == 0) {
      shape[random() % dims] *= prime;
      n /= prime;
    }
  return shape;
}

TEST(Shape, CheckedArithmeticSaysWhenItOverflows) {
  int64_t out = 0;
  EXPECT_TRUE(checked_mul(kHuge, 1 << 22, out));
  EXPECT_EQ(out, int64_t{1} << 62);
  EXPECT_FALSE(checked_mul(kHuge, 1 << 23, out));
  EXPECT_FALSE(checked_add(std::numeric_limits<int64_t>::max(), 1, out));
  EXPECT_FALSE(checked_sub(std::numeric_limits<int64_t>::min(), 1, out));
  EXPECT_EQ(align_up(1), 64);
  EXPECT_EQ(align_up(64), 64);
  EXPECT_EQ(ceil_div(7, 3), 3);
  EXPECT_EQ(ceil_div(6, 3), 2);
}

TEST(Shape, NumelRefusesWhatDoesNotFitButAZeroExtentIsNoElementsWhateverTheOthers) {
  EXPECT_EQ(numel({}), 1);
  EXPECT_EQ(numel({2, 3, 4}), 24);
  EXPECT_EQ(numel({kHuge, kHuge, 0}), 0);
  EXPECT_EQ(numel({0, kHuge, kHuge}, 8), 0);
  EXPECT_EQ(numel({int64_t{1} << 59}, 8), int64_t{1} << 59);
  EXPECT_NAMES(error_text(Code::shape, [] { numel({int64_t{1} << 60}, 8); }), "[1152921504606846976]");
  EXPECT_NAMES(error_text(Code::shape, [] { numel({kHuge, kHuge}); }), "2^63");
  EXPECT_NAMES(error_text(Code::shape, [] { numel({2, -3}); }), "-3");
}

TEST(Shape, ContiguousStridesAreRowMajorAndIgnoreEmptyDims) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Strides{});
  EXPECT_EQ(contiguous_strides({2, 0, 3}), (Strides{3, 3, 1}));
  EXPECT_NO_THROW(contiguous_strides({kHuge, kHuge, 0}));
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 77, 1}));
  EXPECT_TRUE(is_contiguous({2, 0}, {5, 5}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
}

TEST(Shape, DimsWrapOnceAndAZeroDimensionalTensorHasDimsZeroAndMinusOne) {
  EXPECT_EQ(wrap_dim(-1, 3, "op"), 2);
  EXPECT_EQ(wrap_dim(2, 3, "op"), 2);
  EXPECT_EQ(wrap_dim(0, 0, "op"), 0);
  EXPECT_EQ(wrap_dim(-1, 0, "op"), 0);
  const std::string text = error_text(Code::index, [] { wrap_dim(3, 3, "softmax"); });
  EXPECT_NAMES(text, "softmax: dim 3");
  EXPECT_NAMES(text, "[-3, 2]");
  error_text(Code::index, [] { wrap_dim(1, 0, "op"); });
  EXPECT_EQ(wrap_dims({-1, 0}, 3, "op"), (Ints{2, 0}));
  EXPECT_NAMES(error_text(Code::index, [] { wrap_dims({0, -3}, 3, "sum"); }), "more than once");
}

TEST(Shape, MoreThanTwentyFiveDimsAreRefused) {
  EXPECT_NO_THROW(check_shape(Shape(25, 1), "op"));
  EXPECT_NAMES(error_text(Code::shape, [] { check_shape(Shape(26, 1), "op"); }), "26 dims");
}

TEST(Shape, SlicesClampAsPythons) {
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    const int64_t extent = static_cast<int64_t>(random() % 8), step = 1 + static_cast<int64_t>(random() % 4);
    const int64_t start = static_cast<int64_t>(random() % 25) - 12, end = static_cast<int64_t>(random() % 25) - 12;
    std::vector<int64_t> expected;  // Python: both ends wrapped once, then clamped
    const int64_t from = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
    const int64_t to = std::clamp<int64_t>(end < 0 ? end + extent : end, 0, extent);
    for (int64_t at = from; at < to; at += step) expected.push_back(at);
    const Slice got = slice_of(extent, start, end, step);
    ASSERT_EQ(got.length, static_cast<int64_t>(expected.size())) << extent << " " << start << " " << end << " " << step;
    if (!expected.empty()) {
      ASSERT_EQ(got.start, expected.front());
    }
  }
  EXPECT_EQ(slice_of(5, std::nullopt, std::nullopt, 2).length, 3);
  constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(slice_of(5, least, most, most).length, 1);
  EXPECT_EQ(slice_of(5, most, least, 1).length, 0);
}

TEST(Shape, BroadcastFollowsItsDefinition) {
  EXPECT_EQ(broadcast({4, 1, 3}, {2, 1}, "add"), (Shape{4, 2, 3}));
  EXPECT_EQ(broadcast({}, {5}, "add"), (Shape{5}));
  EXPECT_EQ(broadcast({0}, {1}, "add"), (Shape{0}));
  EXPECT_EQ(broadcast({Shape{2, 1}, Shape{3}, Shape{1, 1, 1}}, "where"), (Shape{1, 2, 3}));
  EXPECT_FALSE(try_broadcast({2}, {3}).has_value());
  EXPECT_FALSE(try_broadcast({0}, {2}).has_value());
  EXPECT_NAMES(error_text(Code::shape,
                          [] {
                            broadcast({2, 3}, {4, 3}, "add");
                          }),
               "add: shapes [2, 3] and [4, 3] do not broadcast: 2 against 4 at dim -2");
  EXPECT_EQ(broadcast_strides({3, 1}, {1, 7}, {2, 3, 4}, "copy"), (Strides{0, 1, 0}));
  error_text(Code::shape, [] { broadcast_strides({2, 3}, {3, 1}, {3}, "copy"); });
  error_text(Code::shape, [] { broadcast_strides({2}, {1}, {1}, "copy"); });
}

TEST(ViewRule, FindsAViewExactlyWhenOneExists) {
  std::mt19937 random(11);
  int found = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    // Random views of dense memory: permuted, sliced, expanded; extents multiply to numbers with many divisors.
    const size_t dims = 1 + random() % 4;
    Shape shape;
    for (size_t d = 0; d < dims; ++d) shape.push_back(std::array<int64_t, 5>{1, 2, 3, 4, 6}[random() % 5]);
    Strides strides = contiguous_strides(shape);
    for (size_t d = 0; d < dims; ++d) {
      const unsigned kind = random() % 8;
      if (kind == 0) strides[d] = 0;
      if (kind == 1) strides[d] *= 2;
      if (kind == 2) strides[d] = -strides[d];
      if (shape[d] == 1 && kind < 5) strides[d] = static_cast<int64_t>(random() % 50);
    }
    if (random() % 2) {
      const size_t a = random() % dims, b = random() % dims;
      std::swap(shape[a], shape[b]);
      std::swap(strides[a], strides[b]);
    }
    const Shape to = random_factors(numel(shape), 1 + random() % 4, random);
    const std::vector<int64_t> wanted = offsets(shape, strides);

    // By definition: the strides, if any, are the differences to the first element along each new dim.
    Strides only(to.size(), 1);
    const Strides places = contiguous_strides(to);
    for (size_t d = 0; d < to.size(); ++d)
      if (to[d] > 1) only[d] = wanted[static_cast<size_t>(places[d])] - wanted[0];
    const bool exists = offsets(to, only) == wanted;

    const std::optional<Strides> got = view_strides(shape, strides, to);
    ASSERT_EQ(got.has_value(), exists) << to_string(shape) << to_string(strides) << " to " << to_string(to);
    if (got) {
      ASSERT_EQ(offsets(to, *got), wanted) << to_string(shape) << to_string(strides) << " to " << to_string(to);
    }
    ++(exists ? found : refused);
  }
  EXPECT_GT(found, 2000);
  EXPECT_GT(refused, 2000);
}

TEST(ViewRule, AnExtentIsInferredWhenTheOthersDivide) {
  EXPECT_EQ(infer_shape({-1, 4}, 12, "view"), (Shape{3, 4}));
  EXPECT_EQ(infer_shape({-1}, 0, "view"), (Shape{0}));
  EXPECT_EQ(infer_shape({}, 1, "view"), Shape{});
  EXPECT_EQ(infer_shape({0, kHuge, kHuge}, 0, "view"), (Shape{0, kHuge, kHuge}));
  EXPECT_NAMES(error_text(Code::shape, [] { infer_shape({-1, -1}, 4, "view"); }), "more than one -1");
  EXPECT_NAMES(error_text(Code::shape, [] { infer_shape({-1, 0}, 0, "view"); }), "cannot be inferred");
  EXPECT_NAMES(error_text(Code::shape, [] { infer_shape({-1, 5}, 12, "reshape"); }), "reshape: 12 elements");
  EXPECT_NAMES(error_text(Code::shape, [] { infer_shape({3, 5}, 12, "view"); }), "[3, 5]");
  EXPECT_NAMES(error_text(Code::shape, [] { infer_shape({3, -2}, 12, "view"); }), "-2");
  error_text(Code::shape, [] { infer_shape({kHuge, kHuge}, 0, "view"); });
}

TEST(Coalesce, VisitsTheSamePairsWithAsFewDimsAsPossible) {
  EXPECT_EQ(coalesce({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}}).shape, (Shape{24}));
  EXPECT_EQ(coalesce({2, 3, 4}, {{12, 4, 1}, {0, 4, 1}}).shape, (Shape{2, 12}));
  EXPECT_EQ(coalesce({2, 3}, {{1, 2}, {1, 2}}).shape, (Shape{6}));
  EXPECT_EQ(coalesce({2, 3}, {{1, 2}, {1, 2}}, false).shape, (Shape{2, 3}));
  EXPECT_EQ(coalesce({1, 1}, {{5, 9}}).shape, Shape{});
  EXPECT_EQ(coalesce({2, 0}, {{1, 1}}).numel, 0);
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    Shape shape;
    Strides a, b;
    for (size_t d = random() % 5; d > 0; --d) {
      shape.push_back(1 + static_cast<int64_t>(random() % 4));
      a.push_back(static_cast<int64_t>(random() % 9) - 4);
      b.push_back(static_cast<int64_t>(random() % 9) - 4);
    }
    const Loops loops = coalesce(shape, {a, b}, random() % 2 == 0);
    const auto pairs = [](const Shape& s, const Strides& x, const Strides& y) {
      const std::vector<int64_t> ox = offsets(s, x), oy = offsets(s, y);
      std::multiset<std::pair<int64_t, int64_t>> out;
      for (size_t k = 0; k < ox.size(); ++k) out.insert({ox[k], oy[k]});
      return out;
    };
    ASSERT_LE(loops.shape.size(), shape.size());
    ASSERT_EQ(pairs(loops.shape, loops.strides[0], loops.strides[1]), pairs(shape, a, b)) << to_string(shape);
  }
}

TEST(Strides, DisjointMeansNoTwoElementsShareAPlace) {
  std::mt19937 random(9);
  int shared = 0, apart = 0;
  for (int i = 0; i < 5000; ++i) {
    Shape shape;
    Strides strides;
    for (size_t d = 1 + random() % 3; d > 0; --d) {
      shape.push_back(1 + static_cast<int64_t>(random() % 4));
      strides.push_back(static_cast<int64_t>(random() % 15) - 7);
    }
    const std::vector<int64_t> all = offsets(shape, strides);
    const bool expected = std::set<int64_t>(all.begin(), all.end()).size() == all.size();
    ASSERT_EQ(is_disjoint(shape, strides), expected) << to_string(shape) << to_string(strides);
    ++(expected ? apart : shared);

    const std::optional<Extent> extent = extent_of(shape, strides);
    ASSERT_EQ(extent->low, *std::min_element(all.begin(), all.end()));
    ASSERT_EQ(extent->high, *std::max_element(all.begin(), all.end()));
  }
  EXPECT_GT(shared, 500);
  EXPECT_GT(apart, 500);
  EXPECT_FALSE(is_disjoint({kHuge, kHuge >> 20}, {0, 1}));
  EXPECT_TRUE(is_disjoint({0, 3}, {0, 0}));
  EXPECT_FALSE(extent_of({3, 0}, {1, 1}).has_value());
  EXPECT_NAMES(error_text(Code::shape, [] { extent_of({3, kHuge}, {1, kHuge}); }), "2^63");
}

}  // namespace
}  // namespace nbx
