// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/gemm.h"

#include "backend/cpu/gemm_kernels.h"
#include "base/check.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace nbx {

void gemm_tile_table(GemmKernels& table);
void gemm_pack_table(GemmKernels& table);
void gemm_finish_table(GemmKernels& table);

GemmKernels gemm_kernels() {
  GemmKernels table{};
  gemm_tile_table(table);
  gemm_pack_table(table);
  gemm_finish_table(table);
  return table;
}

void FloatBlock::Free::operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }

FloatBlock::FloatBlock(int64_t count) : bytes_(count * static_cast<int64_t>(sizeof(float))) {
  data_.reset(static_cast<float*>(::operator new[](static_cast<size_t>(bytes_), std::align_val_t{64})));
}

void pack_a_panel(const GemmKernels& kernels, const MatrixView& a, int64_t batch, int64_t m0, int64_t rows,
                  int64_t padded, int64_t k0, int64_t k1, float* room, float* dst) {
  const int64_t kc = k1 - k0;
  const int64_t offset = batch * a.batch_stride + m0 * a.row_stride + k0 * a.col_stride;
  if (a.row_stride == 1 && a.col_stride != 1)
    return kernels.copy_rows(a.data, a.dtype, offset, a.col_stride, kc, rows, padded, dst);
  const float* row[kPanelRows];
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = offset + r * a.row_stride;
    if (a.dtype == DType::float32 && a.col_stride == 1) {
      row[r] = static_cast<const float*>(a.data) + at;
    } else {
      kernels.widen(a.data, a.dtype, at, a.col_stride, kc, room + r * kc);
      row[r] = room + r * kc;
    }
  }
  if (padded == 1) {
    std::memcpy(dst, row[0], static_cast<size_t>(kc) * sizeof(float));
    return;
  }
  kernels.transpose(row, rows, kc, dst, padded);
  for (int64_t r = rows; r < padded; ++r)
    for (int64_t k = 0; k < kc; ++k) dst[k * padded + r] = 0.0f;
}

void pack_b_panel(const GemmKernels& kernels, const MatrixView& b, int64_t batch, int64_t k0, int64_t k1, int64_t n0,
                  int64_t n1, int64_t width, float* room, float* dst) {
  const int64_t kc = k1 - k0, cols = n1 - n0;
  const int64_t offset = batch * b.batch_stride + k0 * b.row_stride + n0 * b.col_stride;
  if (b.col_stride == 1) return kernels.copy_rows(b.data, b.dtype, offset, b.row_stride, kc, cols, width, dst);
  const float* col[kPanelCols];
  for (int64_t j = 0; j < cols; ++j) {
    const int64_t at = offset + j * b.col_stride;
    if (b.dtype == DType::float32 && b.row_stride == 1) {
      col[j] = static_cast<const float*>(b.data) + at;
    } else {
      kernels.widen(b.data, b.dtype, at, b.row_stride, kc, room + j * kc);
      col[j] = room + j * kc;
    }
  }
  kernels.transpose(col, cols, kc, dst, width);
  for (int64_t j = cols; j < width; ++j)
    for (int64_t k = 0; k < kc; ++k) dst[k * width + j] = 0.0f;
}

PackedA::PackedA(const MatrixView& a, int64_t m, int64_t k) : m_(m), k_(k) {
  const RowPanels panels(m);
  block_ = FloatBlock(panels.total_padded() * k + 16);  // GemmKernels::column reads whole vectors
  std::fill_n(block_.data() + panels.total_padded() * k, 16, 0.0f);
  const FloatBlock room(kPanelRows * k);
  const GemmKernels kernels = gemm_kernels();
  for (int64_t p = 0; p < panels.count() && k > 0; ++p)
    pack_a_panel(kernels, a, 0, panels.begin(p), panels.rows(p), panels.padded(p), 0, k, room.data(),
                 block_.data() + panels.begin(p) * k);
}

PackedB::PackedB(const MatrixView& b, int64_t k, int64_t n, Team* team) : k_(k), n_(n) {
  block_ = FloatBlock(padded_cols(n) * k);
  if (k == 0) return;
  const GemmKernels kernels = gemm_kernels();
  const auto pack = [&](int64_t p, float* room) {
    for (int64_t k0 = 0; k0 < k; k0 += kBlockK)
      pack_b_panel(kernels, b, 0, k0, std::min(k, k0 + kBlockK), p * kPanelCols, std::min(n, (p + 1) * kPanelCols),
                   panel_width(n, p), room, block_.data() + p * kPanelCols * k + k0 * panel_width(n, p));
  };
  const int64_t room_floats = kPanelCols * kBlockK;
  if (team != nullptr) {
    team->run_with_scratch(col_panels(n), static_cast<size_t>(room_floats) * sizeof(float),
                           [&](int64_t p, int, void* room) { pack(p, static_cast<float*>(room)); });
  } else {
    const FloatBlock room(room_floats);
    for (int64_t p = 0; p < col_panels(n); ++p) pack(p, room.data());
  }
}

