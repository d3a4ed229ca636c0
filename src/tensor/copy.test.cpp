// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/tensor.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "dtype/promotion.h"
#include "support/error_text.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
using Counts = std::vector<int64_t>;

std::vector<DType> all_dtypes() {
  std::vector<DType> out;
  for (int i = 0; i < kDTypes; ++i)
    if (has_tensors(static_cast<DType>(i))) out.push_back(static_cast<DType>(i));
  return out;
}

// A view of random memory: permuted, stepped, flipped, sometimes expanded.
Tensor random_view(const Shape& shape, DType dtype, std::mt19937& random, bool may_expand) {
  const size_t rank = shape.size();
  Ints order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
  std::shuffle(order.begin(), order.end(), random);
  Shape memory;  // in the order of memory, twice as long where stepped
  std::vector<int64_t> steps;
  for (size_t d = 0; d < rank; ++d) {
    const bool expanded = may_expand && random() % 6 == 0;
    steps.push_back(expanded ? 0 : 1 + static_cast<int64_t>(random() % 2));
    memory.push_back(expanded ? 1 : shape[static_cast<size_t>(order[d])] * steps[d]);
  }
  const Tensor base = Tensor::empty(memory, DType::int8);
  for (int64_t i = 0; i < base.numel(); ++i) base.mutable_data<int8_t>()[i] = static_cast<int8_t>(random() % 100);
  Tensor t = base.to(dtype);
  Ints back(rank);
  for (size_t d = 0; d < rank; ++d) {
    const auto dim = static_cast<int64_t>(d);
    const int64_t extent = shape[static_cast<size_t>(order[d])];
    if (steps[d] == 0) {
      Shape grown = t.shape();
      grown[d] = extent;
      t = t.expand(grown);
    } else {
      t = t.slice(dim, 0, std::nullopt, steps[d]);
      if (random() % 4 == 0) t = t.flip({dim});
    }
    back[static_cast<size_t>(order[d])] = dim;
  }
  return t.permute(back);
}

// Element by element through the definition of strides.
std::vector<double> read_slowly(const Tensor& t) {
  std::vector<double> out;
  const CopyRun to_double = copy_run(t.dtype(), is_complex(t.dtype()) ? DType::complex128 : DType::float64);
  Ints index(t.shape().size(), 0);
  for (int64_t i = 0; i < t.numel(); ++i) {
    int64_t offset = 0, rest = i;
    for (size_t d = index.size(); d-- > 0;) {
      offset += rest % t.shape()[d] * t.strides()[d];
      rest /= t.shape()[d];
    }
    double pair[2] = {};
    to_double(static_cast<const std::byte*>(t.raw()) + offset * itemsize(t.dtype()), 1,
              reinterpret_cast<std::byte*>(pair), 1, 1);
    out.push_back(pair[0]);
  }
  return out;
}

TEST(Copy, AnyStridesToAnyStridesInEveryPairOfDtypes) {
  std::mt19937 random(2);
  const std::vector<DType> dtypes = all_dtypes();
  int copied = 0;
  for (int round = 0; round < 6; ++round)
    for (DType from : dtypes)
      for (DType to : dtypes) {
        if (is_complex(from) && !is_complex(to) && to != DType::bool_) continue;
        Shape shape;
        for (size_t d = random() % 4; d > 0; --d) shape.push_back(1 + static_cast<int64_t>(random() % 9));
        const Tensor source = random_view(shape, from, random, true), target = random_view(shape, to, random, false);
        target.copy_(source);
        // Values are integers below 100: exact in every type but float8, where they round alike.
        const Tensor dense = Tensor::empty(shape, DType::float64);
        const std::vector<double> values = read_slowly(source);
        std::copy(values.begin(), values.end(), dense.mutable_data<double>());
        ASSERT_EQ(read_slowly(target), read_slowly(dense.to(to))) << describe(source) << " to " << describe(target);
        ++copied;
      }
  EXPECT_GT(copied, 1000);
}

