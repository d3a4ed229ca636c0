// SPDX-License-Identifier: Apache-2.0
// The scatter engine. The dim along which two sources may meet is walked in order by one thread; everything else is
// shared out. So duplicates are decided by source order, whatever the number of threads.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/checked.h"
#include "ops/index/indices.h"
#include "ops/shape/items.h"
#include "ops/shape/views.h"
#include "shape/strides.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

// n elements: to[v[i * places] * pace + i * base] op= from[i * step].
struct Line {
  void* to;
  const int64_t* values;
  const void* from;
  int64_t pace, places, base, step, n;
  const void* alpha;  // one accumulator
};
using LineFn = void (*)(const Line&);

template <class T>
void assign_line(const Line& l) {
  T* to = static_cast<T*>(l.to);
  const T* from = static_cast<const T*>(l.from);
  if (l.places == 0) {
    to += l.values[0] * l.pace;
    if (l.base == 1 && l.step == 1) {
      std::copy_n(from, l.n, to);
      return;
    }
    for (int64_t i = 0; i < l.n; ++i) to[i * l.base] = from[i * l.step];
    return;
  }
  for (int64_t i = 0; i < l.n; ++i) to[l.values[i * l.places] * l.pace + i * l.base] = from[i * l.step];
}

template <class T>
using Sum =
    std::conditional_t<sizeof(T) <= 2 && !std::is_integral_v<T>, float, T>;  // half and float8 add up in float32
template <class T>
Sum<T> load(T v) {
  if constexpr (std::is_same_v<Sum<T>, T>)
    return v;
  else
    return to_float(v);
}

template <Reduce op, class A>
A combined(A old, A fresh, A alpha) {
  if constexpr (std::is_same_v<A, bool>) {
    if (op == Reduce::add) return old || (fresh && alpha);
    return op == Reduce::max ? old || fresh : op == Reduce::min || op == Reduce::mul ? old && fresh : old;
  } else if constexpr (op == Reduce::add) {
    if constexpr (std::is_integral_v<A>) {  // wraps, as ATen's
      using U = std::make_unsigned_t<A>;
      return static_cast<A>(
          static_cast<U>(static_cast<U>(old) + static_cast<U>(static_cast<U>(fresh) * static_cast<U>(alpha))));
    } else {
      if (alpha == A(1)) return old + fresh;  // a complex product with 1 would make NaN of an infinity
      return old + fresh * alpha;
    }
  } else if constexpr (op == Reduce::mul) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<uint64_t>(old) * static_cast<uint64_t>(fresh));
    } else {
      return old * fresh;
    }
  } else if constexpr (std::is_floating_point_v<A>) {  // NaN wins
    return (op == Reduce::max ? fresh > old : fresh < old) || fresh != fresh ? (old != old ? old : fresh) : old;
  } else {
    return (op == Reduce::max ? fresh > old : fresh < old) ? fresh : old;
  }
}

template <class T, Reduce op>
void reduce_line(const Line& l) {
  using A = Sum<T>;
  A* to = static_cast<A*>(l.to);
  const T* from = static_cast<const T*>(l.from);
  const A alpha = *static_cast<const A*>(l.alpha);
  if (l.places == 0) {
    to += l.values[0] * l.pace;
    for (int64_t i = 0; i < l.n; ++i) to[i * l.base] = combined<op, A>(to[i * l.base], load(from[i * l.step]), alpha);
    return;
  }
  for (int64_t i = 0; i < l.n; ++i) {
    A& slot = to[l.values[i * l.places] * l.pace + i * l.base];
    slot = combined<op, A>(slot, load(from[i * l.step]), alpha);
  }
}

template <class T>
LineFn reducing(Reduce op) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    require(op == Reduce::add || op == Reduce::mul, Code::dtype,
            "complex numbers have no order: amax and amin are not defined");
    return op == Reduce::add ? reduce_line<T, Reduce::add> : reduce_line<T, Reduce::mul>;
  } else {
    switch (op) {
      case Reduce::add:
        return reduce_line<T, Reduce::add>;
      case Reduce::mul:
        return reduce_line<T, Reduce::mul>;
      case Reduce::max:
        return reduce_line<T, Reduce::max>;
      default:
        return reduce_line<T, Reduce::min>;
    }
  }
}

template <class Fn>
auto with_type(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::float16:
      return fn(float16_t{});
    case DType::bfloat16:
      return fn(bfloat16_t{});
    case DType::float32:
      return fn(float{});
    case DType::float64:
      return fn(double{});
    case DType::int8:
      return fn(int8_t{});
    case DType::int16:
      return fn(int16_t{});
    case DType::int32:
      return fn(int32_t{});
    case DType::int64:
      return fn(int64_t{});
    case DType::uint8:
      return fn(uint8_t{});
    case DType::uint16:
      return fn(uint16_t{});
    case DType::uint32:
      return fn(uint32_t{});
    case DType::uint64:
      return fn(uint64_t{});
    case DType::bool_:
      return fn(false);
    case DType::complex64:
      return fn(std::complex<float>{});
    case DType::complex128:
      return fn(std::complex<double>{});
    default:
      fail(Code::dtype, "scatter: {} has no sums", name(dtype));
  }
}

