// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/problem.h"

#include <algorithm>

#include "ops/activation_text.h"

namespace nbx {

Shape ConvProblem::shape() const {
  Shape s;
  if (!unbatched) s.push_back(batch);
  s.push_back(out_channels);
  s.append(out.begin(), out.end());
  return s;
}

namespace {

Ints spread(const std::string& op, const char* what, const Ints& given, size_t spatial, int64_t fallback,
            int64_t least) {
  Ints v = given;
  if (v.empty()) v.assign(spatial, fallback);
  if (v.size() == 1) v.assign(spatial, v[0]);
  require(v.size() == spatial, Code::shape, "{}: {} is {}, {} spatial dims need 1 or {} values", op, what,
          to_string(given), spatial, spatial);
  for (const int64_t e : v)
    require(e >= least, Code::value, "{}: {} is {}, each must be at least {}", op, what, to_string(given), least);
  return v;
}

int64_t product_of(const std::string& op, int64_t a, int64_t b) {
  int64_t out = 0;
  require(!__builtin_mul_overflow(a, b, &out), Code::shape, "{}: {} x {} exceeds 63 bits", op, a, b);
  return out;
}

}  // namespace

ConvProblem make_conv(const std::string& op, const Meta& x, const Meta& weight, const Meta* bias, bool transposed,
                      const ConvAttributes& a) {
  ConvProblem p;
  p.transposed = transposed;
  p.x = x;
  p.weight = weight;
  p.x_index = 0;
  p.spatial = static_cast<int>(weight.rank() - 2);
  require(p.spatial >= 1 && p.spatial <= 3, Code::shape, "{}: weight {} must have rank 3, 4 or 5", op,
          to_string(weight));
  p.unbatched = x.rank() == weight.rank() - 1;
  require(p.unbatched || x.rank() == weight.rank(), Code::shape, "{}: input {} must have rank {} or {} for weight {}",
          op, to_string(x), weight.rank(), weight.rank() - 1, to_string(weight));
  require(x.dtype == weight.dtype, Code::dtype, "{}: input is {}, weight is {}; convert one of them", op, to_string(x),
          to_string(weight));
  require(!is_complex(x.dtype) && x.dtype != DType::bool_, Code::dtype, "{}: {} is not supported", op, to_string(x));
  p.dtype = x.dtype;
  const size_t lead = p.unbatched ? 0 : 1, n = static_cast<size_t>(p.spatial);
  p.batch = p.unbatched ? 1 : x.shape[0];
  p.in_channels = x.shape[lead];
  p.groups = a.groups;
  require(p.groups >= 1, Code::value, "{}: groups is {}, at least 1 is needed", op, p.groups);
  require(p.in_channels % p.groups == 0, Code::shape, "{}: {} input channels do not divide into {} groups (input {})",
          op, p.in_channels, p.groups, to_string(x));
  if (transposed) {
    require(weight.shape[0] == p.in_channels, Code::shape, "{}: weight {} wants {} input channels, input {} has {}", op,
            to_string(weight), weight.shape[0], to_string(x), p.in_channels);
    p.out_channels = product_of(op, weight.shape[1], p.groups);
  } else {
    require(weight.shape[1] == p.in_channels / p.groups, Code::shape,
            "{}: weight {} wants {} input channels a group, input {} has {} in {} groups", op, to_string(weight),
            weight.shape[1], to_string(x), p.in_channels, p.groups);
    p.out_channels = weight.shape[0];
    require(p.out_channels % p.groups == 0, Code::shape,
            "{}: {} output channels do not divide into {} groups (weight {})", op, p.out_channels, p.groups,
            to_string(weight));
  }
  if (bias) {
    require(bias->rank() == 1 && bias->dim(0) == p.out_channels, Code::shape, "{}: bias is {}, it must be [{}]", op,
            to_string(*bias), p.out_channels);
    require(bias->dtype == p.dtype, Code::dtype, "{}: bias is {}, input is {}; convert one of them", op,
            to_string(*bias), to_string(x));
    p.bias = *bias;
  }
  p.stride = spread(op, "stride", a.stride, n, 1, 1);
  p.dilation = spread(op, "dilation", a.dilation, n, 1, 1);
  p.begin = spread(op, "padding", a.begin, n, 0, INT64_MIN);
  p.end = spread(op, "padding", a.end.empty() ? a.begin : a.end, n, 0, INT64_MIN);
  const Ints more = spread(op, "output_padding", a.output_padding, n, 0, 0);
  // Sums of these stay far from 2^63.
  constexpr int64_t kMost = (int64_t{1} << 40);
  for (const Ints* list :
       std::initializer_list<const Ints*>{&p.stride, &p.dilation, &p.begin, &p.end, &more, &a.output_shape})
    for (const int64_t v : *list)
      require(
          v >= -kMost && v <= kMost, Code::value,
          "{}: stride {}, dilation {}, padding {} and {}, output_padding {}, output_shape {}: each can be {} at most",
          op, to_string(p.stride), to_string(p.dilation), to_string(p.begin), to_string(p.end), to_string(more),
          to_string(a.output_shape), kMost);
  const bool same = a.auto_pad == "SAME_UPPER" || a.auto_pad == "SAME_LOWER";
  require(same || a.auto_pad == "NOTSET" || a.auto_pad == "VALID" || a.auto_pad.empty(), Code::value,
          "{}: auto_pad is '{}'; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known", op, a.auto_pad);
  for (size_t d = 0; d < n; ++d) {
    const int64_t in = x.shape[lead + 1 + d], k = weight.shape[2 + d];
    require(k >= 1, Code::shape, "{}: weight {} has an empty kernel", op, to_string(weight));
    const int64_t reach = product_of(op, p.dilation[d], k - 1) + 1;
    if (a.auto_pad == "VALID") p.begin[d] = p.end[d] = 0;
    int64_t out = 0;
    if (!transposed) {
      if (same) {
        out = (in + p.stride[d] - 1) / p.stride[d];
        const int64_t total = std::max<int64_t>(0, product_of(op, out - 1, p.stride[d]) + reach - in);
        p.begin[d] = a.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        p.end[d] = total - p.begin[d];
      }
      const int64_t room = in + p.begin[d] + p.end[d] - reach;
      out = room < 0 ? 0 : room / p.stride[d] + 1;
      require(out >= 1, Code::shape,
              "{}: impossible extent in spatial dim {}: ({} + {} + {} - {} x ({} - 1) - 1) / {} + 1 < 1 (input {}, "
              "weight {})",
              op, d, in, p.begin[d], p.end[d], p.dilation[d], k, p.stride[d], to_string(x), to_string(weight));
    } else {
      const int64_t full = product_of(op, in - 1, p.stride[d]) + reach + more[d];
      if (!a.output_shape.empty() || same) {
        if (!a.output_shape.empty()) {
          require(a.output_shape.size() >= n, Code::shape, "{}: output_shape is {}, {} values are needed", op,
                  to_string(a.output_shape), n);
          out = a.output_shape[a.output_shape.size() - n + d];
        } else {
          out = product_of(op, in, p.stride[d]);
        }
        const int64_t total = std::max<int64_t>(0, full - out);
        p.begin[d] = a.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        p.end[d] = full - out - p.begin[d];
      } else {
        out = full - p.begin[d] - p.end[d];
      }
      require(out >= 1, Code::shape,
              "{}: impossible extent in spatial dim {}: ({} - 1) x {} + {} x ({} - 1) + 1 + {} - {} - {} < 1 (input "
              "{}, weight {})",
              op, d, in, p.stride[d], p.dilation[d], k, more[d], p.begin[d], p.end[d], to_string(x), to_string(weight));
    }
    p.in.push_back(in);
    p.kernel.push_back(k);
    p.out.push_back(out);
  }
  return p;
}

namespace {

// Three spatial dims always, the missing ones in front with extent 1.
struct Dims3 {
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], begin[3];
  explicit Dims3(const ConvProblem& p) {
    const size_t lead = 3 - static_cast<size_t>(p.spatial);
    for (size_t d = 0; d < 3; ++d) {
      const bool real = d >= lead;
      in[d] = real ? p.in[d - lead] : 1;
      out[d] = real ? p.out[d - lead] : 1;
      kernel[d] = real ? p.kernel[d - lead] : 1;
      stride[d] = real ? p.stride[d - lead] : 1;
      dilation[d] = real ? p.dilation[d - lead] : 1;
      begin[d] = real ? p.begin[d - lead] : 0;
    }
  }
  // The input position that tap t of output position o reads, or -1.
  int64_t source(size_t d, int64_t o, int64_t t, bool transposed) const {
    if (!transposed) {
      const int64_t i = o * stride[d] - begin[d] + t * dilation[d];
      return i >= 0 && i < in[d] ? i : -1;
    }
    const int64_t at = o + begin[d] - t * dilation[d];
    return at >= 0 && at % stride[d] == 0 && at / stride[d] < in[d] ? at / stride[d] : -1;
  }
};

// The sum at one output element; Load(x index), Weight(w index) read dense storage.
template <class Sum, class LoadX, class LoadW>
Sum element(const ConvProblem& p, const Dims3& s, int64_t n, int64_t o, const int64_t at[3], const LoadX& x,
            const LoadW& w) {
  const int64_t in_group = p.in_channels / p.groups, out_group = p.out_channels / p.groups, g = o / out_group;
  Sum sum = 0;
  for (int64_t c = 0; c < in_group; ++c) {
    const int64_t channel = g * in_group + c;
    for (int64_t a = 0; a < s.kernel[0]; ++a) {
      const int64_t i0 = s.source(0, at[0], a, p.transposed);
      if (i0 < 0) continue;
      for (int64_t b = 0; b < s.kernel[1]; ++b) {
        const int64_t i1 = s.source(1, at[1], b, p.transposed);
        if (i1 < 0) continue;
        for (int64_t e = 0; e < s.kernel[2]; ++e) {
          const int64_t i2 = s.source(2, at[2], e, p.transposed);
          if (i2 < 0) continue;
          const int64_t tap = (a * s.kernel[1] + b) * s.kernel[2] + e, taps = p.taps();
          const int64_t wi =
              p.transposed ? (channel * out_group + o % out_group) * taps + tap : (o * in_group + c) * taps + tap;
          sum += x(((n * p.in_channels + channel) * s.in[0] + i0) * s.in[1] * s.in[2] + i1 * s.in[2] + i2) * w(wi);
        }
      }
    }
  }
  return sum;
}

template <class Fn>
void each_output(const ConvProblem& p, const Dims3& s, int64_t begin, int64_t end, const Fn& fn) {
  const int64_t plane = s.out[0] * s.out[1] * s.out[2];
  for (int64_t i = begin; i < end; ++i) {
    const int64_t q = i % plane, o = i / plane % p.out_channels, n = i / plane / p.out_channels;
    const int64_t at[3] = {q / (s.out[1] * s.out[2]), q / s.out[2] % s.out[1], q % s.out[2]};
    fn(i, n, o, at);
  }
}

template <class T>
double value(T v) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return to_float(v);
  else
    return static_cast<double>(v);
}

