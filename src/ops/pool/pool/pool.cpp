// SPDX-License-Identifier: Apache-2.0
// Two ways to a window. The rows under an output row are folded into one (vectors over the whole width), and that row
// into the outputs; or, for windows that are wide, raised to a power or asked for their index, each window by itself.
#include "ops/pool/pool/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reduce/blocks.h"
#include "ops/reduce/folds.h"

namespace nbx {
namespace {

template <class A>
A start_of(Fold kind) {
  if (kind != Fold::max) return A{0};
  return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
}

void fold_rows(Fold kind, float* acc, const float* x, int64_t n) { fold_columns(kind, acc, x, n); }
template <class A>
void fold_rows(Fold kind, A* acc, const A* x, int64_t n) {
  if (kind == Fold::max) {
    for (int64_t i = 0; i < n; ++i) acc[i] = acc[i] != acc[i] || acc[i] > x[i] ? acc[i] : x[i];
  } else {
    for (int64_t i = 0; i < n; ++i) acc[i] += x[i];
  }
}

// Output columns [first, last) whose windows lie in `span` input columns from `from` on.
struct Tile {
  int64_t first, last, from, span;
};

template <class A>
struct Job {
  PoolSpec s;
  Source<A> source;
  Sink<A> sink;
  int operand;
  std::vector<Tile> tiles;  // empty: each window by itself

  Job(const Args& a, DType out)
      : s(pool_spec(a)), source(a.tensor("self").dtype), sink(out), operand(a.operand("self")) {
    const PoolAxis& w = s.axes[2];
    const int64_t widest = w.taps.empty() ? 0 : *std::max_element(w.taps.begin(), w.taps.end());
    if (s.indices != PoolIndices::none || s.kind == PoolKind::lp || (widest - 1) * w.step + 1 > kBlock / 2) return;
    for (int64_t o = 0; o < w.out;) {
      Tile t{o, o, -1, 0};
      for (; o < w.out; ++o) {
        const auto i = static_cast<size_t>(o);
        if (w.taps[i] > 0) {
          const int64_t from = t.from < 0 ? w.first[i] : std::min(t.from, w.first[i]);
          const int64_t end = std::max(t.from < 0 ? 0 : t.from + t.span, w.first[i] + (w.taps[i] - 1) * w.step + 1);
          if (end - from > kBlock) break;
          t.from = from;
          t.span = end - from;
        }
        if (o - t.first == kBlock) break;
      }
      t.last = o;
      t.from = std::max<int64_t>(t.from, 0);
      tiles.push_back(t);
    }
  }

  A divided(A sum, int64_t count) const {
    if constexpr (std::is_floating_point_v<A>) return sum / static_cast<A>(count);
    return count == 0 ? A{0} : static_cast<A>(sum / static_cast<A>(count));
  }
  // What the sum over the window at (d, h, w) is divided by; 0: no element of it lies inside.
  int64_t divisor(size_t d, size_t h, size_t w) const {
    const int64_t inside = s.axes[0].taps[d] * s.axes[1].taps[h] * s.axes[2].taps[w];
    if (inside == 0) return 0;
    if (s.divisor != 0) return s.divisor;
    return s.count_padding ? s.axes[0].cover[d] * s.axes[1].cover[h] * s.axes[2].cover[w] : inside;
  }

  int64_t row_offset(int64_t plane, size_t d, int64_t td, size_t h, int64_t th) const {
    const int64_t z = s.axes[0].first[d] + td * s.axes[0].step, y = s.axes[1].first[h] + th * s.axes[1].step;
    return ((plane * s.axes[0].in + z) * s.axes[1].in + y) * s.axes[2].in;
  }

