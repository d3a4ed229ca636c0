// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/scan/scan.h"

#include "base/checked.h"
#include "ops/reduce/engine.h"
#include "shape/strides.h"

namespace nbx {

ScanSpec scan_spec(const Args& a) {
  const Meta& x = a.tensor("self");
  const std::string op = a.op();
  ScanSpec s;
  s.read = s.out = x.dtype;
  if (op == "cumsum")
    s.kind = Scan::sum;
  else if (op == "cumprod")
    s.kind = Scan::prod;
  else if (op == "cummax")
    s.kind = Scan::max;
  else if (op == "cummin")
    s.kind = Scan::min;
  else
    s.kind = Scan::log_sum_exp;
  s.indices = s.kind == Scan::max || s.kind == Scan::min;
  if (s.kind == Scan::log_sum_exp)
    require(is_floating(x.dtype), Code::dtype, "logcumsumexp: {} is not floating; convert it first", to_string(x));
  if (a.schema().find("dtype") >= 0) {
    if (const auto wanted = a.optional_dtype("dtype"))
      s.read = s.out = *wanted;
    else if (is_integral(x.dtype, true))
      s.out = DType::int64;
  }
  if (a.schema().find("exclusive") >= 0) {
    s.exclusive = a.flag("exclusive");
    s.reverse = a.flag("reverse");
  }
  const int64_t dim = wrap_dim(a.integer("dim"), x.rank(), op);
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < dim ? s.outer : d == dim ? s.n : s.inner) *= x.shape[static_cast<size_t>(d)];
  return s;
}

namespace {

constexpr int64_t kSide = 128;  // scans that lie side by side and are advanced together

// a, and the value that comes next. Totals of floats are double.
template <class T>
T advanced(Scan kind, T a, T v) {
  if constexpr (std::is_same_v<T, int64_t>) {  // wraps, as ATen
    if (kind == Scan::prod) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(v));
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (kind == Scan::log_sum_exp) {
      if (a != a || v != v) return a + v;
      const T top = std::max(a, v), low = std::min(a, v);
      return std::isinf(top) ? top : top + std::log1p(std::exp(low - top));
    }
  }
  return kind == Scan::prod ? a * v : a + v;
}

template <class A>
struct Job {
  ScanSpec s;
  Source<A> source;
  Sink<Total<A>> sink;
  int operand;

  void side_by_side(const Run& run, int64_t base, int64_t width) const {
    using T = Total<A>;
    A scratch[kSide];
    T total[kSide], result[kSide];
    int64_t at[kSide] = {};
    const T start = s.kind == Scan::prod ? T{1} : s.kind == Scan::log_sum_exp ? identity<A>(Fold::max) : T{0};
    std::fill_n(total, width, start);
    for (int64_t step = 0; step < s.n; ++step) {
      const int64_t j = s.reverse ? s.n - 1 - step : step, offset = base + j * s.inner;
      const A* v = source.read(run.inputs[operand], offset, 1, width, scratch);
      if (s.exclusive) std::copy_n(total, width, result);
      if (!s.indices) {
        for (int64_t i = 0; i < width; ++i) total[i] = advanced<T>(s.kind, total[i], v[i]);
      } else {
        for (int64_t i = 0; i < width; ++i) {
          const T x = v[i];
          const bool better = x != x || (total[i] == total[i] && (s.kind == Scan::max ? x >= total[i] : x <= total[i]));
          if (step > 0 && !better) continue;
          total[i] = x;
          at[i] = j;
        }
        std::copy_n(at, width, run.out<int64_t>(1) + offset);
      }
      if (!s.exclusive) std::copy_n(total, width, result);
      sink.write(result, width, run.outputs[0], offset);
    }
  }

  void operator()(const Run& run) const {
    if (s.outer * s.n * s.inner == 0) return;
    const int64_t blocks = ceil_div(s.inner, kSide), scans = s.outer * blocks;
    const int64_t grain = std::max<int64_t>(1, 16384 / (s.n * std::min(s.inner, kSide)));
    parallel_rows(run.team, scans, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i / blocks, first = i % blocks * kSide;
        side_by_side(run, o * s.n * s.inner + first, std::min(kSide, s.inner - first));
      }
    });
  }
};

}  // namespace

Bound bind_scan(const Args& a, const Metas& outputs) {
  const ScanSpec s = scan_spec(a);
  const Meta& x = a.tensor("self");
  return in_arithmetic(arithmetic_of(s.read, a.op().c_str()), [&](auto zero) -> Bound {
    using A = decltype(zero);
    return Job<A>{s, Source<A>(x.dtype), Sink<Total<A>>(outputs[0].dtype), a.operand("self")};
  });
}

}  // namespace nbx