template <class T>
Bound plain(const ConvProblem& p) {
  constexpr bool integral = std::is_integral_v<T>;
  return [p](const Run& r) {
    const Dims3 s(p);
    const T *x = r.in<T>(p.x_index), *w = r.in<T>(p.weight_index), *bias = r.in<T>(p.bias_index),
            *residual = r.in<T>(p.residual_index);
    T* y = r.out<T>(0);
    parallel_rows(r.team, numel(p.shape()), 64, [&](int64_t begin, int64_t end) {
      each_output(p, s, begin, end, [&](int64_t i, int64_t n, int64_t o, const int64_t at[3]) {
        if constexpr (integral) {
          uint64_t v = element<uint64_t>(
              p, s, n, o, at, [&](int64_t k) { return static_cast<uint64_t>(x[k]); },
              [&](int64_t k) { return static_cast<uint64_t>(w[k]); });
          if (bias) v += static_cast<uint64_t>(bias[o]);
          y[i] = static_cast<T>(v);
        } else {
          double v = element<double>(
              p, s, n, o, at, [&](int64_t k) { return value(x[k]); }, [&](int64_t k) { return value(w[k]); });
          if (bias) v += value(bias[o]);
          if (residual) v += value(residual[i]);
          v = activate(p.activation, v) * p.act_scale + p.act_shift;
          if constexpr (std::is_same_v<T, float16_t>)
            y[i] = to_float16(v);
          else if constexpr (std::is_same_v<T, bfloat16_t>)
            y[i] = to_bfloat16(v);
          else
            y[i] = static_cast<T>(v);
        }
      });
    });
  };
}

}  // namespace

