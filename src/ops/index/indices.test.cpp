// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/eager.h"

namespace nbx {
namespace {

std::string error_of(std::string_view op, std::vector<SampleArg> args, int threads) {
  Team team(threads);
  try {
    call(op, std::move(args), {}, {&team, {}});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::index);
    return e.what();
  }
  return "served";
}

TEST(Indices, TheFirstOneOutOfRangeIsNamedForAnyNumberOfThreads) {
  // Bad ones in several chunks: the lowest position must win, whoever finds the others first.
  Tensor index = Tensor::zeros({200, 500}, DType::int64);
  for (const int64_t at : {99999, 70123, 41007, 41008, 80000}) index.mutable_data<int64_t>()[at] = at;
  for (const int threads : {1, 2, 3, 7}) {
    const std::string text = error_of("custom::gather_axis", {randn({6, 2}), index, val(0)}, threads);
    EXPECT_NE(text.find("index 41007 at position [82, 7]"), std::string::npos) << text;
  }
}

TEST(Indices, AreCheckedEvenWhenTheSlicesAreEmpty) {
  const std::string text =
      error_of("aten::index_select", {Tensor::empty({3, 0}, DType::float32), val(0), Tensor::of<int64_t>({1}, {3})}, 1);
  EXPECT_NE(text.find("index 3"), std::string::npos) << text;
}

TEST(Scatter, LeavesTheOperandsAlone) {
  const Tensor self = randn({4, 3}), index = Tensor::of<int64_t>({2, 3}, {0, 1, 2, 3, 3, 3}), src = randn({2, 3}, 1);
  const Tensor before = self.clone();
  const Tensor out = call("aten::scatter.src", {self, val(0), index, src})[0];
  EXPECT_TRUE(same_bits(self, before));
  EXPECT_FALSE(same_bits(out, self));
}

TEST(Scatter, GivesTheSameInPlace) {
  const Tensor index = Tensor::of<int64_t>({4}, {2, 0, 2, 1}), src = randn({4}, 1);
  const Call c = make_call(require_op("aten::scatter_add"), {randn({3}), val(0), index, src});
  const Tensor wanted = run_call(c)[0], self = randn({3}).clone();
  const Args args = known_args(c);
  const Metas outputs = c.op->infer(args);
  const Kernel& kernel = c.op->kernels[0];
  std::vector<std::byte> room(static_cast<size_t>(kernel.workspace(args)));
  const void* in[] = {self.raw(), index.raw(), src.raw()};
  void* out[] = {self.raw_mutable()};
  Team team(1);
  kernel.bind(args, outputs)(nbx::Run{in, out, room.data(), team});
  EXPECT_TRUE(c.op->has(kInPlace));
  EXPECT_TRUE(same_bits(self, wanted));
}

TEST(Scatter, SumsInHalfTypesAreRoundedOnceAtTheEnd) {
  // 2048 + 1 is 2048 in float16; four ones together are not lost.
  const Tensor self = Tensor::full({1}, 2048, DType::float16), ones = Tensor::full({4}, 1, DType::float16);
  const Tensor index = Tensor::zeros({4}, DType::int64);
  EXPECT_EQ(call("aten::index_add", {self, val(0), index, ones})[0].item(), 2052);
  EXPECT_EQ(call("aten::scatter_add", {self, val(0), index, ones})[0].item(), 2052);
}

TEST(IndexAdd, EqualsASequentialSumBitByBit) {
  const Tensor self = randn({3}), index = rand_ints({1000}, 0, 3), source = randn({1000}, 5);
  float sums[3];
  std::copy_n(self.data<float>(), 3, sums);
  for (int64_t i = 0; i < 1000; ++i) sums[index.data<int64_t>()[i]] += source.data<float>()[i];
  for (const int threads : {1, 3}) {
    Team team(threads);
    const Tensor out = call("aten::index_add", {self, val(0), index, source}, {}, {&team, {}})[0];
    EXPECT_TRUE(std::equal(sums, sums + 3, out.data<float>()));
  }
}

}  // namespace
}  // namespace nbx
