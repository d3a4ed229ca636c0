// SPDX-License-Identifier: Apache-2.0
#include "ops/quant/int_product.h"

#include <algorithm>
#include <cstring>

namespace nbx {

namespace {

constexpr int64_t kDepth = 256;  // a block of A and one of B are 32 KiB each
constexpr int64_t kTileBytes = kIntRows * kIntCols * 4;
constexpr int64_t kABytes = kIntRows * kDepth * 2;
constexpr int64_t kBBytes = kDepth * kIntCols * 2;

}  // namespace

int64_t int_product_scratch() { return kTileBytes + kABytes + kBBytes; }

void int_product(Team& team, const IntProduct& p, FillRows fill_rows, FillCols fill_cols, TakeTile take) {
  const int64_t down = (p.m + kIntRows - 1) / kIntRows, across = (p.n + kIntCols - 1) / kIntCols;
  team.run_with_scratch(p.batch * down * across, static_cast<size_t>(int_product_scratch()),
                        [&](int64_t chunk, int, void* scratch) {
                          std::byte* bytes = static_cast<std::byte*>(scratch);
                          int32_t* tile = reinterpret_cast<int32_t*>(bytes);
                          int16_t* a = reinterpret_cast<int16_t*>(bytes + kTileBytes);
                          int16_t* b = reinterpret_cast<int16_t*>(bytes + kTileBytes + kABytes);
                          const int64_t batch = chunk / (down * across), row = chunk / across % down * kIntRows,
                                        col = chunk % across * kIntCols;
                          const int64_t rows = std::min(kIntRows, p.m - row), cols = std::min(kIntCols, p.n - col);
                          std::memset(tile, 0, static_cast<size_t>(rows * kIntCols * 4));
                          for (int64_t k = 0; k < p.k; k += kDepth) {
                            const int64_t depth = std::min(kDepth, p.k - k);
                            fill_rows(batch, row, rows, k, depth, a);
                            fill_cols(batch, k, depth, col, cols, b);
                            int_tile(a, b, rows, cols, depth, tile);
                          }
                          take(batch, row, rows, col, cols, tile);
                        });
}

}  // namespace nbx
