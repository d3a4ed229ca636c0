// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/channel_norm/channel_norm.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/norm/rows.h"
#include "ops/reduce/engine.h"

namespace nbx {

using Statistics = ChannelNormSpec::Statistics;

ChannelNormSpec channel_norm_spec(const Args& a) {
  const std::string op = a.op();
  const auto has = [&](const char* param) { return a.schema().find(param) >= 0; };
  const auto operand = [&](const char* param) { return has(param) ? a.operand(param) : -1; };
  const Meta& x = a.tensor("input");
  ChannelNormSpec s;
  s.input = a.operand("input");
  s.weight = operand("weight");
  s.bias = operand("bias");
  s.saves = a.schema().returns.size() > 1;
  s.eps = a.number("eps");
  require(is_floating(x.dtype), Code::dtype, "{}: input is {}, it must be floating", op, to_string(x));
  require(x.rank() >= 2, Code::shape, "{}: input is {}; it needs a batch and a channel dim", op, to_string(x));
  s.n = x.shape[0];
  s.channels = x.shape[1];
  for (size_t d = 2; d < x.shape.size(); ++d) s.space *= x.shape[d];

  if (op.find("group_norm") != std::string::npos) {
    s.statistics = Statistics::group;
    s.groups = a.integer(has("group") ? "group" : "num_groups");
    if (has("N")) {  // the sizes are given: the input may have any shape of as many elements
      s.n = a.integer("N");
      s.channels = a.integer("C");
      s.space = a.integer("HxW");
      require(s.n >= 0 && s.channels >= 0 && s.space >= 0 && s.n * s.channels * s.space == x.numel(), Code::shape,
              "{}: N {} x C {} x HxW {} is not the {} elements of the input {}", op, s.n, s.channels, s.space,
              x.numel(), to_string(x));
    }
    require(s.groups > 0 && s.channels % s.groups == 0, Code::value,
            "{}: {} channels do not split into {} groups (input: {}); choose a number that divides the channels", op,
            s.channels, s.groups, to_string(x));
  } else if (op == "instance_norm") {
    s.statistics = a.flag("use_input_stats") ? Statistics::group : Statistics::given;
    s.groups = s.channels;
  } else if (has("training") && a.flag("training")) {
    s.statistics = Statistics::batch;
  }
  if (s.statistics == Statistics::given) {
    s.mean = a.operand("running_mean");
    s.variance = a.operand("running_var");
    require(s.mean >= 0 && s.variance >= 0, Code::value,
            "{}: running_mean and running_var are needed when not training; pass them", op);
  }

  const auto check = [&](int at, const char* param) {
    if (at < 0) return;
    const Meta& w = a.operands()[static_cast<size_t>(at)];
    require(is_floating(w.dtype), Code::dtype, "{}: {} is {}, it must be floating", op, param, to_string(w));
    if (a.schema().space == "custom" && s.statistics == Statistics::group && w.shape == Shape{s.groups} &&
        s.groups != s.channels) {
      s.weights_by_group = true;
      return;
    }
    require(w.shape == Shape{s.channels}, Code::shape,
            "{}: {} is {}, the input has {} channels ({}); pass a {} of shape [{}]", op, param, to_string(w.shape),
            s.channels, to_string(x), param, s.channels);
  };
  check(s.weight, "weight");
  check(s.bias, "bias");
  check(s.mean, "running_mean");
  check(s.variance, "running_var");
  return s;
}

namespace {

constexpr int64_t kSegment = 32768;  // elements of one channel that make a chunk

// The loops of the statistics; one total a channel, or a (sample, group).
Reducing statistics_loops(const ChannelNormSpec& s) {
  if (s.statistics == Statistics::batch) {
    const Shape shape = {s.n, s.channels, s.space};
    return reducing(shape, contiguous_strides(shape), {true, false, true});
  }
  const Shape shape = {s.n * s.groups, s.groups > 0 ? s.channels / s.groups * s.space : 0};
  return reducing(shape, contiguous_strides(shape), {false, true});
}

int64_t rows_of(const ChannelNormSpec& s) { return s.statistics == Statistics::group ? s.n * s.groups : s.channels; }

template <class A>
struct Job {
  ChannelNormSpec s;
  Source<A> source;
  Sink<A> sink;
  Sink<double> saved;
  Source<double> weight, bias, mean, variance;  // any dtype, read as double
  Reducing loops;

  struct Tables {
    double *mean, *rstd;    // (rows)
    double *weight, *bias;  // (channels)
  };

  void statistics(const Run& run, const Tables& t, std::byte* rest) const {
    if (s.statistics == Statistics::given) {
      mean.copy(run.inputs[s.mean], 0, 1, s.channels, t.mean);
      variance.copy(run.inputs[s.variance], 0, 1, s.channels, t.rstd);
      for (int64_t c = 0; c < s.channels; ++c) t.rstd[c] = 1 / std::sqrt(t.rstd[c] + s.eps);
      return;
    }
    Passes passes;
    passes.two = true;
    passes.second = Fold::centred_square;
    passes.between = Passes::Between::mean;
    const double terms = static_cast<double>(loops.terms);
    run_reduction<A>(loops, source, passes, run.inputs[s.input], rest, run.team,
                     [&](int64_t first, int64_t n, double* squares, double* means) {
                       for (int64_t i = 0; i < n; ++i) {
                         const double off = means[i] - static_cast<double>(static_cast<A>(means[i]));
                         const double v = squares[i] / terms - off * off;
                         t.mean[first + i] = means[i];
                         t.rstd[first + i] = 1 / std::sqrt((v < 0 ? 0 : v) + s.eps);
                       }
                     });
  }

