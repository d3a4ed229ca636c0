// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/layer_norm/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/norm/rows.h"
#include "shape/broadcast.h"
#include "shape/strides.h"

namespace nbx {
namespace {

double epsilon_of(DType t) {
  switch (t) {
    case DType::float64:
      return 0x1p-52;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

// ATen asks for the exact shape; ONNX lets the weight broadcast to the input.
void check_weight(const Args& a, const Meta& x, const char* param, int64_t axis, bool exact) {
  if (a.schema().find(param) < 0) return;
  const Meta* w = a.optional_tensor(param);
  if (!w) return;
  const Shape tail(x.shape.begin() + axis, x.shape.end());
  require(is_floating(w->dtype), Code::dtype, "{}: {} is {}; convert it to {}", a.op(), param, to_string(*w),
          name(x.dtype));
  if (exact) {
    require(w->shape == tail, Code::shape,
            "{}: {} is {}, the normalised dims are {} (input: {}); pass a {} of shape {}", a.op(), param,
            to_string(w->shape), to_string(tail), to_string(x), param, to_string(tail));
    return;
  }
  Shape bare = w->shape;  // leading ones do not count
  while (bare.size() > tail.size() && bare.front() == 1) bare.erase(bare.begin());
  require(is_broadcastable(bare, tail), Code::shape,
          "{}: {} is {}, it does not broadcast to the normalised dims {} (input: {})", a.op(), param,
          to_string(w->shape), to_string(tail), to_string(x));
}

}  // namespace

LayerNormSpec layer_norm_spec(const Args& a) {
  const std::string op = a.op();
  const auto has = [&](const char* param) { return a.schema().find(param) >= 0; };
  LayerNormSpec s;
  s.rms = op == "rms_norm" || op == "rms_norm_axis";
  s.saturates = op == "rms_norm" && a.schema().space == "custom";
  s.saves = a.schema().returns.size() > 1;
  const char* input = has("input") ? "input" : "x";
  const Meta& x = a.tensor(input);
  require(is_floating(x.dtype), Code::dtype, "{}: input is {}, it must be floating", op, to_string(x));
  require(x.rank() >= 1, Code::shape, "{}: input is 0-d; it needs an axis to normalise", op);
  s.eps = has("eps") ? (a.has("eps") ? a.number("eps") : epsilon_of(x.dtype)) : a.number("epsilon");
  s.axis = x.rank() - 1;
  if (has("axis")) s.axis = wrap_dim(a.integer("axis"), x.rank(), op);
  if (has("normalized_shape")) {
    const Shape wanted = a.ints("normalized_shape");
    s.axis = x.rank() - static_cast<int64_t>(wanted.size());
    require(!wanted.empty() && s.axis >= 0 && Shape(x.shape.begin() + s.axis, x.shape.end()) == wanted, Code::shape,
            "{}: normalized_shape is {}, the input is {}; it must equal the last dims of the input", op,
            to_string(wanted), to_string(x));
  }
  check_weight(a, x, "weight", s.axis, !has("axis"));
  check_weight(a, x, "bias", s.axis, !has("axis"));
  for (int64_t d = 0; d < x.rank(); ++d) (d < s.axis ? s.rows : s.n) *= x.shape[static_cast<size_t>(d)];
  s.input = a.operand(input);
  s.weight = has("weight") ? a.operand("weight") : -1;
  s.bias = has("bias") ? a.operand("bias") : -1;
  return s;
}

namespace {

// A weight as n values of the arithmetic type: its own bytes, or a copy in the workspace when it is half or broadcast.
template <class A>
struct Weight {
  int operand = -1;
  bool direct = false;
  Source<A> source{DType::float32};
  Walk walk;

  Weight(const Args& a, int at, const LayerNormSpec& s) : operand(at) {
    if (at < 0) return;
    const Meta& w = a.operands()[static_cast<size_t>(at)];
    const Meta& x = a.operands()[static_cast<size_t>(s.input)];
    source = Source<A>(w.dtype);
    const Shape tail(x.shape.begin() + s.axis, x.shape.end());
    Shape bare = w.shape;
    while (bare.size() > tail.size() && bare.front() == 1) bare.erase(bare.begin());
    const Strides strides = broadcast_strides(bare, contiguous_strides(bare), tail, a.op());
    for (size_t d = 0; d < tail.size(); ++d) walk.add(tail[d], strides[d]);
    direct = source.direct() && bare == tail;
  }
  const A* values(const Run& run, int64_t n, A* room) const {
    if (operand < 0) return nullptr;
    const void* w = run.inputs[operand];
    if (direct) return static_cast<const A*>(w);
    for (int64_t i = 0; i < n; i += walk.inner()) source.copy(w, walk.offset(i), walk.step(), walk.inner(), room + i);
    return room;
  }
};

template <class A>
struct Job {
  LayerNormSpec s;
  Source<A> source;
  Sink<A> sink, saved;
  Weight<A> weight, bias;

  void row(const Run& run, int64_t r, const A* w, const A* b) const {
    A in[kBlock], out[kBlock];
    const void* x = run.inputs[s.input];
    const int64_t base = r * s.n;
    Moments m;
    if (s.rms)
      m.variance = row_mean_square(source, x, base, s.n);
    else
      m = row_moments(source, x, base, s.n);
    const double rstd = 1 / std::sqrt(m.variance + s.eps);
    const A mean = static_cast<A>(m.mean), rest = static_cast<A>((m.mean - static_cast<double>(mean)) * rstd);
    if (s.saves) {
      const A scale = static_cast<A>(rstd);
      saved.write(&mean, 1, run.outputs[1], r);
      saved.write(&scale, 1, run.outputs[2], r);
    }
    for (int64_t i = 0; i < s.n; i += kBlock) {
      const int64_t n = std::min(kBlock, s.n - i);
      A* y = sink.place(run.outputs[0], base + i, out);
      centre_scale_weights(source.read(x, base + i, 1, n, in), y, n, mean, static_cast<A>(rstd), rest,
                           w ? w + i : nullptr, b ? b + i : nullptr);
      if (s.saturates)
        for (int64_t j = 0; j < n; ++j)
          if (std::isfinite(y[j])) y[j] = std::clamp(y[j], A{-65504}, A{65504});
      sink.write(y, n, run.outputs[0], base + i);
    }
  }

  void operator()(const Run& run) const {
    if (s.rows * s.n == 0) return;
    A* room = reinterpret_cast<A*>(run.workspace);
    const A* w = weight.values(run, s.n, room);
    const A* b = bias.values(run, s.n, room ? room + s.n : nullptr);
    parallel_rows(run.team, s.rows, std::max<int64_t>(1, 16384 / s.n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) row(run, r, w, b);
    });
  }
};

}  // namespace

int64_t layer_norm_bytes(const Args& a) {
  const LayerNormSpec s = layer_norm_spec(a);
  return s.weight < 0 && s.bias < 0 ? 0 : 2 * s.n * 8;
}

Bound bind_layer_norm(const Args& a, const Metas& outputs) {
  LayerNormSpec s = layer_norm_spec(a);
  const Meta& x = a.operands()[static_cast<size_t>(s.input)];
  s.saturates = s.saturates && x.dtype == DType::float16;
  return in_float_arithmetic(arithmetic_of(x.dtype, "layer_norm"), [&](auto zero) -> Bound {
    using A = decltype(zero);
    return Job<A>{s,
                  Source<A>(x.dtype),
                  Sink<A>(outputs[0].dtype),
                  Sink<A>(outputs.back().dtype),
                  Weight<A>(a, s.weight, s),
                  Weight<A>(a, s.bias, s)};
  });
}

}  // namespace nbx
