// SPDX-License-Identifier: Apache-2.0
// Attention by blocks of keys with a running maximum and sum (Dao et al. 2022): the scores of a block of queries never
// leave the cache. The work is cut by (batch, head, block of queries) alone.
#include "ops/attention/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "ops/attention/attention/block.h"
#include "ops/reduce/folds.h"
#include "ops/softmax/rows.h"

namespace nbx {
namespace {

constexpr int64_t kQueries = 32, kKeys = 64;  // scores of a block: 8 KiB

float row_max(const float* x, int64_t n) { return static_cast<float>(fold_row(Fold::max, x, n)); }
double row_max(const double* x, int64_t n) {
  double top = -INFINITY;
  for (int64_t i = 0; i < n; ++i) top = top != top || top > x[i] ? top : x[i];
  return top;
}
double exp_shift_store(const double* x, double* y, int64_t n, double m) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - m);
  return sum;
}
void scale_in_place(double* y, int64_t n, double s) {
  for (int64_t i = 0; i < n; ++i) y[i] *= s;
}
using nbx::exp_shift_store;
using nbx::scale_in_place;

template <class A>
struct Room {  // of one worker
  A *q, *kt, *v, *s, *acc, *bias, *top, *sum;
};

template <class A>
struct Job {
  AttentionSpec s;
  Source<A> q, k, v, mask;
  Sink<A> y, scores;

  static constexpr A kMasked = -std::numeric_limits<A>::infinity();

  int64_t block() const { return std::min(kQueries, s.queries); }
  int64_t elements() const {
    const int64_t n = block();
    return n * s.depth + s.depth * kKeys + kKeys * std::max(s.width, s.depth) + n * kKeys + n * s.width + kKeys + 2 * n;
  }
  Room<A> room(void* memory) const {
    A* at = static_cast<A*>(memory);
    const auto take = [&](int64_t n) {
      A* begin = at;
      at += n;
      return begin;
    };
    const int64_t n = block();
    Room<A> r;
    r.q = take(n * s.depth);
    r.kt = take(s.depth * kKeys);
    r.v = take(kKeys * std::max(s.width, s.depth));
    r.s = take(n * kKeys);
    r.acc = take(n * s.width);
    r.bias = take(kKeys);
    r.top = take(n);
    r.sum = take(n);
    return r;
  }
  const void* address(const Run& run, const AttentionView& view, int present) const {
    return s.presents && present > 0 ? run.outputs[present] : run.inputs[view.operand];
  }

  // Scores of queries [i0, i0 + n) by keys [j0, j0 + m), masks applied as far as the mode wants them.
  void score(const Run& run, const Room<A>& r, int64_t lead, int64_t i0, int64_t n, int64_t j0, int64_t m,
             int stage) const {
    const void* keys = address(run, s.k, 1);
    const int64_t base = s.k.lead.offset(lead);
    for (int64_t j = 0; j < m; ++j) {
      const A* row = k.read(keys, base + (j0 + j) * s.k.row, s.k.step, s.depth, r.v);
      for (int64_t d = 0; d < s.depth; ++d) r.kt[d * kKeys + j] = row[d];
    }
    std::fill_n(r.s, n * kKeys, A{0});
    block_product(r.q, s.depth, r.kt, kKeys, r.s, kKeys, n, m, s.depth);
    if (s.softcap > 0 && stage > 0)
      for (int64_t i = 0; i < n; ++i) soft_cap(r.s + i * kKeys, m, static_cast<A>(s.softcap));
    if (stage < 2) return;
    const int64_t* lengths = s.lengths < 0 ? nullptr : run.in<int64_t>(s.lengths);
    for (int64_t i = 0; i < n; ++i) {
      A* row = r.s + i * kKeys;
      const auto range = s.range(i0 + i, lengths, lead);
      const int64_t first = std::clamp<int64_t>(range.first - j0, 0, m);
      const int64_t last = std::clamp<int64_t>(range.last - j0, first, m);
      std::fill(row, row + first, kMasked);
      std::fill(row + last, row + m, kMasked);
      if (s.mask.operand < 0 || first == last) continue;
      const void* masks = run.inputs[s.mask.operand];
      const int64_t at = s.mask.lead.offset(lead) + (i0 + i) * s.mask.row + (j0 + first) * s.mask.step;
      const A* bias = mask.read(masks, at, s.mask.step, last - first, r.bias);
      if (s.mask.dtype == DType::bool_) {
        for (int64_t j = first; j < last; ++j)
          if (bias[j - first] == A{0}) row[j] = kMasked;
      } else {
        // A key masked by -inf is out whatever its score, NaN and inf included.
        for (int64_t j = first; j < last; ++j) row[j] = bias[j - first] == kMasked ? kMasked : row[j] + bias[j - first];
      }
    }
  }

  void write_scores(const Run& run, const Room<A>& r, int64_t lead, int64_t i0, int64_t n) const {
    const int64_t base = (lead * s.queries + i0) * s.keys;
    const int stage = std::min(s.scores_mode, 2);
    for (int64_t j0 = 0; j0 < s.keys; j0 += kKeys) {
      const int64_t m = std::min(kKeys, s.keys - j0);
      score(run, r, lead, i0, n, j0, m, stage);
      for (int64_t i = 0; i < n; ++i) {
        A* row = r.s + i * kKeys;
        if (s.scores_mode == 3) {
          if (r.top[i] == kMasked) {
            std::fill_n(row, m, A{0});
          } else {
            exp_shift_store(row, row, m, r.top[i]);
            scale_in_place(row, m, 1 / r.sum[i]);
          }
        }
        scores.write(row, m, run.outputs[3], base + i * s.keys + j0);
      }
    }
  }

