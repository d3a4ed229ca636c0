// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/extreme/extreme.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/reduce/dims.h"
#include "ops/reduce/engine.h"

namespace nbx {

ExtremeSpec extreme_spec(const Args& a) {
  const Meta& x = a.tensor("self");
  const std::string op = a.op();
  ExtremeSpec s;
  s.largest = op.find("max") != std::string::npos;
  s.over = all_dims(x.rank());
  if (a.has("dim")) s.over = dim_mask({a.integer("dim")}, x.rank(), op);
  s.keepdim = a.flag("keepdim");
  if (a.schema().find("select_last_index") >= 0) s.last = a.flag("select_last_index");
  if (a.schema().returns.size() > 1) {
    s.value_output = 0;
    s.index_output = 1;
  }
  for (size_t d = 0; d < s.over.size(); ++d)
    require(!s.over[d] || x.shape[d] != 0, Code::shape,
            "{}: dim {} of {} is empty and an empty set has no extreme; leave the dim out", op, d, to_string(x));
  return s;
}

namespace {

constexpr int64_t kSide = 256;

template <class A>
struct Best {
  A value;
  int64_t index;
};

template <class A>
struct Job {
  ExtremeSpec spec;
  Reducing loops;
  Source<A> source;
  Sink<A> sink;
  int operand;

  // Does v, which comes later, replace the best so far? A NaN beats everything.
  bool wins(A v, A best) const {
    if (best != best) return spec.last && v != v;
    if (v != v || (spec.largest ? v > best : v < best)) return true;
    return spec.last && v == best;
  }

  Best<A> scan(const A* x, int64_t n, int64_t at, Best<A> best, bool fresh) const {
    if constexpr (std::is_same_v<A, float>) {
      // Most blocks of a long row hold no better element; only then is the place looked for.
      const float extreme = static_cast<float>(fold_row(spec.largest ? Fold::max : Fold::min, x, n));
      if (!fresh && !wins(extreme, best.value)) return best;
      const auto hit = [&](int64_t i) { return x[i] == extreme || (extreme != extreme && x[i] != x[i]); };
      int64_t i = spec.last ? n - 1 : 0;
      while (!hit(i)) i += spec.last ? -1 : 1;
      return {x[i], at + i};
    } else {
      int64_t i = 0;
      if (fresh) best = {x[i++], at};
      for (; i < n; ++i)
        if (wins(x[i], best.value)) best = {x[i], at + i};
      return best;
    }
  }

  void rows(const void* x, int64_t first, int64_t last, int64_t begin, int64_t end, A* values, int64_t* indices) const {
    A scratch[kBlock];
    const int64_t run = loops.reduced.inner(), step = loops.reduced.step();
    for (int64_t o = first; o < last; ++o) {
      const int64_t base = loops.kept.offset(o);
      Best<A> best{};
      for (int64_t t = begin; t < end;) {
        const int64_t n = std::min({run - t % run, end - t, kBlock});
        best = scan(source.read(x, base + loops.reduced.offset(t), step, n, scratch), n, t, best, t == begin);
        t += n;
      }
      values[o - first] = best.value;
      indices[o - first] = best.index;
    }
  }

  void columns(const void* x, int64_t first, int64_t last, int64_t begin, int64_t end, A* values,
               int64_t* indices) const {
    A scratch[kSide];
    const int64_t inner = loops.kept.inner();
    for (int64_t o = first; o < last;) {
      const int64_t n = std::min({inner - o % inner, last - o, kSide});
      const int64_t base = loops.kept.offset(o);
      A* v = values + (o - first);
      int64_t* at = indices + (o - first);
      for (int64_t t = begin; t < end; ++t) {
        const A* row = source.read(x, base + loops.reduced.offset(t), 1, n, scratch);
        for (int64_t i = 0; i < n; ++i) {
          if (t != begin && !wins(row[i], v[i])) continue;
          v[i] = row[i];
          at[i] = t;
        }
      }
      o += n;
    }
  }

  void range(const void* x, int64_t first, int64_t last, int64_t begin, int64_t end, A* values,
             int64_t* indices) const {
    if (loops.columns)
      columns(x, first, last, begin, end, values, indices);
    else
      rows(x, first, last, begin, end, values, indices);
  }

  void write(const Run& run, int64_t first, int64_t n, const A* values, const int64_t* indices) const {
    if (spec.value_output >= 0) sink.write(values, n, run.outputs[spec.value_output], first);
    std::copy_n(indices, n, run.out<int64_t>(spec.index_output) + first);
  }

  void operator()(const Run& run) const {
    const void* x = run.inputs[operand];
    if (loops.pieces == 1) {
      parallel_rows(run.team, loops.outputs, loops.grain, [&](int64_t begin, int64_t end) {
        A values[kSide];
        int64_t indices[kSide];
        for (int64_t o = begin; o < end; o += kSide) {
          const int64_t n = std::min(kSide, end - o);
          range(x, o, o + n, 0, loops.terms, values, indices);
          write(run, o, n, values, indices);
        }
      });
      return;
    }
    A* values = reinterpret_cast<A*>(run.workspace);  // (pieces, outputs)
    int64_t* indices = reinterpret_cast<int64_t*>(run.workspace + loops.pieces * loops.outputs * 8);
    run.team.run(loops.pieces, [&](int64_t piece, int) {
      range(x, 0, loops.outputs, piece * loops.piece, std::min((piece + 1) * loops.piece, loops.terms),
            values + piece * loops.outputs, indices + piece * loops.outputs);
    });
    for (int64_t piece = 1; piece < loops.pieces; ++piece) {
      for (int64_t o = 0; o < loops.outputs; ++o) {
        const int64_t from = piece * loops.outputs + o;
        if (!wins(values[from], values[o])) continue;
        values[o] = values[from];
        indices[o] = indices[from];
      }
    }
    write(run, 0, loops.outputs, values, indices);
  }
};

Reducing loops_of(const Args& a) {
  const Meta& x = a.tensor("self");
  return reducing(x.shape, x.strides, extreme_spec(a).over);
}

}  // namespace

int64_t extreme_bytes(const Args& a) {
  const Reducing r = loops_of(a);
  return r.pieces > 1 ? (r.pieces + 2) * r.outputs * 16 : 0;
}

Bound bind_extreme(const Args& a, const Metas&) {
  const Meta& x = a.tensor("self");
  return in_arithmetic(arithmetic_of(x.dtype, a.op().c_str()), [&](auto zero) -> Bound {
    using A = decltype(zero);
    return Job<A>{extreme_spec(a), loops_of(a), Source<A>(x.dtype), Sink<A>(x.dtype), a.operand("self")};
  });
}

Bound bind_both_extremes(const Args& a, const Metas&) {
  const Meta& x = a.tensor("self");
  const Reducing loops = loops_of(a);
  const int operand = a.operand("self");
  return in_arithmetic(arithmetic_of(x.dtype, "aminmax"), [&](auto zero) -> Bound {
    using A = decltype(zero);
    const Source<A> source(x.dtype);
    const Sink<Total<A>> sink(x.dtype);
    return [=](const Run& run) {
      for (const int i : {0, 1}) {
        Passes passes;
        passes.first = i == 0 ? Fold::min : Fold::max;
        run_reduction<A>(loops, source, passes, run.inputs[operand], run.workspace, run.team,
                         [&](int64_t first, int64_t n, Total<A>* totals, Total<A>*) {
                           sink.write(totals, n, run.outputs[i], first);
                         });
      }
    };
  });
}

}  // namespace nbx