  void tile_row(const Run& run, int64_t plane, size_t d, size_t h, const Tile& t) const {
    const Fold kind = s.kind == PoolKind::max ? Fold::max : Fold::sum;
    A in[kBlock], column[kBlock], out[kBlock];
    std::fill_n(column, t.span, start_of<A>(kind));
    for (int64_t td = 0; td < s.axes[0].taps[d]; ++td)
      for (int64_t th = 0; th < s.axes[1].taps[h]; ++th)
        fold_rows(kind, column,
                  source.read(run.inputs[operand], row_offset(plane, d, td, h, th) + t.from, 1, t.span, in), t.span);

    const PoolAxis& w = s.axes[2];
    const int64_t n = t.last - t.first;
    const int64_t at =
        ((plane * s.axes[0].out + static_cast<int64_t>(d)) * s.axes[1].out + static_cast<int64_t>(h)) * w.out + t.first;
    A* to = sink.place(run.outputs[0], at, out);
    if (w.regular && w.stride == 1) {
      // Tap k of output o is column o - pad + k step: whole runs of outputs at once.
      std::fill_n(to, n, start_of<A>(kind));
      // Only the taps that some output of the tile sees inside the input: a window may be far wider than it.
      const int64_t most = w.pad - t.first;
      const int64_t k0 = std::max<int64_t>(0, (most - n) / w.step),
                    k1 = most + w.in < 0 ? 0 : std::min(w.kernel, (most + w.in) / w.step + 1);
      for (int64_t k = k0; k < k1; ++k) {
        const int64_t shift = most - k * w.step;
        const int64_t lo = std::max<int64_t>(0, shift), hi = std::min(n, w.in + shift);
        if (lo < hi) fold_rows(kind, to + lo, column + (t.first + lo - w.pad + k * w.step - t.from), hi - lo);
      }
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const auto o = static_cast<size_t>(t.first + i);
        const A* c = column + (w.first[o] - t.from);
        A v = start_of<A>(kind);
        if (kind == Fold::max) {
          for (int64_t k = 0; k < w.taps[o]; ++k) v = v != v || v > c[k * w.step] ? v : c[k * w.step];
        } else {
          for (int64_t k = 0; k < w.taps[o]; ++k) v += c[k * w.step];
        }
        to[i] = v;
      }
    }
    if (s.kind == PoolKind::average) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t count = divisor(d, h, static_cast<size_t>(t.first + i));
        to[i] = count == 0 ? A{0} : divided(to[i], count);
      }
    }
    sink.write(to, n, run.outputs[0], at);
  }

  int64_t index_of(int64_t plane, int64_t z, int64_t y, int64_t x) const {
    const int64_t D = s.axes[0].in, H = s.axes[1].in, W = s.axes[2].in;
    const int64_t at = s.indices == PoolIndices::whole_column_major ? (x * H + y) * D + z : (z * H + y) * W + x;
    return s.indices == PoolIndices::plane ? at : plane * D * H * W + at;
  }

  void window(const Run& run, int64_t plane, size_t d, size_t h, size_t w) const {
    const PoolAxis& axis = s.axes[2];
    A in[kBlock];
    double total = 0;
    A exact = 0, best = start_of<A>(Fold::max);
    int64_t best_at = -1;
    for (int64_t td = 0; td < s.axes[0].taps[d]; ++td) {
      for (int64_t th = 0; th < s.axes[1].taps[h]; ++th) {
        const int64_t base = row_offset(plane, d, td, h, th) + axis.first[w];
        for (int64_t k = 0; k < axis.taps[w]; k += kBlock) {
          const int64_t n = std::min(kBlock, axis.taps[w] - k);
          const A* x = source.read(run.inputs[operand], base + k * axis.step, axis.step, n, in);
          if (s.kind == PoolKind::average) {
            if constexpr (std::is_same_v<A, float>)
              total += fold_row(Fold::sum, x, n);
            else if constexpr (std::is_same_v<A, double>)
              for (int64_t i = 0; i < n; ++i) total += x[i];
            else
              for (int64_t i = 0; i < n; ++i) exact += x[i];
          } else if (s.kind == PoolKind::lp) {
            for (int64_t i = 0; i < n; ++i) total += std::pow(std::fabs(static_cast<double>(x[i])), s.p);
          } else {
            for (int64_t i = 0; i < n; ++i) {
              if (best_at >= 0 && !(x[i] > best || (x[i] != x[i] && best == best))) continue;
              best = x[i];
              best_at = index_of(plane, s.axes[0].first[d] + td * s.axes[0].step,
                                 s.axes[1].first[h] + th * s.axes[1].step, axis.first[w] + (k + i) * axis.step);
            }
          }
        }
      }
    }
    const int64_t at =
        ((plane * s.axes[0].out + static_cast<int64_t>(d)) * s.axes[1].out + static_cast<int64_t>(h)) * axis.out +
        static_cast<int64_t>(w);
    if (s.kind == PoolKind::average) {
      const int64_t count = divisor(d, h, w);
      if (std::is_floating_point_v<A>)
        best = count == 0 ? A{0} : static_cast<A>(total / static_cast<double>(count));
      else
        best = divided(exact, count);
    } else if (s.kind == PoolKind::lp) {
      best = static_cast<A>(std::pow(total, 1 / s.p));
    }
    sink.write(&best, 1, run.outputs[0], at);
    if (s.indices != PoolIndices::none) run.out<int64_t>(1)[at] = best_at;
  }

  void operator()(const Run& run) const {
    const int64_t d_out = s.axes[0].out, h_out = s.axes[1].out, w_out = s.axes[2].out;
    if (s.planes * d_out * h_out * w_out == 0) return;
    const int64_t taps = *std::max_element(s.axes[0].taps.begin(), s.axes[0].taps.end()) *
                         *std::max_element(s.axes[1].taps.begin(), s.axes[1].taps.end());
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, taps * s.axes[2].in));
    parallel_rows(run.team, s.planes * d_out * h_out, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const auto h = static_cast<size_t>(r % h_out), d = static_cast<size_t>(r / h_out % d_out);
        const int64_t plane = r / h_out / d_out;
        for (const Tile& t : tiles) tile_row(run, plane, d, h, t);
        if (tiles.empty())
          for (int64_t w = 0; w < w_out; ++w) window(run, plane, d, h, static_cast<size_t>(w));
      }
    });
  }
};

}  // namespace

Bound bind_pool(const Args& a, const Metas& outputs) {
  return in_arithmetic(arithmetic_of(a.tensor("self").dtype, a.op().c_str()),
                       [&](auto zero) -> Bound { return Job<decltype(zero)>(a, outputs[0].dtype); });
}

}  // namespace nbx
