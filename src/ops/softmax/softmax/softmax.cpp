// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "ops/reduce/blocks.h"
#include "ops/reduce/folds.h"
#include "ops/softmax/rows.h"
#include "shape/strides.h"

namespace nbx {

SoftmaxSpec softmax_spec(const Args& a) {
  const Meta& x = a.tensor("self");
  const std::string op = a.op();
  const auto has = [&](const char* param) { return a.schema().find(param) >= 0; };
  SoftmaxSpec s;
  s.out = x.dtype;
  if (op.find("log_softmax") != std::string::npos) s.kind = SoftmaxKind::log;
  if (op == "_safe_softmax") s.kind = SoftmaxKind::safe;
  if (op == "hardmax") s.kind = SoftmaxKind::hard;
  if (has("dtype"))
    if (const auto wanted = a.optional_dtype("dtype")) s.out = *wanted;
  if (has("half_to_float") && a.flag("half_to_float")) {
    require(x.dtype == DType::float16, Code::dtype, "{}: half_to_float takes float16, self is {}; pass False", op,
            to_string(x));
    s.out = DType::float32;
  }
  require(is_floating(s.out), Code::dtype, "{}: {} is not floating; pass dtype=float32", op, to_string(x));
  require(!is_complex(x.dtype), Code::dtype, "{}: {} is not supported", op, to_string(x));

  const int64_t dim = wrap_dim(a.integer("dim"), x.rank(), op);
  const bool flat = has("flat") && a.flag("flat");  // ONNX before opset 13: over dim and all after it
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < dim ? s.outer : d == dim || flat ? s.n : s.inner) *= x.shape[static_cast<size_t>(d)];
  return s;
}

namespace {

constexpr int64_t kSide = 256;

// The vector loops for float32, plain ones for double: the same names.
double exp_shift_store(const double* x, double* y, int64_t n, double m) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - m);
  return sum;
}
void scale_in_place(double* y, int64_t n, double s) {
  for (int64_t i = 0; i < n; ++i) y[i] *= s;
}
void exp_shift_scale(const double* x, double* y, int64_t n, double m, double s) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - m) * s;
}
void shift_twice(const double* x, double* y, int64_t n, double m, double log_sum) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - m - log_sum;
}
void exp_shift_scale_columns(const double* x, double* y, int64_t n, const double* m, const double* s) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - m[i]) * s[i];
}
void shift_twice_columns(const double* x, double* y, int64_t n, const double* m, const double* log_sum) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - m[i] - log_sum[i];
}
double fold_row(Fold kind, const double* x, int64_t n, double p = 0) {
  double t = kind == Fold::max ? -INFINITY : 0;
  for (int64_t i = 0; i < n; ++i) {
    if (kind == Fold::max)
      t = t != t || t > x[i] ? t : x[i];
    else
      t += std::exp(x[i] - p);
  }
  return t;
}
void fold_columns(Fold kind, double* acc, const double* x, int64_t n, const double* p = nullptr) {
  for (int64_t i = 0; i < n; ++i) {
    if (kind == Fold::max)
      acc[i] = acc[i] != acc[i] || acc[i] > x[i] ? acc[i] : x[i];
    else
      acc[i] += std::exp(x[i] - p[i]);
  }
}
using nbx::exp_shift_scale;
using nbx::exp_shift_scale_columns;
using nbx::exp_shift_store;
using nbx::fold_columns;
using nbx::fold_row;
using nbx::scale_in_place;
using nbx::shift_twice;
using nbx::shift_twice_columns;

template <class A>
struct Job {
  SoftmaxSpec s;
  Source<A> source;
  Sink<A> sink;
  int operand;

  // f(offset of a block in the row, its length)
  template <class Each>
  void blocks(Each f) const {
    for (int64_t i = 0; i < s.n; i += kBlock) f(i, std::min(kBlock, s.n - i));
  }

