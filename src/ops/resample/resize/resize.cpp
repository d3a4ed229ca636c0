// SPDX-License-Identifier: Apache-2.0
#include "ops/resample/resize/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "ops/reduce/blocks.h"
#include "ops/resample/weighted.h"

namespace nbx {
namespace {

// Nearest: every output row is a source row with its elements picked. U has the size of an element.
template <class U>
struct Moves {
  ResizeSpec s;
  U extrapolation;

  int64_t source_row(int64_t row, bool& outside) const {
    int64_t at = 0, step = 1;
    for (size_t d = s.axes.size() - 1; d-- > 0;) {
      const ResizeAxis& a = s.axes[d];
      const int64_t i = row % a.out;
      row /= a.out;
      if (!a.outside.empty() && a.outside[static_cast<size_t>(i)]) outside = true;
      at += (a.index.empty() ? i : a.index[static_cast<size_t>(i)]) * step;
      step *= a.in;
    }
    return at;
  }

  void operator()(const Run& run) const {
    const U* x = run.in<U>(0);
    U* y = run.out<U>(0);
    const int64_t n = numel(s.out);
    if (n == 0) return;
    if (s.axes.empty()) {
      y[0] = x[0];
      return;
    }
    const ResizeAxis& last = s.axes.back();
    parallel_rows(run.team, n / last.out, std::max<int64_t>(1, 32768 / last.out), [&](int64_t begin, int64_t end) {
      int64_t before = -1;
      for (int64_t r = begin; r < end; ++r) {
        bool outside = false;
        const int64_t from = source_row(r, outside);
        U* to = y + r * last.out;
        const U* row = x + from * last.in;
        if (outside)
          std::fill_n(to, last.out, extrapolation);
        else if (from == before)
          std::memcpy(to, to - last.out, static_cast<size_t>(last.out) * sizeof(U));
        else if (last.same)
          std::memcpy(to, row, static_cast<size_t>(last.out) * sizeof(U));
        else
          for (int64_t i = 0; i < last.out; ++i) to[i] = row[last.index[static_cast<size_t>(i)]];
        if (!outside && from != before && !last.outside.empty())
          for (int64_t i = 0; i < last.out; ++i)
            if (last.outside[static_cast<size_t>(i)]) to[i] = extrapolation;
        before = outside ? -1 : from;
      }
    });
  }
};

// One dim resized: (outer, in, inner) to (outer, out, inner).
template <class A>
struct Pass {
  ResizeAxis axis;
  std::vector<A> weight;
  int64_t outer = 1, inner = 1;
};

template <class A>
struct Weighted {
  std::vector<Pass<A>> passes;
  Source<A> source;
  Sink<A> sink;
  bool rounds;       // integers: to nearest, within the dtype
  bool rounds_each;  // after every pass, half up
  double low, high;
  A extrapolation;
  int64_t input_elements, largest;  // of the intermediates

  void store(A* values, int64_t n, void* y, int64_t at) const {
    if (rounds) round(values, n);
    sink.write(values, n, y, at);
  }
  void round(A* values, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      const double v = values[i], whole = rounds_each ? std::floor(v + 0.5) : std::nearbyint(v);
      values[i] = static_cast<A>(std::clamp(whole, low, high));
    }
  }

  // y: the next intermediate, or null: the result.
  void rows(const Pass<A>& p, const A* x, A* y, void* result, int64_t begin, int64_t end) const {
    A out[kBlock];
    const ResizeAxis& a = p.axis;
    for (int64_t r = begin; r < end; ++r) {
      const A* row = x + r * a.in;
      for (int64_t first = 0; first < a.out; first += kBlock) {
        const int64_t n = std::min(kBlock, a.out - first), at = r * a.out + first;
        A* to = y ? y + at : sink.place(result, at, out);
        const int32_t* index = a.index.data() + first * a.taps;
        const A* w = p.weight.data() + first * a.taps;
        if (a.taps == 2) {
          for (int64_t i = 0; i < n; ++i) to[i] = row[index[2 * i]] * w[2 * i] + row[index[2 * i + 1]] * w[2 * i + 1];
        } else {
          for (int64_t i = 0; i < n; ++i) {
            A sum = 0;
            for (int64_t k = 0; k < a.taps; ++k) sum += row[index[i * a.taps + k]] * w[i * a.taps + k];
            to[i] = sum;
          }
        }
        if (!a.outside.empty())
          for (int64_t i = 0; i < n; ++i)
            if (a.outside[static_cast<size_t>(first + i)]) to[i] = extrapolation;
        if (!y)
          store(to, n, result, at);
        else if (rounds_each)
          round(to, n);
      }
    }
  }

  void planes(const Pass<A>& p, const A* x, A* y, void* result, int64_t begin, int64_t end) const {
    constexpr int64_t most = 64;
    A out[kBlock];
    const A* row[most];
    const ResizeAxis& a = p.axis;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t o = r / a.out, i = r % a.out;
      const int32_t* index = a.index.data() + i * a.taps;
      const A* w = p.weight.data() + i * a.taps;
      for (int64_t first = 0; first < p.inner; first += kBlock) {
        const int64_t n = std::min(kBlock, p.inner - first), at = r * p.inner + first;
        A* to = y ? y + at : sink.place(result, at, out);
        const auto place = [&](int64_t k) { return x + (o * a.in + index[k]) * p.inner + first; };
        if (!a.outside.empty() && a.outside[static_cast<size_t>(i)]) {
          std::fill_n(to, n, extrapolation);
        } else if (a.taps <= most) {
          for (int64_t k = 0; k < a.taps; ++k) row[k] = place(k);
          weighted_rows(row, w, a.taps, to, n);
        } else {
          std::fill_n(to, n, A{0});
          for (int64_t k = 0; k < a.taps; ++k)
            for (int64_t j = 0; j < n; ++j) to[j] += place(k)[j] * w[k];
        }
        if (!y)
          store(to, n, result, at);
        else if (rounds_each)
          round(to, n);
      }
    }
  }

