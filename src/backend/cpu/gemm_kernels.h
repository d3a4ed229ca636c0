// SPDX-License-Identifier: Apache-2.0
// The SIMD parts of gemm(), as a table of functions of the target in use, and the packed layouts they share. Layouts
// are the same for every target.
//   A: panels of 12 rows (the last ones shorter), each (k, rows of the panel).
//   B: panels of 32 columns (the last one 16 or 32), each (k, width).
#pragma once
#include "backend/cpu/gemm.h"

#include <algorithm>

namespace nbx {

inline constexpr int64_t kPanelRows = 12;
inline constexpr int64_t kPanelCols = 32;
inline constexpr int64_t kBlockK = 512;  // an A panel of 12 x 512 floats is half of an L1

// How m rows are cut. A panel has 1, 2, 3, 4, 6, 8 or 12 rows in memory: those the tile kernels exist for. One or two
// rows left over would make a tile too small to hide the latency of an FMA, so they are shared out with the panel
// before.
struct RowPanels {
  explicit RowPanels(int64_t rows) : m(rows), full(rows / kPanelRows), rest(rows % kPanelRows) {
    if (full > 0 && (rest == 1 || rest == 2)) {
      --full;
      rest += kPanelRows;
    }
    tail = rest == 0 ? 0 : rest > kPanelRows ? 2 : 1;
  }
  int64_t count() const { return full + tail; }
  int64_t begin(int64_t panel) const {
    return panel <= full ? panel * kPanelRows : panel == full + 1 && tail == 2 ? full * kPanelRows + 8 : m;
  }
  int64_t rows(int64_t panel) const { return std::min(m, begin(panel + 1)) - begin(panel); }
  int64_t padded(int64_t panel) const {
    const int64_t r = rows(panel);
    return r <= 4 ? r : r <= 6 ? 6 : r <= 8 ? 8 : kPanelRows;
  }
  int64_t total_padded() const { return count() == 0 ? 0 : begin(count() - 1) + padded(count() - 1); }

  int64_t m, full, rest, tail;
};

inline int64_t col_panels(int64_t n) { return (n + kPanelCols - 1) / kPanelCols; }
inline int64_t panel_width(int64_t n, int64_t panel) { return n - panel * kPanelCols <= 16 ? 16 : kPanelCols; }
inline int64_t padded_cols(int64_t n) {
  return n == 0 ? 0 : (col_panels(n) - 1) * kPanelCols + panel_width(n, col_panels(n) - 1);
}

struct FinishTile {
  const float* tile;   // (rows, tile_stride), readable in whole vectors
  int64_t rows, cols;  // to store
  float alpha;
  const float* col_bias;  // (cols) or null
  const float* row_bias;  // (rows) or null
  const void* residual;   // (rows, cols), c_dtype, stride c_stride, or null
  void* c;                // (rows, cols), c_dtype
  int64_t c_stride;
  DType c_dtype;
  ActivationSpec act;
  bool residual_before_act;
  float scale = 1.0f, shift = 0.0f;  // after act
  int64_t tile_stride = kPanelCols;  // 16-bit C: at most 12 rows of at most 32 columns a call
};

struct GemmKernels {
  // out[p] (rows, 32) = or += a (kc, ka)[:, :rows] x b[p] (kc, width), for `panels` B panels b_step floats apart and
  // tiles out_step apart. rows: 1, 2, 3, 4, 6, 8, 12.
  void (*tile)(int64_t rows, const float* a, int64_t ka, const float* b, int64_t width, int64_t b_step, int64_t panels,
               int64_t kc, float* out, int64_t out_step, bool add);
  // The same for one column: out[r * 32] = or += sum over k of a[k, r] x[k], for panels of 12 rows a_step floats apart
  // whose tiles are out_step apart; reads up to 16 floats behind a panel.
  void (*column)(const float* a, int64_t rows, int64_t a_step, int64_t panels, const float* x, int64_t kc, float* out,
                 int64_t out_step, bool add);
  int64_t (*tile_panels)(int64_t rows);  // how many B panels at once hide the latency
  void (*finish)(const FinishTile& f);
  // dst[i] = float(src[i * stride]), i in [0, n)
  void (*widen)(const void* src, DType dtype, int64_t offset, int64_t stride, int64_t n, float* dst);
  // dst (rows, width) = src (rows, cols) with unit column stride; columns beyond are zero
  void (*copy_rows)(const void* src, DType dtype, int64_t offset, int64_t row_stride, int64_t rows, int64_t cols,
                    int64_t width, float* dst);
  // dst (k, ld): dst[i * ld + j] = rows[j][i] for j in [0, count)
  void (*transpose)(const float* const* rows, int64_t count, int64_t k, float* dst, int64_t ld);
};

// Of the target in use.
GemmKernels gemm_kernels();

// A rows [m0, m0 + rows) and k [k0, k1) -> dst (k1 - k0, padded); rows beyond are zero. room: (12, k1 - k0) floats.
void pack_a_panel(const GemmKernels& kernels, const MatrixView& a, int64_t batch, int64_t m0, int64_t rows,
                  int64_t padded, int64_t k0, int64_t k1, float* room, float* dst);
// B rows [k0, k1), columns [n0, n1) -> dst (k1 - k0, width). room: (32, k1 - k0) floats.
void pack_b_panel(const GemmKernels& kernels, const MatrixView& b, int64_t batch, int64_t k0, int64_t k1, int64_t n0,
                  int64_t n1, int64_t width, float* room, float* dst);

}  // namespace nbx