LineFn line_for(const ScatterSpec& s) {
  if (s.reduce != Reduce::assign) return with_type(s.dtype, [&](auto v) { return reducing<decltype(v)>(s.reduce); });
  LineFn fn = nullptr;
  with_item(itemsize(s.dtype), [&](auto item) { fn = assign_line<decltype(item)>; });
  return fn;
}

// What a target starts from when the sources alone count; as an accumulator.
std::array<std::byte, 16> nothing(const ScatterSpec& s) {
  std::array<std::byte, 16> out{};
  with_type(s.dtype, [&](auto v) {
    using A = Sum<decltype(v)>;
    A start{};
    if (s.reduce == Reduce::mul) start = A(1);
    if constexpr (std::is_floating_point_v<A>) {
      if (s.reduce == Reduce::max) start = -std::numeric_limits<A>::infinity();
      if (s.reduce == Reduce::min) start = std::numeric_limits<A>::infinity();
    } else if constexpr (std::is_integral_v<A>) {
      if (s.reduce == Reduce::max) start = std::numeric_limits<A>::lowest();
      if (s.reduce == Reduce::min) start = std::numeric_limits<A>::max();
    }
    std::memcpy(out.data(), &start, sizeof start);
  });
  return out;
}

// The walk cut in three: rows that never meet, rows in order, and rows and a line that never meet.
struct Nest {
  Loops before, ordered, after;  // strides: places, base, from
  int64_t n = 1;                 // rows of `ordered`
  int64_t line = 1, line_places = 0, line_base = 0, line_from = 0;
  int64_t rows_after = 1, piece = 1, pieces = 1, grain = 1;

  explicit Nest(const ScatterSpec& s) {
    const auto part = [&](size_t begin, size_t end) {
      const auto cut = [&](const Ints& v) { return Ints(v.begin() + begin, v.begin() + end); };
      return coalesce(cut(s.walk), {cut(s.places), cut(s.base), cut(s.from)}, /*reorder=*/false);
    };
    const size_t dim = static_cast<size_t>(s.dim), past = dim + static_cast<size_t>(s.ordered_dims);
    before = part(0, dim);
    ordered = part(dim, past);
    after = part(past, s.walk.size());
    const bool own_line = !after.shape.empty();
    Loops& last = own_line ? after : ordered;
    if (!last.shape.empty()) {
      line = last.shape.back();
      line_places = last.strides[0].back();
      line_base = last.strides[1].back();
      line_from = last.strides[2].back();
      last.shape.pop_back();
      for (Strides& strides : last.strides) strides.pop_back();
    }
    rows_after = rows_of(after);
    n = rows_of(ordered);
    piece = own_line ? std::min<int64_t>(line, 1024) : line;  // places of an own line never meet
    pieces = piece > 0 ? ceil_div(line, piece) : 0;
    grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n * rows_after * piece));
  }
  static int64_t rows_of(const Loops& loops) {
    int64_t rows = 1;
    for (int64_t e : loops.shape) rows *= e;
    return rows;
  }
  struct At {
    int64_t places, base, from;
  };
  static At add(At at, const Loops& loops, int64_t row) {
    for (size_t d = loops.shape.size(); d-- > 0; row /= loops.shape[d]) {
      const int64_t i = row % loops.shape[d];
      at.places += i * loops.strides[0][d];
      at.base += i * loops.strides[1][d];
      at.from += i * loops.strides[2][d];
    }
    return at;
  }
  bool empty() const { return rows_of(before) == 0 || n == 0 || rows_after == 0 || line == 0; }

  // Every source once: those of one target in order. `size`: bytes of a target; `step`: of a source.
  void run(Team& team, LineFn fn, const int64_t* values, int64_t pace, std::byte* to, int64_t size,
           const std::byte* source, int64_t step, bool constant, const void* alpha) const {
    if (empty()) return;
    parallel_rows(team, rows_of(before) * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t first = unit % pieces * piece;
        const At start = add({first * line_places, first * line_base, first * line_from}, before, unit / pieces);
        Line l{nullptr,
               nullptr,
               nullptr,
               pace,
               line_places,
               line_base,
               constant ? 0 : line_from,
               std::min(piece, line - first),
               alpha};
        for (int64_t k = 0; k < n; ++k) {
          const At middle = add(start, ordered, k);
          for (int64_t row = 0; row < rows_after; ++row) {
            const At at = add(middle, after, row);
            l.to = to + at.base * size;
            l.values = values + at.places;
            l.from = constant ? source : source + at.from * step;
            fn(l);
          }
        }
      }
    });
  }
};

