// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"

namespace nbx {
namespace {

constexpr int64_t kColumns = 512;   // outputs folded side by side: accumulators and totals stay in L1
constexpr int64_t kRun = 64;        // rows summed in float32 before the sums go to the double totals
constexpr int64_t kChunk = 32768;   // terms a chunk at least: a few microseconds of work
constexpr int64_t kPiece = 131072;  // terms of one output from which on it is cut

}  // namespace

Reducing reducing(const Shape& shape, const Strides& strides, const std::vector<bool>& over) {
  Reducing r;
  for (size_t d = 0; d < shape.size(); ++d) (over[d] ? r.reduced : r.kept).add(shape[d], strides[d]);
  r.outputs = r.kept.numel;
  r.terms = r.reduced.numel;
  r.columns = r.outputs > 0 && r.kept.rank > 0 && r.kept.step() == 1 && (r.reduced.rank == 0 || r.reduced.step() != 1);

  const int64_t side = r.columns ? std::min(kColumns, r.kept.inner()) : 1;
  const int64_t terms = std::max<int64_t>(r.terms, 1);
  r.grain = std::max<int64_t>(ceil_div(kChunk, terms), side);
  if (r.columns) r.grain = ceil_div(r.grain, side) * side;
  r.grain = std::min(r.grain, std::max<int64_t>(r.outputs, 1));
  r.piece = terms;
  if (terms > 1 && ceil_div(std::max<int64_t>(r.outputs, 1), r.grain) < 32 && terms > kPiece / side) {
    r.piece = std::max<int64_t>(kPiece / 2 / side, 1);
    r.pieces = ceil_div(terms, r.piece);
  }
  return r;
}

template <class A>
Total<A> identity(Fold kind) {
  using T = Total<A>;
  using Limits = std::numeric_limits<T>;
  switch (kind) {
    case Fold::prod:
      return T{1};
    case Fold::max:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Fold::min:
    case Fold::absmin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default:
      return T{0};
  }
}

template <class A>
Total<A> joined(Fold kind, Total<A> a, Total<A> b) {
  switch (kind) {
    case Fold::prod:
      if constexpr (std::is_same_v<A, int64_t>)  // wraps, as ATen
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      return a * b;
    case Fold::max:
    case Fold::absmax:
      return a != a || a > b ? a : b;
    case Fold::min:
    case Fold::absmin:
      return a != a || a < b ? a : b;
    default:
      break;
  }
  if constexpr (std::is_same_v<A, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return a + b;
}

namespace {

// One term of a kind, for the types that have no vector form.
template <class A>
Total<A> term(Fold kind, A v, Total<A> p, double q) {
  using T = Total<A>;
  if constexpr (std::is_floating_point_v<A>) {
    const double x = v;
    switch (kind) {
      case Fold::nansum:
        return x != x ? 0 : x;
      case Fold::abs:
      case Fold::absmax:
      case Fold::absmin:
        return std::fabs(x);
      case Fold::square:
        return x * x;
      case Fold::nonzero:
        return x != 0;
      case Fold::centred:
        return x - p;
      case Fold::centred_square:
        return (x - p) * (x - p);
      case Fold::exp_shifted:
        return std::exp(x - p);
      case Fold::power:
        return std::pow(std::fabs(x), q);
      default:
        return x;
    }
  } else {
    switch (kind) {
      case Fold::abs:
      case Fold::absmax:
      case Fold::absmin:
        return v < A{0} ? static_cast<T>(0 - static_cast<uint64_t>(v)) : v;
      case Fold::square:
        return static_cast<T>(static_cast<uint64_t>(v) * static_cast<uint64_t>(v));
      case Fold::nonzero:
        return v != 0;
      default:
        return v;
    }
  }
}

template <class A>
Total<A> fold_plain(Fold kind, const A* x, int64_t n, Total<A> p, double q) {
  if (kind == Fold::sum && std::is_same_v<A, double>) {  // four chains: one waits on its own latency
    Total<A> s[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (int c = 0; c < 4; ++c) s[c] += x[i + c];
    for (; i < n; ++i) s[0] += x[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
  }
  Total<A> total = identity<A>(kind);
  for (int64_t i = 0; i < n; ++i) total = joined<A>(kind, total, term<A>(kind, x[i], p, q));
  return total;
}
double fold_block(Fold kind, const float* x, int64_t n, double p, double q) {
  return fold_row(kind, x, n, static_cast<float>(p), q);
}
double fold_block(Fold kind, const double* x, int64_t n, double p, double q) {
  return fold_plain<double>(kind, x, n, p, q);
}
int64_t fold_block(Fold kind, const int64_t* x, int64_t n, int64_t p, double q) {
  return fold_plain<int64_t>(kind, x, n, p, q);
}
uint64_t fold_block(Fold kind, const uint64_t* x, int64_t n, uint64_t p, double q) {
  return fold_plain<uint64_t>(kind, x, n, p, q);
}

// A float32 sum can overflow on its way to a result that does not, or that is finite only before its root is taken:
// then it is taken again in double. True infinities come out the same.
bool may_overflow(Fold kind) {
  return kind == Fold::sum || kind == Fold::abs || kind == Fold::square || kind == Fold::centred_square;
}
double fold_in_double(const Reducing& r, const Source<float>& source, const void* x, Fold kind, int64_t base,
                      int64_t begin, int64_t end, double p) {
  double total = 0;
  for (int64_t t = begin; t < end; ++t) {
    float v;
    source.copy(x, base + r.reduced.offset(t), 1, 1, &v);
    total += term<double>(kind, v, p, 0);
  }
  return total;
}

template <class A>
Total<A> fold_one(const Reducing& r, const Source<A>& source, const void* x, Fold kind, double q, int64_t base,
                  int64_t begin, int64_t end, Total<A> p) {
  A scratch[kBlock];
  Total<A> total = identity<A>(kind);
  const int64_t run = r.reduced.inner(), step = r.reduced.step();
  for (int64_t t = begin; t < end;) {
    const int64_t n = std::min({run - t % run, end - t, kBlock});
    const A* block = source.read(x, base + r.reduced.offset(t), step, n, scratch);
    total = joined<A>(kind, total, fold_block(kind, block, n, p, q));
    t += n;
  }
  if constexpr (std::is_same_v<A, float>)
    if (!std::isfinite(total) && may_overflow(kind)) return fold_in_double(r, source, x, kind, base, begin, end, p);
  return total;
}

bool adds(Fold kind) { return kind != Fold::max && kind != Fold::min && kind != Fold::absmax && kind != Fold::absmin; }

// `n` <= kColumns outputs that lie side by side from `base` on.
template <class A>
void fold_side_by_side(const Reducing& r, const Source<A>& source, const void* x, Fold kind, double q, int64_t base,
                       int64_t n, int64_t begin, int64_t end, const Total<A>* p, Total<A>* totals) {
  A scratch[kColumns];
  std::fill_n(totals, n, identity<A>(kind));
  const bool vectors = std::is_same_v<A, float> && kind != Fold::prod && kind != Fold::power;
  if (!vectors) {
    for (int64_t t = begin; t < end; ++t) {
      const A* row = source.read(x, base + r.reduced.offset(t), 1, n, scratch);
      for (int64_t i = 0; i < n; ++i)
        totals[i] = joined<A>(kind, totals[i], term<A>(kind, row[i], p ? p[i] : Total<A>{0}, q));
    }
    return;
  }
  if constexpr (std::is_same_v<A, float>) {
    float acc[kColumns], shift[kColumns];
    if (p)
      for (int64_t i = 0; i < n; ++i) shift[i] = static_cast<float>(p[i]);
    for (int64_t t = begin; t < end;) {
      const int64_t stop = std::min(end, t + kRun);
      std::fill_n(acc, n, static_cast<float>(identity<A>(kind)));
      for (; t < stop; ++t)
        fold_columns(kind, acc, source.read(x, base + r.reduced.offset(t), 1, n, scratch), n, p ? shift : nullptr);
      if (adds(kind)) {
        for (int64_t i = 0; i < n; ++i) totals[i] += acc[i];
      } else {
        for (int64_t i = 0; i < n; ++i) totals[i] = joined<A>(kind, totals[i], acc[i]);
      }
    }
    if (may_overflow(kind))
      for (int64_t i = 0; i < n; ++i)
        if (!std::isfinite(totals[i]))
          totals[i] = fold_in_double(r, source, x, kind, base + i, begin, end, p ? p[i] : 0);
  }
}

// Rows of a few terms that follow each other, such as pairs: the calls of a vectorised row would cost more than its
// terms.
bool fold_short_rows(const Reducing& r, const Source<float>& source, const void* x, Fold kind, int64_t first,
                     int64_t last, double* totals) {
  constexpr int64_t kShort = 8;
  if (kind != Fold::sum && kind != Fold::max && kind != Fold::min) return false;
  if (r.terms < 1 || r.terms > kShort || r.reduced.rank != 1 || r.reduced.step() != 1 || r.kept.rank != 1 ||
      r.kept.step() != r.terms)
    return false;
  float scratch[kBlock];
  const int64_t most = kBlock / r.terms;
  for (int64_t o = first; o < last;) {
    const int64_t rows = std::min(most, last - o);
    const float* row = source.read(x, r.kept.offset(o), 1, rows * r.terms, scratch);
    for (int64_t i = 0; i < rows; ++i, row += r.terms) {
      double total = row[0];
      if (kind == Fold::sum)
        for (int64_t t = 1; t < r.terms; ++t) total += row[t];
      else
        for (int64_t t = 1; t < r.terms; ++t) total = joined<float>(kind, total, row[t]);
      totals[o - first + i] = total;
    }
    o += rows;
  }
  return true;
}

template <class A>
void shift_totals(Passes::Between between, int64_t terms, Total<A>* totals, int64_t n) {
  if constexpr (std::is_floating_point_v<A>) {
    if (between == Passes::Between::mean) {
      for (int64_t i = 0; i < n; ++i) totals[i] /= static_cast<double>(terms);
    } else if (between == Passes::Between::finite) {
      for (int64_t i = 0; i < n; ++i)
        if (std::isinf(totals[i])) totals[i] = 0;
    }
  }
}

}  // namespace

template <class A>
void fold_range(const Reducing& r, const Source<A>& source, const void* x, Fold kind, double q, int64_t first,
                int64_t last, int64_t begin, int64_t end, const Total<A>* p, Total<A>* totals) {
  if (!r.columns) {
    if constexpr (std::is_same_v<A, float>)
      if (p == nullptr && end - begin == r.terms && fold_short_rows(r, source, x, kind, first, last, totals)) return;
    for (int64_t o = first; o < last; ++o)
      totals[o - first] =
          fold_one<A>(r, source, x, kind, q, r.kept.offset(o), begin, end, p ? p[o - first] : Total<A>{0});
    return;
  }
  const int64_t inner = r.kept.inner();
  for (int64_t o = first; o < last;) {
    const int64_t n = std::min({inner - o % inner, last - o, kColumns});
    fold_side_by_side<A>(r, source, x, kind, q, r.kept.offset(o), n, begin, end, p ? p + (o - first) : nullptr,
                         totals + (o - first));
    o += n;
  }
}

// Cut: partials of all pieces, then the two totals. Not cut: everything is on the stack.
int64_t reduction_workspace(const Reducing& r) { return r.pieces > 1 ? (r.pieces + 2) * r.outputs * 8 : 0; }

template <class A>
void run_reduction(const Reducing& r, const Source<A>& source, const Passes& passes, const void* x,
                   std::byte* workspace, Team& team, FunctionRef<void(int64_t, int64_t, Total<A>*, Total<A>*)> finish) {
  using T = Total<A>;
  if (r.outputs == 0) return;
  if (r.pieces == 1) {
    parallel_rows(team, r.outputs, r.grain, [&](int64_t begin, int64_t end) {
      T first[kColumns], second[kColumns];
      for (int64_t o = begin; o < end; o += kColumns) {
        const int64_t stop = std::min(o + kColumns, end);
        fold_range<A>(r, source, x, passes.first, passes.q, o, stop, 0, r.terms, nullptr, first);
        if (!passes.two) {
          finish(o, stop - o, first, nullptr);
          continue;
        }
        shift_totals<A>(passes.between, r.terms, first, stop - o);
        fold_range<A>(r, source, x, passes.second, passes.q, o, stop, 0, r.terms, first, second);
        finish(o, stop - o, second, first);
      }
    });
    return;
  }

  T* first = reinterpret_cast<T*>(workspace);
  T* second = first + r.outputs;
  T* partial = second + r.outputs;  // (pieces, outputs)
  const auto pass = [&](Fold kind, const T* p, T* totals) {
    const int64_t blocks = ceil_div(r.outputs, r.grain);
    team.run(r.pieces * blocks, [&](int64_t chunk, int) {
      const int64_t piece = chunk / blocks, o = chunk % blocks * r.grain, stop = std::min(o + r.grain, r.outputs);
      fold_range<A>(r, source, x, kind, passes.q, o, stop, piece * r.piece, std::min((piece + 1) * r.piece, r.terms),
                    p ? p + o : nullptr, partial + piece * r.outputs + o);
    });
    for (int64_t o = 0; o < r.outputs; ++o) {
      T total = partial[o];
      for (int64_t piece = 1; piece < r.pieces; ++piece) total = joined<A>(kind, total, partial[piece * r.outputs + o]);
      totals[o] = total;
    }
  };
  pass(passes.first, nullptr, first);
  if (passes.two) {
    shift_totals<A>(passes.between, r.terms, first, r.outputs);
    pass(passes.second, first, second);
  }
  for (int64_t o = 0; o < r.outputs; o += kColumns) {
    const int64_t n = std::min(kColumns, r.outputs - o);
    finish(o, n, (passes.two ? second : first) + o, passes.two ? first + o : nullptr);
  }
}

#define NBX_REDUCTION_TYPES(A)                                                                                         \
  template Total<A> identity<A>(Fold);                                                                                 \
  template Total<A> joined<A>(Fold, Total<A>, Total<A>);                                                               \
  template void fold_range<A>(const Reducing&, const Source<A>&, const void*, Fold, double, int64_t, int64_t, int64_t, \
                              int64_t, const Total<A>*, Total<A>*);                                                    \
  template void run_reduction<A>(const Reducing&, const Source<A>&, const Passes&, const void*, std::byte*, Team&,     \
                                 FunctionRef<void(int64_t, int64_t, Total<A>*, Total<A>*)>);
NBX_REDUCTION_TYPES(float)
NBX_REDUCTION_TYPES(double)
NBX_REDUCTION_TYPES(int64_t)
NBX_REDUCTION_TYPES(uint64_t)
#undef NBX_REDUCTION_TYPES

}  // namespace nbx
