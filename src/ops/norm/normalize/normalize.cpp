// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/normalize/normalize.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/reduce/dims.h"
#include "ops/reduce/engine.h"

namespace nbx {

NormalizeSpec normalize_spec(const Args& a) {
  const std::string op = a.op();
  const Meta& x = a.tensor("self");
  require(is_floating(x.dtype), Code::dtype, "{}: {} is not floating", op, to_string(x));
  NormalizeSpec s;
  if (op == "lrn") {
    s.kind = NormalizeKind::response;
    require(x.rank() >= 2, Code::shape, "lrn: {} needs a batch and a channel dim", to_string(x));
    s.size = a.integer("size");
    require(s.size >= 1, Code::value, "lrn: size is {}; it must be at least 1", s.size);
    s.alpha = a.number("alpha");
    s.beta = a.number("beta");
    s.bias = a.number("bias");
    s.channels = x.shape[1];
    for (size_t d = 2; d < x.shape.size(); ++d) s.space *= x.shape[d];
  } else if (op == "lp_normalize") {
    const int64_t p = a.integer("p");
    require(p == 1 || p == 2, Code::value, "lp_normalize: p is {}; use 1 or 2", p);
    s.kind = p == 1 ? NormalizeKind::l1 : NormalizeKind::l2;
    s.over = dim_mask({a.integer("axis")}, x.rank(), op);
  } else {
    s.kind = NormalizeKind::mean_variance;
    s.over = dim_mask(a.ints("axes"), x.rank(), op);
  }
  return s;
}

namespace {

// Each group of elements by itself: its statistics, then its elements.
template <class A>
struct Groups {
  NormalizeSpec s;
  Reducing loops;
  Source<A> source;
  Sink<A> sink;

  template <class Each>
  void blocks(const void* x, int64_t base, A* scratch, Each f) const {
    const int64_t run = loops.reduced.inner(), step = loops.reduced.step();
    for (int64_t t = 0; t < loops.terms;) {
      const int64_t n = std::min(run - t % run, kBlock), at = base + loops.reduced.offset(t);
      f(source.read(x, at, step, n, scratch), n, at);
      t += n;
    }
  }

  void operator()(const Run& run) const {
    const double terms = static_cast<double>(loops.terms);
    if (loops.terms == 0) return;
    parallel_rows(run.team, loops.outputs, std::max<int64_t>(1, 16384 / loops.terms), [&](int64_t begin, int64_t end) {
      A scratch[kBlock], out[kBlock];
      for (int64_t o = begin; o < end; ++o) {
        const int64_t base = loops.kept.offset(o);
        double mean = 0, spread = 0;
        if (s.kind == NormalizeKind::mean_variance)
          blocks(run.inputs[0], base, scratch, [&](const A* x, int64_t n, int64_t) {
            for (int64_t i = 0; i < n; ++i) mean += x[i];
          });
        mean /= terms;
        blocks(run.inputs[0], base, scratch, [&](const A* x, int64_t n, int64_t) {
          for (int64_t i = 0; i < n; ++i) {
            const double v = x[i] - mean;
            spread += s.kind == NormalizeKind::l1 ? std::fabs(v) : v * v;
          }
        });
        // The small number is ONNX's, added to the deviation and not to the variance.
        if (s.kind == NormalizeKind::mean_variance) spread = std::sqrt(spread / terms) + 1e-9;
        if (s.kind == NormalizeKind::l2) spread = std::sqrt(spread);
        const double factor = spread == 0 ? 0 : 1 / spread;
        blocks(run.inputs[0], base, scratch, [&](const A* x, int64_t n, int64_t at) {
          for (int64_t i = 0; i < n; ++i) out[i] = static_cast<A>((x[i] - mean) * factor);
          sink.write(out, n, run.outputs[0], at, loops.reduced.step());
        });
      }
    });
  }
};

template <class A>
struct Response {
  NormalizeSpec s;
  int64_t samples;
  Source<A> source;
  Sink<A> sink;

  void operator()(const Run& run) const {
    constexpr int64_t side = 256;
    const int64_t blocks = ceil_div(s.space, side);
    parallel_rows(run.team, samples * s.channels * blocks, 16, [&](int64_t begin, int64_t end) {
      A scratch[side], out[side];
      double sum[side];
      for (int64_t r = begin; r < end; ++r) {
        const int64_t first = r % blocks * side, n = std::min(side, s.space - first), row = r / blocks,
                      c = row % s.channels;
        const auto read = [&](int64_t k) {
          return source.read(run.inputs[0], (row + k - c) * s.space + first, 1, n, scratch);
        };
        std::fill_n(sum, n, 0.0);
        for (int64_t k = std::max<int64_t>(0, c - (s.size - 1) / 2); k <= std::min(s.channels - 1, c + s.size / 2);
             ++k) {
          const A* x = read(k);
          for (int64_t i = 0; i < n; ++i) sum[i] += static_cast<double>(x[i]) * x[i];
        }
        const A* x = read(c);
        for (int64_t i = 0; i < n; ++i)
          out[i] = static_cast<A>(x[i] * std::pow(s.bias + s.alpha / static_cast<double>(s.size) * sum[i], -s.beta));
        sink.write(out, n, run.outputs[0], row * s.space + first);
      }
    });
  }
};

}  // namespace

Bound bind_normalize(const Args& a, const Metas& outputs) {
  const NormalizeSpec s = normalize_spec(a);
  const Meta& x = a.tensor("self");
  return in_float_arithmetic(arithmetic_of(x.dtype, a.op().c_str()), [&](auto zero) -> Bound {
    using A = decltype(zero);
    const Source<A> source(x.dtype);
    const Sink<A> sink(outputs[0].dtype);
    if (s.kind == NormalizeKind::response) return Response<A>{s, x.numel() == 0 ? 0 : x.shape[0], source, sink};
    return Groups<A>{s, reducing(x.shape, contiguous_strides(x.shape), s.over), source, sink};
  });
}

}  // namespace nbx