namespace {

// How the work is cut: by the problem alone.
struct Cut {
  int64_t row_panels, col_panels;  // of the problem
  int64_t row_step, col_step;      // panels a task
  int64_t row_tasks, col_tasks;
  int64_t k_step, k_blocks;
  int64_t a_floats, b_floats, room_floats, tile_floats;  // scratch a worker

  int64_t tasks(int64_t batch) const { return batch * row_tasks * col_tasks; }
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool one_column(const Gemm& g) { return g.n == 1 && g.packed_a != nullptr && g.packed_b == nullptr; }

Cut cut_work(const Gemm& g) {
  Cut c{};
  c.row_panels = RowPanels(g.m).count();
  c.col_panels = col_panels(g.n);
  c.k_blocks = std::max<int64_t>(1, ceil_div(g.k, kBlockK));
  c.k_step = std::max<int64_t>(1, ceil_div(g.k, c.k_blocks));

  // One unit is about a floating point operation; an element of B costs 16 more, for few rows it is read from memory. A
  // task of two million units is some 15 us. Large problems get fewer, larger tasks: each packs its own operands.
  const double units = static_cast<double>(g.batch) * g.n * g.k * (2.0 * g.m + 16.0);
  const int64_t wanted =
      static_cast<int64_t>(units < 8e6 ? std::max(1.0, units / 2e6) : std::min(64.0, 3.5 + units / 16e6));
  const bool a_ready = g.packed_a != nullptr, b_ready = g.packed_b != nullptr;
  c.row_step = std::min<int64_t>(c.row_panels, b_ready ? 8 : 16);
  c.col_step = std::min<int64_t>(c.col_panels, 8);
  const auto set_tasks = [&] {
    c.row_tasks = ceil_div(c.row_panels, c.row_step);
    c.col_tasks = ceil_div(c.col_panels, c.col_step);
  };
  for (set_tasks(); c.tasks(g.batch) < wanted && (c.row_step > 1 || c.col_step > 1); set_tasks()) {
    // Cutting columns packs A again for each piece, cutting rows packs B again; what is packed already is free to cut.
    const bool rows_longer = c.row_step * kPanelRows > c.col_step * kPanelCols;
    bool by_rows = a_ready == b_ready ? rows_longer : b_ready ? c.row_step > 2 || c.col_step == 1 : c.col_step == 1;
    if (c.row_step == 1) by_rows = false;
    if (c.col_step == 1) by_rows = true;
    int64_t& step = by_rows ? c.row_step : c.col_step;
    step = ceil_div(step, 2);
  }
  // Even pieces.
  c.row_step = std::max<int64_t>(1, ceil_div(c.row_panels, std::max<int64_t>(1, c.row_tasks)));
  c.col_step = std::max<int64_t>(1, ceil_div(c.col_panels, std::max<int64_t>(1, c.col_tasks)));
  set_tasks();

  c.a_floats = a_ready ? 0 : c.row_step * kPanelRows * c.k_step;
  c.b_floats = b_ready ? 0 : kPanelCols * c.k_step;
  c.room_floats = (a_ready ? 0 : kPanelRows * c.k_step);
  if (!b_ready && g.b_source == nullptr) c.room_floats = kPanelCols * c.k_step;
  c.tile_floats =
      c.k_blocks > 1 || one_column(g) ? c.col_step * c.row_step * kPanelRows * kPanelCols : 4 * kPanelRows * kPanelCols;
  return c;
}

int64_t round_16(int64_t floats) { return (floats + 15) / 16 * 16; }

class Run {
 public:
  Run(const Gemm& g, const Cut& cut) : g_(g), cut_(cut), kernels_(gemm_kernels()), panels_(g.m) {}