  void operator()(const Run& run) const {
    A* room[2] = {reinterpret_cast<A*>(run.workspace), reinterpret_cast<A*>(run.workspace) + largest};
    const A* x = static_cast<const A*>(run.inputs[0]);
    int next = 0;
    if (!source.direct()) {
      parallel_rows(run.team, ceil_div(input_elements, kBlock), 8, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
          source.copy(run.inputs[0], b * kBlock, 1, std::min(kBlock, input_elements - b * kBlock),
                      room[0] + b * kBlock);
      });
      x = room[0];
      next = 1;
    }
    if (passes.empty()) {  // nothing changes but perhaps the dtype's rounding: none
      std::memcpy(run.outputs[0], run.inputs[0], static_cast<size_t>(input_elements * itemsize_in));
      return;
    }
    for (size_t i = 0; i < passes.size(); ++i) {
      const Pass<A>& p = passes[i];
      A* y = i + 1 == passes.size() ? nullptr : room[next];
      const bool by_row = p.inner == 1;
      const int64_t count = by_row ? p.outer : p.outer * p.axis.out;
      const int64_t work = p.axis.taps * (by_row ? p.axis.out : p.inner);
      parallel_rows(run.team, count, std::max<int64_t>(1, 32768 / std::max<int64_t>(work, 1)),
                    [&](int64_t begin, int64_t end) {
                      if (by_row)
                        rows(p, x, y, run.outputs[0], begin, end);
                      else
                        planes(p, x, y, run.outputs[0], begin, end);
                    });
      x = y;
      next = 1 - next;
    }
  }
  int64_t itemsize_in;
};

// Dims that shrink go first, so that the others see fewer elements.
template <class A>
std::vector<Pass<A>> passes_of(const ResizeSpec& s, const Shape& in, int64_t* largest) {
  std::vector<size_t> order;
  for (size_t d = 0; d < s.axes.size(); ++d)
    if (!s.axes[d].index.empty()) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (s.rounds_each) return a > b;
    return s.axes[a].out * s.axes[b].in < s.axes[b].out * s.axes[a].in ||
           (s.axes[a].out * s.axes[b].in == s.axes[b].out * s.axes[a].in && a > b);
  });
  std::vector<Pass<A>> passes;
  Shape now = in;
  *largest = numel(now);
  for (const size_t d : order) {
    Pass<A> p;
    p.axis = s.axes[d];
    p.weight.assign(p.axis.weight.begin(), p.axis.weight.end());
    for (size_t i = 0; i < now.size(); ++i)
      if (i != d) (i < d ? p.outer : p.inner) *= now[i];
    now[d] = p.axis.out;
    *largest = std::max(*largest, numel(now));
    passes.push_back(std::move(p));
  }
  return passes;
}

bool in_double(DType t) { return t == DType::float64 || !is_floating(t); }

}  // namespace

int64_t resize_bytes(const Args& a) {
  const ResizeSpec s = resize_spec(a);
  if (s.moves) return 0;
  const Meta& x = a.operands()[0];
  int64_t largest = 0;
  passes_of<float>(s, x.shape, &largest);
  return 2 * align_up(largest, 16) * (in_double(x.dtype) ? 8 : 4);
}

Bound bind_resize(const Args& a, const Metas& outputs) {
  const ResizeSpec s = resize_spec(a);
  const Meta& x = a.operands()[0];
  if (s.moves) {
    std::byte value[8] = {};
    narrow_to<double>(x.dtype)(&s.extrapolation, 1, 1, value);
    const auto moves = [&](auto u) -> Bound {
      std::memcpy(&u, value, sizeof(u));
      return Moves<decltype(u)>{s, u};
    };
    switch (itemsize(x.dtype)) {
      case 1:
        return moves(uint8_t{});
      case 2:
        return moves(uint16_t{});
      case 4:
        return moves(uint32_t{});
      default:
        return moves(uint64_t{});
    }
  }
  return in_float_arithmetic(in_double(x.dtype) ? Arithmetic::f64 : Arithmetic::f32, [&](auto zero) -> Bound {
    using A = decltype(zero);
    const bool whole = !is_floating(x.dtype);
    const int bits = itemsize(x.dtype) * 8;
    const bool sign = info(x.dtype).is_signed;
    const double high = x.dtype == DType::bool_ ? 1 : std::ldexp(1.0, sign ? bits - 1 : bits) - 1;
    int64_t largest = 0;
    auto passes = passes_of<A>(s, x.shape, &largest);
    return Weighted<A>{std::move(passes),
                       Source<A>(x.dtype),
                       Sink<A>(outputs[0].dtype),
                       whole,
                       s.rounds_each,
                       sign ? -high - 1 : 0,
                       high,
                       static_cast<A>(s.extrapolation),
                       x.numel(),
                       align_up(largest, 16),
                       itemsize(x.dtype)};
  });
}

}  // namespace nbx