  void row(const void* x, void* y, int64_t base) const {
    A in[kBlock], out[kBlock];
    const auto read = [&](int64_t i, int64_t n) { return source.read(x, base + i, 1, n, in); };
    A m = -std::numeric_limits<A>::infinity();
    blocks([&](int64_t i, int64_t n) {
      const A top = static_cast<A>(fold_row(Fold::max, read(i, n), n));
      m = m != m || m > top ? m : top;
    });
    if (s.kind == SoftmaxKind::safe && m == -std::numeric_limits<A>::infinity()) {
      std::fill_n(out, std::min(kBlock, s.n), A{0});
      blocks([&](int64_t i, int64_t n) { sink.write(out, n, y, base + i); });
      return;
    }
    double sum = 0;
    if (s.kind == SoftmaxKind::log) {
      blocks([&](int64_t i, int64_t n) { sum += fold_row(Fold::exp_shifted, read(i, n), n, m); });
      const A log_sum = static_cast<A>(std::log(sum));
      blocks([&](int64_t i, int64_t n) {
        A* to = sink.place(y, base + i, out);
        shift_twice(read(i, n), to, n, m, log_sum);
        sink.write(to, n, y, base + i);
      });
      return;
    }
    if (sink.direct() || s.n <= kBlock) {  // e^x is kept where it goes
      blocks([&](int64_t i, int64_t n) { sum += exp_shift_store(read(i, n), sink.place(y, base + i, out), n, m); });
      const A factor = static_cast<A>(1 / sum);
      blocks([&](int64_t i, int64_t n) {
        A* to = sink.place(y, base + i, out);
        scale_in_place(to, n, factor);
        sink.write(to, n, y, base + i);
      });
      return;
    }
    blocks([&](int64_t i, int64_t n) { sum += fold_row(Fold::exp_shifted, read(i, n), n, m); });
    const A factor = static_cast<A>(1 / sum);
    blocks([&](int64_t i, int64_t n) {
      exp_shift_scale(read(i, n), out, n, m, factor);
      sink.write(out, n, y, base + i);
    });
  }

  // `width` rows that lie side by side.
  void columns(const void* x, void* y, int64_t base, int64_t width) const {
    A in[kSide], out[kSide], m[kSide], sum[kSide], part[kSide];
    constexpr A inf = std::numeric_limits<A>::infinity();
    const auto read = [&](int64_t j) { return source.read(x, base + j * s.inner, 1, width, in); };
    std::fill_n(m, width, -inf);
    for (int64_t j = 0; j < s.n; ++j) fold_columns(Fold::max, m, read(j), width);
    double total[kSide] = {};
    for (int64_t j = 0; j < s.n;) {
      std::fill_n(part, width, A{0});
      for (const int64_t stop = std::min(s.n, j + 64); j < stop; ++j)
        fold_columns(Fold::exp_shifted, part, read(j), width, m);
      for (int64_t i = 0; i < width; ++i) total[i] += part[i];
    }
    const bool log = s.kind == SoftmaxKind::log;
    for (int64_t i = 0; i < width; ++i) {
      sum[i] = static_cast<A>(log ? std::log(total[i]) : 1 / total[i]);
      if (s.kind == SoftmaxKind::safe && m[i] == -inf) {
        m[i] = 0;  // e^(-inf - 0) is 0
        sum[i] = 1;
      }
    }
    for (int64_t j = 0; j < s.n; ++j) {
      A* to = sink.place(y, base + j * s.inner, out);
      if (log)
        shift_twice_columns(read(j), to, width, m, sum);
      else
        exp_shift_scale_columns(read(j), to, width, m, sum);
      sink.write(to, width, y, base + j * s.inner);
    }
  }

  // One where the first largest element is, else zero.
  void hard(const void* x, void* y, int64_t base) const {
    A v;
    int64_t best = 0;
    A top{};
    for (int64_t j = 0; j < s.n; ++j) {
      source.copy(x, base + j * s.inner, 1, 1, &v);
      if (j == 0 || v > top || (v != v && top == top)) {
        top = v;
        best = j;
      }
    }
    for (int64_t j = 0; j < s.n; ++j) {
      v = j == best;
      sink.write(&v, 1, y, base + j * s.inner);
    }
  }

  void operator()(const Run& run) const {
    if (s.outer * s.n * s.inner == 0) return;
    const void* x = run.inputs[operand];
    void* y = run.outputs[0];
    const bool hardmax = s.kind == SoftmaxKind::hard, rows = s.inner == 1 || hardmax;
    const int64_t side = rows ? 1 : kSide, blocks_of = ceil_div(s.inner, side);
    const int64_t grain = std::max<int64_t>(1, 16384 / (s.n * std::min(s.inner, side)));
    parallel_rows(run.team, s.outer * blocks_of, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks_of * side, base = i / blocks_of * s.n * s.inner + first;
        if (hardmax)
          hard(x, y, base);
        else if (rows)
          row(x, y, base);
        else
          columns(x, y, base, std::min(side, s.inner - first));
      }
    });
  }
};

}  // namespace

Bound bind_softmax(const Args& a, const Metas& outputs) {
  const SoftmaxSpec s = softmax_spec(a);
  const Meta& x = a.tensor("self");
  // Wider of what comes in and what goes out.
  const bool wide = x.dtype == DType::float64 || outputs[0].dtype == DType::float64;
  return in_float_arithmetic(wide ? Arithmetic::f64 : Arithmetic::f32, [&](auto zero) -> Bound {
    using A = decltype(zero);
    return Job<A>{s, Source<A>(x.dtype), Sink<A>(outputs[0].dtype), a.operand("self")};
  });
}

}  // namespace nbx