  void task(int64_t index, float* scratch) const {
    const int64_t row_task = index % cut_.row_tasks, rest = index / cut_.row_tasks;
    const int64_t col_task = rest % cut_.col_tasks, batch = rest / cut_.col_tasks;
    const int64_t p0 = row_task * cut_.row_step, p1 = std::min(cut_.row_panels, p0 + cut_.row_step);
    const int64_t q0 = col_task * cut_.col_step, q1 = std::min(cut_.col_panels, q0 + cut_.col_step);
    if (p0 >= p1 || q0 >= q1) return;
    if (one_column(g_)) return column_task(batch, p0, p1, scratch);
    float* a_block = scratch;
    float* b_block = a_block + round_16(cut_.a_floats);
    float* room = b_block + round_16(cut_.b_floats);
    float* tiles = room + round_16(cut_.room_floats);

    for (int64_t kb = 0; kb < cut_.k_blocks; ++kb) {
      const int64_t k0 = kb * cut_.k_step, k1 = std::min(g_.k, k0 + cut_.k_step);
      const bool last = kb + 1 == cut_.k_blocks;
      if (g_.packed_a == nullptr)
        for (int64_t p = p0; p < p1; ++p)
          pack_a_panel(kernels_, g_.a, batch, panels_.begin(p), panels_.rows(p), panels_.padded(p), k0, k1, room,
                       a_block + (panels_.begin(p) - panels_.begin(p0)) * (k1 - k0));
      for (int64_t q = q0; q < q1;) {
        const int64_t width = panel_width(g_.n, q);
        const int64_t group = together(p0, p1, q, q1);
        const float* b = right(batch, q, k0, k1, width, room, b_block);
        for (int64_t p = p0; p < p1; ++p) {
          const int64_t step = cut_.k_blocks > 1
                                   ? (panels_.begin(p1 - 1) + panels_.padded(p1 - 1) - panels_.begin(p0)) * kPanelCols
                                   : kPanelRows * kPanelCols;
          float* out =
              cut_.k_blocks > 1 ? tiles + (q - q0) * step + (panels_.begin(p) - panels_.begin(p0)) * kPanelCols : tiles;
          kernels_.tile(panels_.padded(p), left(batch, p, p0, k0, k1, a_block), panels_.padded(p), b, width,
                        g_.k * kPanelCols, group, k1 - k0, out, step, kb > 0);
          for (int64_t i = 0; last && i < group; ++i) finish(batch, p, q + i, out + i * step);
        }
        q += group;
      }
    }
  }

 private:
  // n = 1 with packed A. Tiles lie one behind the other, 12 rows of 32 each, though one column counts.
  void column_task(int64_t batch, int64_t p0, int64_t p1, float* scratch) const {
    float* b_block = scratch + round_16(cut_.a_floats);
    float* room = b_block + round_16(cut_.b_floats);
    float* tiles = room + round_16(cut_.room_floats);
    for (int64_t kb = 0; kb < cut_.k_blocks; ++kb) {
      const int64_t k0 = kb * cut_.k_step, k1 = std::min(g_.k, k0 + cut_.k_step);
      if (g_.b_source != nullptr) {
        (*g_.b_source)(batch, k0, k1, 0, 1, 16, b_block);
        for (int64_t k = 1; k < k1 - k0; ++k) b_block[k] = b_block[k * 16];
      } else {
        kernels_.widen(g_.b.data, g_.b.dtype, batch * g_.b.batch_stride + k0 * g_.b.row_stride, g_.b.row_stride,
                       k1 - k0, b_block);
      }
      for (int64_t p = p0; p < p1;) {
        const int64_t rows = panels_.padded(p);
        const int64_t group = rows == kPanelRows ? std::max<int64_t>(1, std::min(p1, panels_.full) - p) : 1;
        kernels_.column(left(batch, p, p0, k0, k1, nullptr), rows, g_.k * kPanelRows, group, b_block, k1 - k0,
                        tiles + (p - p0) * kPanelRows * kPanelCols, kPanelRows * kPanelCols, kb > 0);
        p += group;
      }
    }
    for (int64_t p = p0; p < p1; ++p) finish(batch, p, 0, tiles + (p - p0) * kPanelRows * kPanelCols);
  }

  // Few rows have few sums: several panels of a packed B at once keep the FMA units busy.
  int64_t together(int64_t p0, int64_t p1, int64_t q, int64_t q1) const {
    if (g_.packed_b == nullptr || p1 - p0 != 1) return 1;
    const int64_t most = std::min(kernels_.tile_panels(panels_.padded(p0)), q1 - q);
    const int64_t full = g_.n / kPanelCols;  // panels of full width
    return std::max<int64_t>(1, std::min(most, full - q));
  }

  const float* left(int64_t batch, int64_t p, int64_t p0, int64_t k0, int64_t k1, const float* a_block) const {
    if (g_.packed_a == nullptr) return a_block + (panels_.begin(p) - panels_.begin(p0)) * (k1 - k0);
    return g_.packed_a[batch % g_.a_period].data() + panels_.begin(p) * g_.k + k0 * panels_.padded(p);
  }

  const float* right(int64_t batch, int64_t q, int64_t k0, int64_t k1, int64_t width, float* room,
                     float* b_block) const {
    if (g_.packed_b != nullptr) return g_.packed_b->data() + q * kPanelCols * g_.k + k0 * width;
    const int64_t n0 = q * kPanelCols, n1 = std::min(g_.n, n0 + width);
    if (g_.b_source != nullptr) {
      (*g_.b_source)(batch, k0, k1, n0, n1, width, b_block);
    } else {
      pack_b_panel(kernels_, g_.b, batch, k0, k1, n0, n1, width, room, b_block);
    }
    return b_block;
  }

