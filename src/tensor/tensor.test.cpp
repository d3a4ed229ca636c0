// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nbx/tensor.h>

#include <cstdint>
#include <numeric>

#include "support/error_text.h"

namespace nbx {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

Tensor counted(const Shape& shape, DType dtype = DType::int32) {
  const Tensor t = Tensor::empty(shape, DType::int32);
  std::iota(t.mutable_data<int32_t>(), t.mutable_data<int32_t>() + t.numel(), 0);
  return t.to(dtype);
}

using Counts = std::vector<int64_t>;

TEST(Tensor, StorageIsAlignedForVectorsAndSharedByCopiesOfTheHandle) {
  const Tensor t = Tensor::zeros({3, 5}, DType::uint8);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0u);
  const Tensor same = t;
  same.mutable_data<uint8_t>()[7] = 9;
  EXPECT_EQ(t.select(0, 1).select(0, 2).item_int(), 9);
  EXPECT_EQ(t.to_ints()[7], 9);
}

TEST(Tensor, MakersFillAndCheckTheirShape) {
  EXPECT_EQ(Tensor::full({2}, 1.5, DType::bfloat16).to_doubles(), (std::vector<double>{1.5, 1.5}));
  EXPECT_EQ(Tensor::full({}, -7, DType::int8).item_int(), -7);
  EXPECT_EQ(Tensor::full({2}, 3, DType::bool_).to_ints(), (Counts{1, 1}));
  EXPECT_EQ(Tensor::full({1}, 2, DType::complex64).data<std::complex<float>>()[0], std::complex<float>(2, 0));
  EXPECT_EQ(Tensor::scalar<double>(0.5).item(), 0.5);
  EXPECT_NAMES(error_text(Code::shape, [] { Tensor::of<float>({2, 2}, {1, 2, 3}); }), "3 values for shape [2, 2]");
  EXPECT_NAMES(error_text(Code::dtype, [] { Tensor::zeros({1}, DType::complex32); }), "complex32");
  EXPECT_NAMES(error_text(Code::shape, [] { Tensor::empty({kHuge, kHuge}, DType::float32); }), "2^63");
  EXPECT_NAMES(error_text(Code::shape, [] { Tensor::empty(Shape(26, 1), DType::float32); }), "26 dims");
  EXPECT_NO_THROW(Tensor::empty(Shape(25, 1), DType::float32));
  EXPECT_NAMES(error_text(Code::shape, [] { Tensor::empty({-1}, DType::float32); }), "-1");
}

TEST(Tensor, HugeShapesWithoutElementsWork) {
  const Tensor t = Tensor::zeros({kHuge, 0, kHuge}, DType::float64);
  EXPECT_EQ(t.numel(), 0);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.transpose(0, 2).slice(0, 5, std::nullopt).shape(), (Shape{kHuge - 5, 0, kHuge}));
  EXPECT_EQ(t.clone().shape(), t.shape());
  EXPECT_EQ(t.to(DType::int8).to_bytes().size(), 0u);
  EXPECT_EQ(t.unsqueeze(0).flip({1, 2}).numel(), 0);
  EXPECT_EQ(t.view({0, 7}).shape(), (Shape{0, 7}));
}

TEST(Tensor, ReadingChecksTypeDefinednessAndCount) {
  const Tensor t = Tensor::zeros({2, 3}, DType::float32);
  EXPECT_NAMES(error_text(Code::dtype, [&] { t.data<double>(); }), "float32[2, 3] is read as float64");
  EXPECT_NAMES(error_text(Code::shape, [&] { t.item(); }), "float32[2, 3] has 6 elements");
  EXPECT_NAMES(error_text(Code::type, [] { Tensor().raw(); }), "undefined");
  EXPECT_NAMES(error_text(Code::dtype, [] { Tensor::zeros({1}, DType::complex64).item(); }), "complex64");
  EXPECT_NAMES(error_text(Code::index, [&] { t.dim(2); }), "dim 2");
  EXPECT_EQ(t.dim(-1), 3);
}