Bound bind_conv_plain(ConvProblem p) {
  p.x.known = p.weight.known = {};
  switch (p.dtype) {
    case DType::float64:
      return plain<double>(p);
    case DType::float32:
      return plain<float>(p);
    case DType::float16:
      return plain<float16_t>(p);
    case DType::bfloat16:
      return plain<bfloat16_t>(p);
    case DType::int8:
      return plain<int8_t>(p);
    case DType::int16:
      return plain<int16_t>(p);
    case DType::int32:
      return plain<int32_t>(p);
    case DType::int64:
      return plain<int64_t>(p);
    case DType::uint8:
      return plain<uint8_t>(p);
    default:
      fail(Code::dtype, "convolution: {} is not supported", name(p.dtype));
  }
}

Tensor conv_oracle(const ConvProblem& p, const std::vector<Tensor>& operands) {
  const auto wide = [&](int i) {
    return i < 0 ? Tensor() : operands[static_cast<size_t>(i)].to(DType::float64).contiguous();
  };
  const Tensor x = wide(p.x_index), w = wide(p.weight_index), bias = wide(p.bias_index),
               residual = wide(p.residual_index);
  Tensor out = Tensor::empty(p.shape(), DType::float64);
  const Dims3 s(p);
  const double *px = x.data<double>(), *pw = w.data<double>();
  double* y = out.mutable_data<double>();
  each_output(p, s, 0, out.numel(), [&](int64_t i, int64_t n, int64_t o, const int64_t at[3]) {
    double v = element<double>(
        p, s, n, o, at, [&](int64_t k) { return px[k]; }, [&](int64_t k) { return pw[k]; });
    if (bias.defined()) v += bias.data<double>()[o];
    if (residual.defined()) v += residual.data<double>()[i];
    y[i] = activate(p.activation, v) * p.act_scale + p.act_shift;
  });
  return out;
}

}  // namespace nbx