  void finish(int64_t batch, int64_t p, int64_t q, const float* tile) const {
    const int64_t m0 = panels_.begin(p), n0 = q * kPanelCols;
    if (g_.c_sink != nullptr) return sink(batch, p, n0, tile);
    const int64_t at = (batch * g_.c_batch_stride + m0 * g_.c_row_stride + n0) * itemsize(g_.c_dtype);
    const Epilogue& e = g_.epilogue;
    kernels_.finish({.tile = tile,
                     .rows = panels_.rows(p),
                     .cols = std::min(kPanelCols, g_.n - n0),
                     .alpha = e.alpha,
                     .col_bias = e.col_bias == nullptr ? nullptr : e.col_bias + n0,
                     .row_bias = e.row_bias == nullptr ? nullptr : e.row_bias + (batch % g_.a_period) * g_.m + m0,
                     .residual = e.residual == nullptr ? nullptr : static_cast<const char*>(e.residual) + at,
                     .c = static_cast<char*>(g_.c) + at,
                     .c_stride = g_.c_row_stride,
                     .c_dtype = g_.c_dtype,
                     .act = e.act,
                     .residual_before_act = e.residual_before_act,
                     .scale = e.scale,
                     .shift = e.shift});
  }

  void sink(int64_t batch, int64_t p, int64_t n0, const float* tile) const {
    alignas(64) float values[kPanelRows * kPanelCols];
    const int64_t m0 = panels_.begin(p), rows = panels_.rows(p), cols = std::min(kPanelCols, g_.n - n0);
    const Epilogue& e = g_.epilogue;
    kernels_.finish({.tile = tile,
                     .rows = rows,
                     .cols = cols,
                     .alpha = e.alpha,
                     .col_bias = e.col_bias == nullptr ? nullptr : e.col_bias + n0,
                     .row_bias = e.row_bias == nullptr ? nullptr : e.row_bias + (batch % g_.a_period) * g_.m + m0,
                     .residual = nullptr,
                     .c = values,
                     .c_stride = kPanelCols,
                     .c_dtype = DType::float32,
                     .act = e.act,
                     .residual_before_act = false,
                     .scale = e.scale,
                     .shift = e.shift});
    (*g_.c_sink)(batch, m0, rows, n0, cols, values);
  }

  const Gemm& g_;
  const Cut& cut_;
  GemmKernels kernels_;
  RowPanels panels_;
};

bool computes(DType d) { return d == DType::float32 || is_half(d); }

int64_t scratch_floats(const Cut& c) {
  return round_16(c.a_floats) + round_16(c.b_floats) + round_16(c.room_floats) + c.tile_floats;
}

}  // namespace

int64_t gemm_scratch_bytes(const Gemm& g) { return scratch_floats(cut_work(g)) * static_cast<int64_t>(sizeof(float)); }

void gemm(Team& team, const Gemm& g) {
  if (g.m <= 0 || g.n <= 0 || g.batch <= 0) return;
  require(g.c_sink != nullptr || computes(g.c_dtype), Code::dtype, "gemm: C is {}; pass float32, bfloat16 or float16",
          name(g.c_dtype));
  require(g.packed_a != nullptr || computes(g.a.dtype), Code::dtype, "gemm: A is {}; pass float32, bfloat16 or float16",
          name(g.a.dtype));
  require(g.packed_b != nullptr || g.b_source != nullptr || computes(g.b.dtype), Code::dtype,
          "gemm: B is {}; pass float32, bfloat16 or float16", name(g.b.dtype));
  for (int64_t i = 0; g.packed_a != nullptr && i < g.a_period; ++i)
    require(g.packed_a[i].m() == g.m && g.packed_a[i].k() == g.k, Code::shape,
            "gemm: packed A {} is ({}, {}), the problem needs ({}, {})", i, g.packed_a[i].m(), g.packed_a[i].k(), g.m,
            g.k);
  require(g.packed_b == nullptr || (g.packed_b->k() == g.k && g.packed_b->n() == g.n), Code::shape,
          "gemm: packed B is ({}, {}), the problem needs ({}, {})", g.packed_b ? g.packed_b->k() : 0,
          g.packed_b ? g.packed_b->n() : 0, g.k, g.n);
  const Cut cut = cut_work(g);
  const Run run(g, cut);
  team.run_with_scratch(cut.tasks(g.batch), static_cast<size_t>(scratch_floats(cut)) * sizeof(float),
                        [&](int64_t task, int, void* scratch) { run.task(task, static_cast<float*>(scratch)); });
}

}  // namespace nbx