void convert_all(Team& team, DType from_type, const std::byte* from, DType to_type, std::byte* to, int64_t n) {
  const CopyRun run = copy_run(from_type, to_type);
  parallel_rows(team, n, 32768, [&](int64_t begin, int64_t end) {
    run(from + begin * itemsize(from_type), 1, to + begin * itemsize(to_type), 1, end - begin);
  });
}

template <class A>
void divide(A* sums, const int64_t* counts, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    if (counts[i] <= 1) continue;  // untouched, or a single one
    if constexpr (std::is_same_v<A, bool>) {
      sums[i] = false;  // true / 2, floored
    } else if constexpr (std::is_integral_v<A>) {
      const A n = static_cast<A>(counts[i]);
      A q = static_cast<A>(sums[i] / n);
      if (sums[i] % n != 0 && (sums[i] < 0)) --q;  // an integer mean rounds to minus infinity
      sums[i] = q;
    } else {
      sums[i] = sums[i] / static_cast<A>(counts[i]);
    }
  }
}

struct Room {
  int64_t index = 0, sums = 0, counts = 0, total = 0;  // byte offsets
  explicit Room(const ScatterSpec& s) {
    const DType acc = accumulator(s.dtype);
    sums = s.index.bytes();
    counts = sums + (s.reduce != Reduce::assign && acc != s.dtype ? align_up(s.numel * itemsize(acc)) : 0);
    total = counts + (s.mean ? align_up(s.numel * 8) : 0);
  }
};

}  // namespace

DType accumulator(DType dtype) { return is_floating(dtype) && itemsize(dtype) <= 2 ? DType::float32 : dtype; }

int64_t scatter_workspace(const ScatterSpec& spec) { return Room(spec).total; }

Bound bind_scatter(const ScatterSpec& spec) {
  struct Plan {
    ScatterSpec spec;
    Nest nest;
    Room room;
    LineFn line, put, count;
    std::array<std::byte, 16> alpha, start;
    explicit Plan(const ScatterSpec& s) : spec(s), nest(s), room(s) {}
  };
  auto plan = std::make_shared<Plan>(spec);
  const DType acc = spec.reduce == Reduce::assign ? spec.dtype : accumulator(spec.dtype);
  plan->line = line_for(spec);
  with_item(itemsize(acc), [&](auto item) { plan->put = assign_line<decltype(item)>; });
  plan->count = reduce_line<int64_t, Reduce::add>;
  plan->alpha = spec.reduce == Reduce::assign ? std::array<std::byte, 16>{} : item_bytes(spec.alpha, acc);
  plan->start = spec.reduce == Reduce::assign ? std::array<std::byte, 16>{} : nothing(spec);

  return [plan, acc](const Run& r) {
    const ScatterSpec& s = plan->spec;
    int64_t* room = reinterpret_cast<int64_t*>(r.workspace);
    s.index.read(r, room);
    const int64_t* values = s.index.fixed ? s.index.fixed->data() : room;
    const std::byte* self = r.in<std::byte>(s.self);
    std::byte* out = r.out<std::byte>(0);
    std::byte* sums = acc == s.dtype ? out : r.workspace + plan->room.sums;
    if (self != sums) convert_all(r.team, s.dtype, self, acc, sums, s.numel);  // else it runs in place

    const std::byte* source = s.source < 0 ? s.constant.data() : r.in<std::byte>(s.source);
    const int64_t size = itemsize(acc), step = itemsize(s.dtype);
    const bool constant = s.source < 0;
    if (!s.include_self)
      plan->nest.run(r.team, plan->put, values, s.pace, sums, size, plan->start.data(), size, true, nullptr);
    plan->nest.run(r.team, plan->line, values, s.pace, sums, size, source, step, constant, plan->alpha.data());
    if (s.mean) {
      int64_t* counts = reinterpret_cast<int64_t*>(r.workspace + plan->room.counts);
      const int64_t one = 1;
      std::fill_n(counts, s.numel, s.include_self ? 1 : 0);
      plan->nest.run(r.team, plan->count, values, s.pace, reinterpret_cast<std::byte*>(counts), 8,
                     reinterpret_cast<const std::byte*>(&one), 8, true, &one);
      with_type(s.dtype, [&](auto v) {
        using A = Sum<decltype(v)>;
        parallel_rows(r.team, s.numel, 16384,
                      [&](int64_t begin, int64_t end) { divide(reinterpret_cast<A*>(sums), counts, begin, end); });
      });
    }
    if (acc != s.dtype) convert_all(r.team, acc, sums, s.dtype, out, s.numel);
  };
}

}  // namespace nbx