TEST(Copy, LargeTransposesMoveEveryElement) {
  for (DType dtype : {DType::uint8, DType::float16, DType::float32, DType::int64, DType::complex128}) {
    const Tensor t = Tensor::empty({70, 3, 90}, DType::int32);
    for (int i = 0; i < t.numel(); ++i) t.mutable_data<int32_t>()[i] = i % 97;
    const Tensor source = t.to(dtype);
    for (const Ints& order : {Ints{2, 1, 0}, Ints{2, 0, 1}, Ints{1, 2, 0}}) {
      const Tensor moved = source.permute(order).clone();
      ASSERT_TRUE(moved.is_contiguous());
      ASSERT_EQ(read_slowly(moved), read_slowly(source.permute(order))) << name(dtype) << to_string(order);
    }
  }
}

TEST(Copy, FloatsToIntegersTruncateSaturateAndMakeZeroOfNaN) {
  const Tensor t = Tensor::of<double>({8}, {1.9, -1.9, 300, -300, kNan, kInf, -kInf, 1e300});
  EXPECT_EQ(t.to(DType::int8).to_ints(), (Counts{1, -1, 127, -128, 0, 127, -128, 127}));
  EXPECT_EQ(t.to(DType::uint8).to_ints(), (Counts{1, 0, 255, 0, 0, 255, 0, 255}));
  constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(t.to(DType::int64).to_ints(), (Counts{1, -1, 300, -300, 0, most, least, most}));
  EXPECT_EQ(t.to(DType::uint64).data<uint64_t>()[5], std::numeric_limits<uint64_t>::max());
  const Tensor edge = Tensor::of<float>({3}, {2147483648.0f, 2147483520.0f, -2147483648.0f});
  EXPECT_EQ(edge.to(DType::int32).to_ints(), (Counts{2147483647, 2147483520, -2147483648ll}));
  EXPECT_EQ(Tensor::of<float>({2}, {-0.9f, 255.9f}).to(DType::uint8).to_ints(), (Counts{0, 255}));
  EXPECT_EQ(t.to(DType::float16).to(DType::int32).to_ints()[5], 2147483647);
}

TEST(Copy, IntegersWrapAndEverythingToBoolIsNotZero) {
  EXPECT_EQ(Tensor::of<int32_t>({3}, {300, -1, 128}).to(DType::uint8).to_ints(), (Counts{44, 255, 128}));
  EXPECT_EQ(Tensor::of<int64_t>({2}, {int64_t{1} << 32, -129}).to(DType::int8).to_ints(), (Counts{0, 127}));
  EXPECT_EQ(Tensor::of<double>({5}, {0, -0.0, 0.1, kNan, -3}).to(DType::bool_).to_ints(), (Counts{0, 0, 1, 1, 1}));
  const Tensor complex = Tensor::of<std::complex<float>>({3}, {{0, 0}, {0, 1}, {2, 0}});
  EXPECT_EQ(complex.to(DType::bool_).to_ints(), (Counts{0, 1, 1}));
  EXPECT_EQ(Tensor::of<int32_t>({2}, {256, 0}).to(DType::bool_).to_ints(), (Counts{1, 0}));
}

TEST(Copy, ABoolByteOtherThanOneIsStillTrue) {
  uint8_t memory[] = {0, 1, 2, 255};
  const Tensor t = Tensor::borrow(memory, {4}, DType::bool_);
  EXPECT_EQ(t.to_ints(), (Counts{0, 1, 1, 1}));
  EXPECT_EQ(to_string(t), "[False  True  True  True]");
}

