// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/strided_copy.h"

#include <gtest/gtest.h>
#include <nbx/tensor.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/eager.h"
#include "ops/shape/views.h"
#include "shape/strides.h"

namespace nbx {
namespace {

// Element by element, in the order of the indices.
void slow_copy(const Shape& shape, const Strides& from, const Strides& to, int size, const std::byte* source,
               std::byte* target) {
  each_index(shape, [&](const Ints& i) {
    int64_t f = 0, t = 0;
    for (size_t d = 0; d < i.size(); ++d) {
      f += i[d] * from[d];
      t += i[d] * to[d];
    }
    std::copy_n(source + f * size, size, target + t * size);
  });
}

struct Layout {
  const char* name;
  Shape shape;
  Strides from, to;
  int64_t from_first = 0;
};

std::vector<Layout> layouts() {
  std::vector<Layout> out = {
      {"dense", {6, 7}, {7, 1}, {7, 1}},
      {"one element", {}, {}, {}},
      {"nothing", {3, 0, 2}, {0, 2, 1}, {0, 2, 1}},
      {"a long run", {400000}, {1}, {1}},
      {"rows with gaps", {9, 50}, {64, 1}, {50, 1}},
      {"into rows with gaps", {9, 50}, {50, 1}, {64, 1}},
      {"transposed", {50, 70}, {1, 50}, {70, 1}},
      {"transposed, odd ends", {2, 33, 65}, {33 * 65, 1, 33}, {33 * 65, 65, 1}},
      {"channels last", {2, 1000, 3}, {3000, 1, 1000}, {3000, 3, 1}},
      {"channels first", {2, 3, 1000}, {3000, 1, 3}, {3000, 1000, 1}},
      {"narrow both ways", {5, 6}, {1, 5}, {6, 1}},
      {"one value for all", {40, 50}, {0, 0}, {50, 1}},
      {"rows repeated", {40, 50}, {0, 1}, {50, 1}},
      {"columns repeated", {40, 50}, {1, 0}, {50, 1}},
      {"backwards", {40, 50}, {-50, -1}, {50, 1}, 40 * 50 - 1},
      {"every third", {7, 11}, {66, 3}, {11, 1}},
      {"windows that overlap", {30, 5}, {1, 1}, {5, 1}},
      {"into a transposed target", {50, 70}, {70, 1}, {1, 50}},
      {"reversed dims", {2, 3, 4, 5, 6}, {1, 2, 6, 24, 120}, {360, 120, 30, 6, 1}},
      {"many small dims", {2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128}, {128, 64, 32, 16, 8, 4, 2, 1}},
  };
  return out;
}

TEST(StridedCopy, MovesEveryElementOfEveryLayoutAndTouchesNothingElse) {
  Team teams[] = {Team(1), Team(2), Team(3)};
  for (const Layout& l : layouts())
    for (const int size : {1, 2, 4, 8, 16}) {
      SCOPED_TRACE(std::string(l.name) + ", items of " + std::to_string(size));
      const auto reach = [](const Shape& shape, const Strides& strides) {
        const auto extent = extent_of(shape, strides);
        return extent ? extent->high + 1 : 1;
      };
      const int64_t source_items = l.from_first + reach(l.shape, l.from), target_items = reach(l.shape, l.to);
      std::vector<std::byte> source(static_cast<size_t>(source_items * size));
      for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37 + i / 251);
      std::vector<std::byte> wanted(static_cast<size_t>(target_items * size), std::byte{0xAB});
      slow_copy(l.shape, l.from, l.to, size, source.data() + l.from_first * size, wanted.data());
      const StridedCopy copy(l.shape, l.from, l.to, size);
      for (Team& team : teams) {
        std::vector<std::byte> got(wanted.size(), std::byte{0xAB});
        copy(source.data() + l.from_first * size, got.data(), team);
        EXPECT_TRUE(got == wanted) << team.threads() << " threads";
      }
    }
}

TEST(Views, TheKernelMakesTheSameElementsDenseWhenAnAliasIsNotWanted) {
  int checked = 0;
  for (const OpDecl* op : all_ops()) {
    if (!op->has(kView) || op->family != "shape") continue;
    SampleSink sink;
    op->samples(sink);
    for (const Sample& sample : sink.samples()) {
      if (sample.is_error) continue;
      const Call call = make_call(*op, sample.args, sample.keywords);
      const std::vector<Tensor> views = run_call(call);
      const Args args = known_args(call);
      Metas outputs;
      std::vector<Tensor> dense;
      std::vector<const void*> in;
      std::vector<void*> out;
      for (const Tensor& v : views) {
        outputs.push_back(Meta(v.dtype(), v.shape()));
        dense.push_back(Tensor::empty(v.shape(), v.dtype()));
        out.push_back(dense.back().raw_mutable());
      }
      for (const Meta& m : args.operands()) in.push_back(m.known.raw());
      Team team(2);
      op->kernels[0].bind(args, outputs)(nbx::Run{in.data(), out.data(), nullptr, team});
      for (size_t i = 0; i < views.size(); ++i) EXPECT_TRUE(same_bits(views[i], dense[i])) << op->parsed.full_name();
      ++checked;
    }
  }
  EXPECT_GT(checked, 150);
}

TEST(Views, ExtentsMayBeHugeWhenThereAreNoElements) {
  const int64_t huge = int64_t{1} << 40;
  const Tensor x = Tensor::empty({0, huge}, DType::float32);
  EXPECT_EQ(call("aten::transpose.int", {x, val(0), val(1)})[0].shape(), (Shape{huge, 0}));
  EXPECT_EQ(call("aten::clone", {x})[0].shape(), (Shape{0, huge}));
  EXPECT_EQ(call("aten::cat", {std::vector<Tensor>{x, x}, val(1)})[0].shape(), (Shape{0, 2 * huge}));
  EXPECT_EQ(call("aten::stack", {std::vector<Tensor>{x, x}})[0].shape(), (Shape{2, 0, huge}));
  EXPECT_EQ(call("aten::constant_pad_nd", {x, ints({1, 2})})[0].shape(), (Shape{0, huge + 3}));
  EXPECT_EQ(call("aten::repeat", {x, ints({2, 3})})[0].shape(), (Shape{0, 3 * huge}));
  EXPECT_EQ(call("aten::flip", {x, ints({1})})[0].shape(), (Shape{0, huge}));
  EXPECT_EQ(call("aten::roll", {x, ints({5}), ints({1})})[0].shape(), (Shape{0, huge}));
  EXPECT_EQ(call("aten::tril", {x})[0].shape(), (Shape{0, huge}));
  EXPECT_EQ(call("aten::reshape", {x, ints({huge, 0})})[0].shape(), (Shape{huge, 0}));
  EXPECT_EQ(call("aten::slice.Tensor", {x, val(1), val(3), none, val(huge)})[0].shape(), (Shape{0, 1}));
  EXPECT_EQ(call("aten::unfold", {x, val(1), val(huge), val(1)})[0].shape(), (Shape{0, 1, huge}));
  EXPECT_EQ(call("aten::gather", {x, val(1), Tensor::empty({0, huge}, DType::int64)})[0].shape(), (Shape{0, huge}));
  EXPECT_EQ(call("aten::nonzero", {x})[0].shape(), (Shape{0, 2}));
  EXPECT_EQ(call("aten::zeros", {ints({0, huge})})[0].shape(), (Shape{0, huge}));
}

}  // namespace
}  // namespace nbx
