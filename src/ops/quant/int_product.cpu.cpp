// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quant/int_product.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd.h"

#include "ops/quant/int_product.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using I = hn::ScalableTag<int32_t>;

// `R` rows and two vectors of columns: 2 R sums stay in registers over the whole depth.
template <int R>
HWY_INLINE void strip(const int16_t* a, const int16_t* b, int64_t depth, int32_t* tile) {
  const I d;
  const hn::Rebind<int16_t, I> narrow;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<I> low[R], high[R];
  for (int r = 0; r < R; ++r) {
    low[r] = hn::LoadU(d, tile + r * kIntCols);
    high[r] = hn::LoadU(d, tile + r * kIntCols + lanes);
  }
  for (int64_t k = 0; k < depth; ++k) {
    const auto b0 = hn::PromoteTo(d, hn::LoadU(narrow, b + k * kIntCols));
    const auto b1 = hn::PromoteTo(d, hn::LoadU(narrow, b + k * kIntCols + lanes));
    for (int r = 0; r < R; ++r) {
      const auto v = hn::Set(d, static_cast<int32_t>(a[r * depth + k]));
      low[r] = hn::Add(low[r], hn::Mul(v, b0));
      high[r] = hn::Add(high[r], hn::Mul(v, b1));
    }
  }
  for (int r = 0; r < R; ++r) {
    hn::StoreU(low[r], d, tile + r * kIntCols);
    hn::StoreU(high[r], d, tile + r * kIntCols + lanes);
  }
}

void tile_sums(const int16_t* a, const int16_t* b, int64_t rows, int64_t cols, int64_t depth, int32_t* tile) {
  const int64_t step = 2 * static_cast<int64_t>(hn::Lanes(I()));
  static_assert(kIntCols * 4 >= 2 * HWY_MAX_BYTES, "a strip must fit in the tile");
  for (int64_t c = 0; c < cols; c += step) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) strip<4>(a + r * depth, b + c, depth, tile + r * kIntCols + c);
    for (; r < rows; ++r) strip<1>(a + r * depth, b + c, depth, tile + r * kIntCols + c);
  }
}

}  // namespace nbx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(tile_sums);
void int_tile(const int16_t* a, const int16_t* b, int64_t rows, int64_t cols, int64_t depth, int32_t* tile) {
  HWY_DYNAMIC_DISPATCH(tile_sums)(a, b, rows, cols, depth, tile);
}
}  // namespace nbx
#endif