TEST(Copy, FloatsToHalfOverflowToInfinityAndDoublesRoundOnce) {
  EXPECT_EQ(Tensor::of<float>({2}, {1e6f, -1e6f}).to(DType::float16).to_doubles(), (std::vector<double>{kInf, -kInf}));
  const double above_tie = 1 + std::ldexp(1, -11) + std::ldexp(1, -40);
  EXPECT_EQ(Tensor::scalar(above_tie).to(DType::float16).data<float16_t>()->bits, 0x3c01);
  const double above_tie8 = 1 + std::ldexp(1, -4) + std::ldexp(1, -40);
  EXPECT_EQ(Tensor::scalar(above_tie8).to(DType::float8_e4m3fn).data<float8_e4m3fn_t>()->bits, 0x39);
}

TEST(Copy, ComplexToRealIsRefusedByNameAndRealToComplexHasNoImaginaryPart) {
  const Tensor complex = Tensor::of<std::complex<double>>({1}, {{1, 2}});
  EXPECT_NAMES(error_text(Code::dtype, [&] { complex.to(DType::float32); }),
               "complex128 cannot be converted to float32");
  error_text(Code::dtype, [&] { Tensor::zeros({1}, DType::int8).copy_(complex); });
  EXPECT_EQ(Tensor::scalar(3.0f).to(DType::complex128).data<std::complex<double>>()[0], std::complex<double>(3, 0));
  EXPECT_EQ(complex.to(DType::complex64).data<std::complex<float>>()[0], std::complex<float>(1, 2));
}

TEST(Copy, BroadcastsTheSourceAndNamesBothShapesWhereItCannot) {
  const Tensor t = Tensor::zeros({2, 3}, DType::int32);
  t.copy_(Tensor::of<float>({3}, {1, 2, 3}));
  EXPECT_EQ(t.to_ints(), (Counts{1, 2, 3, 1, 2, 3}));
  t.copy_(Tensor::of<int32_t>({2, 1}, {7, 8}));
  EXPECT_EQ(t.to_ints(), (Counts{7, 7, 7, 8, 8, 8}));
  const std::string text = error_text(Code::shape, [&] { t.copy_(Tensor::zeros({2}, DType::int32)); });
  EXPECT_NAMES(text, "[2]");
  EXPECT_NAMES(text, "[2, 3]");
}

TEST(Copy, OverlappingMemoryGivesWhatADisjointCopyWould) {
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    const Tensor memory = Tensor::empty({40}, DType::int32);
    for (int k = 0; k < 40; ++k) memory.mutable_data<int32_t>()[k] = k;
    const int64_t n = 1 + static_cast<int64_t>(random() % 12);
    const auto view = [&] {
      const int64_t step = 1 + static_cast<int64_t>(random() % 2);
      const int64_t start = static_cast<int64_t>(random() % static_cast<unsigned>(40 - (n - 1) * step));
      const Tensor t = memory.as_strided({n}, {step}, start);
      return random() % 2 ? t.flip({0}) : t;
    };
    const Tensor from = view(), to = view();
    const Counts expected = from.to_ints();
    to.copy_(from);
    ASSERT_EQ(to.to_ints(), expected);
  }
  // The same bytes under another dtype.
  int64_t raw[4] = {1, 2, 3, 4};
  const Tensor wide = Tensor::borrow(raw, {4}, DType::int64), narrow = Tensor::borrow(raw, {4}, DType::int32);
  wide.copy_(Tensor::of<int64_t>({4}, {5, 6, 7, 8}));
  narrow.copy_(wide);
  EXPECT_EQ(narrow.to_ints(), (Counts{5, 6, 7, 8}));
}

TEST(Copy, ATargetWhoseElementsShareMemoryIsRefused) {
  const Tensor t = Tensor::zeros({4}, DType::float32);
  EXPECT_NAMES(error_text(Code::value, [&] { t.select(0, 0).expand({3}).copy_(Tensor::zeros({3}, DType::float32)); }),
               "share memory");
  error_text(Code::value, [&] { t.unfold(0, 2, 1).copy_(Tensor::zeros({3, 2}, DType::float32)); });
  EXPECT_NO_THROW(t.unfold(0, 2, 2).copy_(Tensor::zeros({2, 2}, DType::float32)));
}

}  // namespace
}  // namespace nbx
