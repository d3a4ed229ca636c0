// SPDX-License-Identifier: Apache-2.0
// The tile: a few rows of A against one panel of B, sums in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/gemm_kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/unroll.h"

#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using VF = hn::Vec<D>;

// Registers: 12 x 2 sums, 2 of B and a broadcast fit into 32; 6 x 2 into 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kMaxRows = 12;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kMaxRows = 4;
#else
constexpr int kMaxRows = 6;
#endif

// Floats ahead: a packed B is read from memory when A has few rows, and its panels end before the hardware's prefetcher
// is sure.
constexpr int64_t kPrefetch = 1024;

// R rows x V vectors x P panels. Every sum is one chain over k in order, whatever R, V and P: a result's bits do not
// depend on the shape of the tile that made it.
template <int R, int V, int P>
HWY_NOINLINE void tile_of(const float* HWY_RESTRICT a, int64_t ka, const float* HWY_RESTRICT b, int64_t width,
                          int64_t b_step, int64_t kc, float* HWY_RESTRICT out, int64_t out_step, bool add) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  VF sum[P][R][V];
  NBX_UNROLL
  for (int p = 0; p < P; ++p) NBX_UNROLL
  for (int r = 0; r < R; ++r) NBX_UNROLL
  for (int v = 0; v < V; ++v)
    sum[p][r][v] = add ? hn::LoadU(d, out + p * out_step + r * kPanelCols + v * lanes) : hn::Zero(d);
  for (int64_t k = 0; k < kc; ++k) {
    NBX_UNROLL
    for (int p = 0; p < P; ++p) {
      VF right[V];
      NBX_UNROLL
      for (int v = 0; v < V; ++v) hwy::Prefetch(b + p * b_step + v * lanes + kPrefetch);
      NBX_UNROLL
      for (int v = 0; v < V; ++v) right[v] = hn::LoadU(d, b + p * b_step + v * lanes);
      NBX_UNROLL
      for (int r = 0; r < R; ++r) {
        const VF left = hn::Set(d, a[r]);
        NBX_UNROLL
        for (int v = 0; v < V; ++v) sum[p][r][v] = hn::MulAdd(left, right[v], sum[p][r][v]);
      }
    }
    a += ka;
    b += width;
  }
  NBX_UNROLL
  for (int p = 0; p < P; ++p) NBX_UNROLL
  for (int r = 0; r < R; ++r) NBX_UNROLL
  for (int v = 0; v < V; ++v) hn::StoreU(sum[p][r][v], d, out + p * out_step + r * kPanelCols + v * lanes);
}

template <int R, int P>
void tile_cols(const float* a, int64_t ka, const float* b, int64_t width, int64_t b_step, int64_t kc, float* out,
               int64_t out_step, bool add) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(D()));
  // One row has few sums: on narrow vectors take four vectors of columns at once.
  constexpr int V = R == 1 && HWY_LANES(float) <= 8 ? 4 : 2;
  int64_t c = 0;
  for (; c + V * lanes <= width; c += V * lanes)
    tile_of<R, V, P>(a, ka, b + c, width, b_step, kc, out + c, out_step, add);
  for (; c < width; c += lanes) tile_of<R, 1, P>(a, ka, b + c, width, b_step, kc, out + c, out_step, add);
}

template <int R>
void tile_rows(const float* a, int64_t ka, const float* b, int64_t width, int64_t b_step, int64_t panels, int64_t kc,
               float* out, int64_t out_step, bool add) {
  int64_t p = 0;
  if constexpr (R <= 2) {
    constexpr int P = R == 1 ? (HWY_LANES(float) > 8 ? 4 : 2) : 2;
    for (; p + P <= panels; p += P)
      tile_cols<R, P>(a, ka, b + p * b_step, width, b_step, kc, out + p * out_step, out_step, add);
  }
  for (; p < panels; ++p) tile_cols<R, 1>(a, ka, b + p * b_step, width, b_step, kc, out + p * out_step, out_step, add);
}

