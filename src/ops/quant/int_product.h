// SPDX-License-Identifier: Apache-2.0
// The integer product below every op of this family: C = A B with A (m, k), B (k, n) given by rules that fill blocks of
// them with zero points already taken off. 8-bit values less an 8-bit zero point fit in int16; each product is widened
// to int32 before it is added, so nothing saturates, and a sum that leaves int32 wraps.
#pragma once
#include <cstdint>

#include "backend/cpu/team.h"
#include "base/function_ref.h"

namespace nbx {

// One chunk of work is a tile of C; both extents follow from the problem alone.
inline constexpr int64_t kIntRows = 64;
inline constexpr int64_t kIntCols = 64;

// dst (rows, depth): rows [row, row + rows) of A, depths [k, k + depth).
using FillRows = FunctionRef<void(int64_t batch, int64_t row, int64_t rows, int64_t k, int64_t depth, int16_t* dst)>;
// dst (depth, kIntCols): columns [col, col + cols) of B; the columns beyond `cols` may hold anything.
using FillCols = FunctionRef<void(int64_t batch, int64_t k, int64_t depth, int64_t col, int64_t cols, int16_t* dst)>;
// Takes the finished tile (rows, kIntCols), of which `cols` columns count.
using TakeTile =
    FunctionRef<void(int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, const int32_t* tile)>;

struct IntProduct {
  int64_t batch = 1, m = 0, n = 0, k = 0;
};
// Allocates nothing after the team's scratch has grown to int_product_scratch() a worker. k = 0 gives zeros.
void int_product(Team& team, const IntProduct& p, FillRows rows, FillCols cols, TakeTile take);
int64_t int_product_scratch();

// tile (rows, kIntCols) += a (rows, depth) b (depth, kIntCols), for the first `cols` columns.
void int_tile(const int16_t* a, const int16_t* b, int64_t rows, int64_t cols, int64_t depth, int32_t* tile);

}  // namespace nbx