  void attend(const Run& run, const Room<A>& r, int64_t lead, int64_t i0, int64_t n) const {
    const void* values = address(run, s.v, 2);
    const int64_t* lengths = s.lengths < 0 ? nullptr : run.in<int64_t>(s.lengths);
    int64_t begin = s.keys, end = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = s.q.lead.offset(lead) + (i0 + i) * s.q.row;
      q.copy(run.inputs[s.q.operand], at, s.q.step, s.depth, r.q + i * s.depth);
      const auto range = s.range(i0 + i, lengths, lead);
      if (range.first == range.last) continue;
      begin = std::min(begin, range.first);
      end = std::max(end, range.last);
    }
    scale_in_place(r.q, n * s.depth, static_cast<A>(s.scale));
    std::fill_n(r.acc, n * s.width, A{0});
    std::fill_n(r.top, n, kMasked);
    std::fill_n(r.sum, n, A{0});
    for (int64_t j0 = begin; j0 < end; j0 += kKeys) {
      const int64_t m = std::min(kKeys, end - j0);
      score(run, r, lead, i0, n, j0, m, 2);
      for (int64_t i = 0; i < n; ++i) {
        A* row = r.s + i * kKeys;
        const A here = row_max(row, m);
        const A old = r.top[i];
        const A top = old != old || old > here ? old : here;
        if (top == kMasked) {  // nothing seen yet
          std::fill_n(row, m, A{0});
          continue;
        }
        if (top != old) {
          const A shrink = old == kMasked ? A{0} : std::exp(old - top);
          r.sum[i] *= shrink;
          if (old == kMasked)
            std::fill_n(r.acc + i * s.width, s.width, A{0});  // 0 times a masked NaN is NaN
          else
            scale_in_place(r.acc + i * s.width, s.width, shrink);
          r.top[i] = top;
        }
        r.sum[i] += static_cast<A>(exp_shift_store(row, row, m, top));
      }
      const int64_t at = s.v.lead.offset(lead) + j0 * s.v.row;
      const A* block = r.v;
      int64_t row = s.width;
      if (v.direct() && s.v.step == 1) {
        block = static_cast<const A*>(values) + at;
        row = s.v.row;
      } else {
        for (int64_t j = 0; j < m; ++j) v.copy(values, at + j * s.v.row, s.v.step, s.width, r.v + j * s.width);
      }
      block_product(r.s, kKeys, block, row, r.acc, s.width, n, s.width, m);
    }
    for (int64_t i = 0; i < n; ++i) {
      A* row = r.acc + i * s.width;
      if (r.top[i] == kMasked)
        std::fill_n(row, s.width, A{0});
      else
        scale_in_place(row, s.width, 1 / r.sum[i]);
      y.write(row, s.width, run.outputs[0], s.y.lead.offset(lead) + (i0 + i) * s.y.row, s.y.step);
    }
    if (s.scores) write_scores(run, r, lead, i0, n);
  }

  void operator()(const Run& run) const {
    const int64_t blocks = s.queries == 0 ? 0 : ceil_div(s.queries, kQueries);
    const auto bytes = static_cast<size_t>(elements()) * sizeof(A);
    run.team.run_with_scratch(s.lead * blocks, bytes, [&](int64_t chunk, int, void* memory) {
      const int64_t i0 = chunk % blocks * kQueries;
      attend(run, room(memory), chunk / blocks, i0, std::min(kQueries, s.queries - i0));
    });
  }
};

// Past and new rows of every (batch, head), one after the other.
void join(const Run& run, const AttentionSpec& s, const AttentionView& fresh, int past, int result, int64_t width) {
  const int64_t size = itemsize(fresh.dtype), added = s.keys - s.old_keys;
  parallel_rows(run.team, s.batch * s.heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::byte* to = run.out<std::byte>(result) + i * s.keys * width * size;
      const int64_t old = s.old_keys * width * size;
      if (past >= 0) std::copy_n(run.in<std::byte>(past) + i * old, old, to);
      const std::byte* from = run.in<std::byte>(fresh.operand) + fresh.lead.offset(i) * size;
      for (int64_t j = 0; j < added; ++j)
        std::copy_n(from + j * fresh.row * size, width * size, to + old + j * width * size);
    }
  });
}

}  // namespace

Bound bind_attention(const AttentionSpec& s) {
  const DType mask = s.mask.operand < 0 ? DType::float32 : s.mask.dtype;
  const DType scores = s.scores ? s.q.dtype : DType::float32;
  const bool wide = s.q.dtype == DType::float64 || s.v.dtype == DType::float64;
  return in_float_arithmetic(wide ? Arithmetic::f64 : Arithmetic::f32, [&](auto zero) -> Bound {
    using A = decltype(zero);
    const Job<A> job{s,
                     Source<A>(s.q.dtype),
                     Source<A>(s.k.dtype),
                     Source<A>(s.v.dtype),
                     Source<A>(mask),
                     Sink<A>(s.y.dtype),
                     Sink<A>(scores)};
    return [job](const Run& run) {
      if (job.s.presents) {
        join(run, job.s, job.s.new_k, job.s.past_k, 1, job.s.depth);
        join(run, job.s, job.s.new_v, job.s.past_v, 2, job.s.width);
      }
      job(run);
    };
  });
}

}  // namespace nbx