TEST(Tensor, ReadOnlyMemoryCanBeReadAndClonedButNotWritten) {
  float memory[] = {1, 2, 3};
  bool released = false;
  {
    const std::shared_ptr<const void> owner(memory, [&](const void*) { released = true; });
    const Tensor t = Tensor::borrow(memory, {3}, DType::float32, owner, false);
    EXPECT_EQ(t.raw(), memory);
    EXPECT_NAMES(error_text(Code::value, [&] { t.slice(0, 1, 2).mutable_data<float>(); }), "read-only");
    error_text(Code::value, [&] { t.copy_(Tensor::zeros({3}, DType::float32)); });
    const Tensor fresh = t.clone();
    fresh.mutable_data<float>()[0] = 9;
    EXPECT_EQ(memory[0], 1);
    EXPECT_FALSE(released);
  }
  EXPECT_TRUE(released);
}

TEST(Tensor, AViewKeepsTheOwnerOfItsMemory) {
  std::weak_ptr<Storage> storage;
  Tensor view;
  {
    const Tensor t = counted({4, 4});
    storage = t.storage();
    view = t.select(0, 2);
  }
  EXPECT_FALSE(storage.expired());
  EXPECT_EQ(view.to_ints(), (Counts{8, 9, 10, 11}));
  view = Tensor();
  EXPECT_TRUE(storage.expired());
}

TEST(Tensor, TheNullDeviceHasNoMemoryToRead) {
  const auto storage = Storage::allocate(1 << 30, {DeviceKind::null, 0});
  const Tensor t(storage, DType::float32, {1 << 20}, {1}, 0);
  EXPECT_NAMES(error_text(Code::unsupported, [&] { t.raw(); }), "device null");
  EXPECT_EQ(to_string(Device{DeviceKind::cuda, 1}), "cuda:1");
}

TEST(Views, ShareStorageAndSeeEachOthersWrites) {
  const Tensor t = counted({2, 3, 4});
  const Tensor view = t.permute({2, 0, 1}).slice(0, 1, std::nullopt, 2).select(1, -1);  // t[1, :, 1::2] transposed
  EXPECT_EQ(view.shape(), (Shape{2, 3}));
  EXPECT_EQ(view.to_ints(), (Counts{13, 17, 21, 15, 19, 23}));
  view.copy_(Tensor::full({}, -1, DType::int32));
  EXPECT_EQ(t.select(0, 1).to_ints(), (Counts{12, -1, 14, -1, 16, -1, 18, -1, 20, -1, 22, -1}));
  EXPECT_EQ(view.storage(), t.storage());
}