void tile(int64_t rows, const float* a, int64_t ka, const float* b, int64_t width, int64_t b_step, int64_t panels,
          int64_t kc, float* out, int64_t out_step, bool add) {
  while (rows > 0) {
    int64_t done = rows;
    if constexpr (kMaxRows >= 12) {
      switch (rows) {
        case 12:
          tile_rows<12>(a, ka, b, width, b_step, panels, kc, out, out_step, add);
          break;
        case 8:
          tile_rows<8>(a, ka, b, width, b_step, panels, kc, out, out_step, add);
          break;
        default:
          done = 0;
      }
    }
    if (kMaxRows < 12 || done == 0) {
      done = rows == 8 ? 4 : std::min<int64_t>(rows, kMaxRows);
      switch (done) {
        case 6:
          if constexpr (kMaxRows >= 6) tile_rows<6>(a, ka, b, width, b_step, panels, kc, out, out_step, add);
          break;
        case 4:
          tile_rows<4>(a, ka, b, width, b_step, panels, kc, out, out_step, add);
          break;
        case 3:
          tile_rows<3>(a, ka, b, width, b_step, panels, kc, out, out_step, add);
          break;
        case 2:
          tile_rows<2>(a, ka, b, width, b_step, panels, kc, out, out_step, add);
          break;
        default:
          done = 1;
          tile_rows<1>(a, ka, b, width, b_step, panels, kc, out, out_step, add);
      }
    }
    rows -= done;
    a += done;
    out += done * kPanelCols;
  }
}

// One column of B (fully connected layers on one pixel): vectors along the rows of a panel, P panels at once.
template <int P>
HWY_NOINLINE void column_of(const float* HWY_RESTRICT a, int64_t rows, int64_t a_step, const float* HWY_RESTRICT x,
                            int64_t kc, float* HWY_RESTRICT out, int64_t out_step, bool add) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float sums[HWY_MAX(kPanelRows, HWY_LANES(float)) + HWY_LANES(float)];
  for (int64_t r0 = 0; r0 < rows; r0 += lanes) {
    VF sum[P];
    NBX_UNROLL
    for (int p = 0; p < P; ++p) sum[p] = hn::Zero(d);
    const float* at = a + r0;
    for (int64_t k = 0; k < kc; ++k, at += rows) {
      const VF v = hn::Set(d, x[k]);
      NBX_UNROLL
      for (int p = 0; p < P; ++p) sum[p] = hn::MulAdd(hn::LoadU(d, at + p * a_step), v, sum[p]);
    }
    const int64_t count = std::min(lanes, rows - r0);
    NBX_UNROLL
    for (int p = 0; p < P; ++p) {
      hn::Store(sum[p], d, sums);
      for (int64_t r = 0; r < count; ++r) {
        float& to = out[p * out_step + (r0 + r) * kPanelCols];
        to = add ? to + sums[r] : sums[r];
      }
    }
  }
}

void column(const float* a, int64_t rows, int64_t a_step, int64_t panels, const float* x, int64_t kc, float* out,
            int64_t out_step, bool add) {
  int64_t p = 0;
  for (; p + 8 <= panels; p += 8) column_of<8>(a + p * a_step, rows, a_step, x, kc, out + p * out_step, out_step, add);
  for (; p + 4 <= panels; p += 4) column_of<4>(a + p * a_step, rows, a_step, x, kc, out + p * out_step, out_step, add);
  for (; p < panels; ++p) column_of<1>(a + p * a_step, rows, a_step, x, kc, out + p * out_step, out_step, add);
}

int64_t tile_panels(int64_t rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }

}  // namespace

void gemm_tile_entries(GemmKernels& table) {
  table.tile = tile;
  table.column = column;
  table.tile_panels = tile_panels;
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(gemm_tile_entries);
void gemm_tile_table(GemmKernels& table) { HWY_DYNAMIC_DISPATCH(gemm_tile_entries)(table); }
}  // namespace nbx
#endif