  void tables(const Run& run, const Tables& t) const {
    const int64_t repeat = s.weights_by_group ? s.channels / s.groups : 1;
    const int64_t count = s.channels / repeat;
    const auto read = [&](const Source<double>& from, int operand, double fallback, double* to) {
      if (operand < 0) {
        std::fill_n(to, s.channels, fallback);
        return;
      }
      from.copy(run.inputs[operand], 0, 1, count, to);
      if (repeat > 1)
        for (int64_t c = s.channels; c-- > 0;) to[c] = to[c / repeat];
    };
    read(weight, s.weight, 1, t.weight);
    read(bias, s.bias, 0, t.bias);
  }

  void segment(const Run& run, const Tables& t, int64_t row, int64_t begin, int64_t end) const {
    A in[kBlock], out[kBlock];
    const int64_t c = row % s.channels;
    const int64_t r = s.statistics == Statistics::group ? row / s.channels * s.groups + c / (s.channels / s.groups) : c;
    const A m = static_cast<A>(t.mean[r]), scale = static_cast<A>(t.rstd[r] * t.weight[c]),
            shift = static_cast<A>(t.bias[c]);
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i), at = row * s.space + i;
      A* y = sink.place(run.outputs[0], at, out);
      centre_scale(source.read(run.inputs[s.input], at, 1, n, in), y, n, m, scale, shift);
      sink.write(y, n, run.outputs[0], at);
    }
  }

  // (n, channels): neighbouring elements belong to different channels.
  void matrix(const Run& run, const Tables& t, int64_t begin, int64_t end) const {
    constexpr int64_t side = 512;
    A in[side], out[side], m[side], scale[side], shift[side];
    for (int64_t c = 0; c < s.channels; c += side) {
      const int64_t n = std::min(side, s.channels - c);
      for (int64_t i = 0; i < n; ++i) {
        m[i] = static_cast<A>(t.mean[c + i]);
        scale[i] = static_cast<A>(t.rstd[c + i] * t.weight[c + i]);
        shift[i] = static_cast<A>(t.bias[c + i]);
      }
      for (int64_t r = begin; r < end; ++r) {
        const int64_t at = r * s.channels + c;
        A* y = sink.place(run.outputs[0], at, out);
        affine_columns(source.read(run.inputs[s.input], at, 1, n, in), y, n, m, scale, shift);
        sink.write(y, n, run.outputs[0], at);
      }
    }
  }

  void operator()(const Run& run) const {
    const int64_t rows = rows_of(s);
    double* d = reinterpret_cast<double*>(run.workspace);
    const Tables t{d, d + rows, d + 2 * rows, d + 2 * rows + s.channels};
    statistics(run, t, run.workspace + align_up((2 * rows + 2 * s.channels) * 8));
    tables(run, t);
    if (s.saves && s.statistics != Statistics::given) {
      saved.write(t.mean, rows, run.outputs[1], 0);
      saved.write(t.rstd, rows, run.outputs[2], 0);
    }
    if (s.n * s.channels * s.space == 0) return;
    if (s.space == 1 && s.statistics != Statistics::group) {
      parallel_rows(run.team, s.n, std::max<int64_t>(1, kSegment / s.channels),
                    [&](int64_t b, int64_t e) { matrix(run, t, b, e); });
      return;
    }
    const int64_t cuts = ceil_div(s.space, kSegment);
    parallel_rows(run.team, s.n * s.channels * cuts, std::max<int64_t>(1, kSegment / s.space),
                  [&](int64_t b, int64_t e) {
                    for (int64_t i = b; i < e; ++i) {
                      const int64_t begin = i % cuts * kSegment;
                      segment(run, t, i / cuts, begin, std::min(s.space, begin + kSegment));
                    }
                  });
  }
};

}  // namespace

int64_t channel_norm_bytes(const Args& a) {
  const ChannelNormSpec s = channel_norm_spec(a);
  return align_up((2 * rows_of(s) + 2 * s.channels) * 8) +
         (s.statistics == Statistics::given ? 0 : reduction_workspace(statistics_loops(s)));
}

Bound bind_channel_norm(const Args& a, const Metas& outputs) {
  const ChannelNormSpec s = channel_norm_spec(a);
  const Meta& x = a.tensor("input");
  const auto read = [&](int operand) {
    return Source<double>(operand < 0 ? DType::float64 : a.operands()[static_cast<size_t>(operand)].dtype);
  };
  return in_float_arithmetic(arithmetic_of(x.dtype, "batch_norm"), [&](auto zero) -> Bound {
    using A = decltype(zero);
    return Job<A>{s,
                  Source<A>(x.dtype),
                  Sink<A>(outputs[0].dtype),
                  Sink<double>(outputs.back().dtype),
                  read(s.weight),
                  read(s.bias),
                  read(s.mean),
                  read(s.variance),
                  statistics_loops(s)};
  });
}

}  // namespace nbx