TEST(Views, EachGivesTheElementsOfItsDefinition) {
  const Tensor t = counted({2, 3});
  EXPECT_EQ(t.transpose(-1, 0).to_ints(), (Counts{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(t.view({-1}).to_ints(), (Counts{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(t.flip({0}).to_ints(), (Counts{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(t.flip({0, 1}).flip({1}).select(1, 0).to_ints(), (Counts{3, 0}));
  EXPECT_EQ(t.narrow(1, -2, 2).to_ints(), (Counts{1, 2, 4, 5}));
  EXPECT_EQ(t.narrow(1, 3, 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(t.unfold(1, 2, 1).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(t.unfold(1, 2, 1).to_ints(), (Counts{0, 1, 1, 2, 3, 4, 4, 5}));
  EXPECT_EQ(Tensor::scalar<float>(2).unfold(0, 1, 1).shape(), (Shape{1}));
  EXPECT_EQ(t.unsqueeze(-1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(t.unsqueeze(0).squeeze(0).shape(), (Shape{2, 3}));
  EXPECT_EQ(t.squeeze(0).shape(), (Shape{2, 3}));
  EXPECT_EQ(t.select(0, 0).expand({2, -1}).to_ints(), (Counts{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(t.as_strided({2, 2}, {1, 1}, 2).to_ints(), (Counts{2, 3, 3, 4}));
  EXPECT_EQ(t.slice(1, -100, 100, 2).to_ints(), (Counts{0, 2, 3, 5}));
  EXPECT_EQ(t.slice(1, 2, 1).shape(), (Shape{2, 0}));
  EXPECT_EQ(t.slice(1, 2, 1).offset(), 2);
  EXPECT_EQ(t.expand({1, 2, 3}).strides(), (Strides{6, 3, 1}));
  EXPECT_EQ(Tensor::scalar(1.0f).expand({1, 2}).strides(), (Strides{0, 0}));
  EXPECT_EQ(t.slice(0, 0, 2, INT64_MAX).to_ints(), (Counts{0, 1, 2}));
}

TEST(Views, ReshapeIsAViewWhereTheRuleAllowsAndACopyElsewhere) {
  const Tensor t = counted({2, 3, 4});
  EXPECT_EQ(t.reshape({6, 4}).storage(), t.storage());
  EXPECT_EQ(t.transpose(0, 1).reshape({3, 2, 2, 2}).storage(), t.storage());
  const Tensor copied = t.transpose(1, 2).reshape({2, 12});
  EXPECT_NE(copied.storage(), t.storage());
  EXPECT_EQ(copied.select(0, 0).to_ints(), (Counts{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(t.contiguous().storage(), t.storage());
  EXPECT_NE(t.clone().storage(), t.storage());
}

TEST(Views, ErrorsNameTheTensorAndTheArgument) {
  const Tensor t = counted({2, 3});
  const std::string view = error_text(Code::shape, [&] { t.transpose(0, 1).view({6}); });
  EXPECT_NAMES(view, "int32[3, 2]");
  EXPECT_NAMES(view, "use reshape");
  EXPECT_NAMES(error_text(Code::shape, [&] { t.view({4, 2}); }), "[4, 2] does not hold 6");
  EXPECT_NAMES(error_text(Code::shape, [&] { t.permute({0}); }), "int32[2, 3]");
  EXPECT_NAMES(error_text(Code::index, [&] { t.permute({0, 0}); }), "more than once");
  EXPECT_NAMES(error_text(Code::index, [&] { t.select(0, 2); }), "index 2 is out of range for dim 0 of int32[2, 3]");
  EXPECT_NAMES(error_text(Code::index, [&] { t.select(0, 0).select(0, 0).select(0, 0); }), "0-d");
  EXPECT_NAMES(error_text(Code::index, [&] { t.narrow(0, 1, 2); }), "length 2");
  EXPECT_NAMES(error_text(Code::value, [&] { t.slice(0, 0, 1, 0); }), "step 0");
  EXPECT_NAMES(error_text(Code::shape, [&] { t.expand({2, 4}); }), "extent 3");
  EXPECT_NAMES(error_text(Code::shape, [&] { t.expand({-1, 2, 3}); }), "no extent to keep");
  EXPECT_NAMES(error_text(Code::shape, [&] { t.expand({3}); }), "expand");
  EXPECT_NAMES(error_text(Code::value, [&] { t.unfold(1, 4, 1); }), "window 4");
  EXPECT_NAMES(error_text(Code::index, [&] { t.unsqueeze(4); }), "dim 4");
  EXPECT_NAMES(error_text(Code::index, [&] { t.as_strided({2, 2}, {3, 3}, 1); }), "the storage has 6");
  EXPECT_NAMES(error_text(Code::index, [&] { t.as_strided({2}, {-1}, 0); }), "-1");
  EXPECT_NAMES(error_text(Code::index, [&] { t.as_strided({2}, {1}, -1); }), "negative");
  EXPECT_NAMES(error_text(Code::shape, [&] { t.as_strided({kHuge, 2}, {kHuge, 1}, 0); }), "2^63");
}

TEST(Views, RankTwentyFiveIsTheLimitForViewsToo) {
  const Tensor t = Tensor::zeros(Shape(25, 1), DType::float32);
  EXPECT_NAMES(error_text(Code::shape, [&] { t.unsqueeze(0); }), "26 dims");
}

TEST(Tensor, SameBitsLooksAtDtypeShapeAndEveryElement) {
  const Tensor t = counted({2, 2});
  EXPECT_TRUE(same_bits(t, t.transpose(0, 1).clone().transpose(0, 1)));
  EXPECT_FALSE(same_bits(t, t.transpose(0, 1)));
  EXPECT_FALSE(same_bits(t, t.view({4})));
  EXPECT_FALSE(same_bits(t, t.to(DType::int64)));
  EXPECT_FALSE(same_bits(Tensor::scalar(0.0f), Tensor::scalar(-0.0f)));
  EXPECT_TRUE(same_bits(Tensor::scalar(NAN), Tensor::scalar(NAN)));
}

}  // namespace
}  // namespace nbx
