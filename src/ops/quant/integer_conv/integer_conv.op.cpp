// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit integers: the int32 sums themselves, or quantised again. A is a group's weights, B the patches,
// made block by block; padding holds x's zero point, which is 0 once that is taken off.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/conv/problem.h"
#include "ops/quant/int_product.h"
#include "ops/quant/linear.h"

namespace nbx {

namespace {

bool is_quantised(const Args& a) { return a.schema().find("y_scale") >= 0; }

void check_per_channel(const Args& a, const char* param, const Meta& m, int64_t channels) {
  require(m.numel() == 1 || m.shape == Shape{channels}, Code::shape,
          "{}: {} is {}, the weight has {} output channels; pass one value or [{}]", a.op(), param, to_string(m),
          channels, channels);
}

ConvProblem problem_of(const Args& a) {
  const Meta &x = a.tensor("x"), &w = a.tensor("w");
  require_byte(a.op(), "x", x);
  require_byte(a.op(), "w", w);
  ConvAttributes c;
  c.stride = a.ints("stride");
  c.dilation = a.ints("dilation");
  c.groups = a.integer("groups");
  c.auto_pad = a.text("auto_pad");
  const Ints pads = a.ints("pads");
  require(pads.size() % 2 == 0, Code::shape, "{}: pads is {}, begins and ends are needed", a.op(), to_string(pads));
  c.begin.append(pads.begin(), pads.begin() + pads.size() / 2);
  c.end.append(pads.begin() + pads.size() / 2, pads.end());
  const ConvProblem p = make_conv(a.op(), Meta(DType::int32, x.shape), Meta(DType::int32, w.shape), nullptr, false, c);
  if (const Meta* zero = a.optional_tensor("x_zero_point")) {
    require_single(a.op(), "x_zero_point", *zero);
    require(zero->dtype == x.dtype, Code::dtype, "{}: x_zero_point is {}, x is {}; they must have one dtype", a.op(),
            to_string(*zero), to_string(x));
  }
  if (const Meta* zero = a.optional_tensor("w_zero_point")) {
    check_per_channel(a, "w_zero_point", *zero, p.out_channels);
    require(zero->dtype == w.dtype, Code::dtype, "{}: w_zero_point is {}, w is {}; they must have one dtype", a.op(),
            to_string(*zero), to_string(w));
  }
  if (!is_quantised(a)) return p;
  for (const char* param : {"x_scale", "w_scale", "y_scale"}) require_scale(a.op(), param, a.tensor(param));
  for (const char* param : {"x_scale", "y_scale", "y_zero_point"}) require_single(a.op(), param, a.tensor(param));
  check_per_channel(a, "w_scale", a.tensor("w_scale"), p.out_channels);
  require_byte(a.op(), "y_zero_point", a.tensor("y_zero_point"));
  if (const Meta* bias = a.optional_tensor("bias"))
    require(bias->dtype == DType::int32 && bias->shape == Shape{p.out_channels}, Code::shape,
            "{}: bias is {}, it must be int32[{}]", a.op(), to_string(*bias), p.out_channels);
  return p;
}

Metas infer(const Args& a) {
  return {Meta(is_quantised(a) ? a.tensor("y_zero_point").dtype : DType::int32, problem_of(a).shape())};
}
Cost cost(const Args& a, const Metas& outputs) {
  const ConvProblem p = problem_of(a);
  Cost c = copy_cost(a, outputs);
  c.flops = 2 * outputs[0].numel() * p.taps() * (p.in_channels / p.groups);
  return c;
}

// Output positions next to each other in a row, among the columns of a tile.
struct Stretch {
  int64_t to = 0, count = 0;  // columns of the tile
  int64_t base[3] = {};       // the input position that tap 0 of the first one reads
};

// Three spatial dims always, the missing ones in front with extent 1.
struct Job {
  int64_t groups, in_group, out_group, taps, positions;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], begin[3];
  IntProduct size;
  bool x_signed, w_signed, each_zero;
  int x_index, w_index, x_zero, w_zero;

  Job(const Args& a, const ConvProblem& p)
      : groups(p.groups),
        in_group(p.in_channels / p.groups),
        out_group(p.out_channels / p.groups),
        taps(p.taps()),
        positions(numel(p.out)),
        size{p.batch * p.groups, out_group, positions, in_group * taps},
        x_signed(a.tensor("x").dtype == DType::int8),
        w_signed(a.tensor("w").dtype == DType::int8),
        each_zero(a.optional_tensor("w_zero_point") && a.tensor("w_zero_point").numel() > 1),
        x_index(a.operand("x")),
        w_index(a.operand("w")),
        x_zero(a.operand("x_zero_point")),
        w_zero(a.operand("w_zero_point")) {
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

  template <class T>
  void weights(const T* w, const Run& r, int64_t group, int64_t row, int64_t rows, int64_t k, int64_t depth,
               int16_t* dst) const {
    for (int64_t i = 0; i < rows; ++i, dst += depth) {
      const int64_t channel = group * out_group + row + i;
      const int32_t zero = w_zero < 0 ? 0 : byte_at(r.inputs[w_zero], w_signed, each_zero ? channel : 0);
      const T* from = w + channel * size.k + k;
      for (int64_t j = 0; j < depth; ++j) dst[j] = static_cast<int16_t>(from[j] - zero);
    }
  }

  int64_t stretches(int64_t col, int64_t cols, Stretch* to) const {
    int64_t count = 0;
    for (int64_t c = 0; c < cols;) {
      const int64_t p = col + c, last = p % out[2], middle = p / out[2] % out[1], first = p / out[2] / out[1];
      Stretch s;
      s.to = c;
      s.count = std::min(cols - c, out[2] - last);
      const int64_t at[3] = {first, middle, last};
      for (int d = 0; d < 3; ++d) s.base[d] = at[d] * stride[d] - begin[d];
      to[count++] = s;
      c += s.count;
    }
    return count;
  }

  // x: the first channel of the group.
  template <class T>
  void patches(const T* x, int32_t zero, int64_t k, int64_t depth, int64_t col, int64_t cols, int16_t* dst) const {
    Stretch list[kIntCols];
    const int64_t count = stretches(col, cols, list);
    std::fill(dst, dst + depth * kIntCols, int16_t{0});
    for (int64_t e = 0; e < depth; ++e, dst += kIntCols) {
      const int64_t tap = (k + e) % taps, channel = (k + e) / taps;
      const int64_t shift[3] = {tap / (kernel[1] * kernel[2]) * dilation[0], tap / kernel[2] % kernel[1] * dilation[1],
                                tap % kernel[2] * dilation[2]};
      const T* plane = x + channel * in[0] * in[1] * in[2];
      for (int64_t i = 0; i < count; ++i) {
        const Stretch& s = list[i];
        const int64_t i0 = s.base[0] + shift[0], i1 = s.base[1] + shift[1], i2 = s.base[2] + shift[2];
        if (i0 < 0 || i0 >= in[0] || i1 < 0 || i1 >= in[1]) continue;
        // The columns whose position is inside the row.
        const int64_t from = i2 >= 0 ? 0 : std::min(s.count, (-i2 + stride[2] - 1) / stride[2]);
        const int64_t until = i2 >= in[2] ? 0 : std::min(s.count, (in[2] - i2 + stride[2] - 1) / stride[2]);
        const T* row = plane + (i0 * in[1] + i1) * in[2];
        if (stride[2] == 1)
          for (int64_t c = from; c < until; ++c) dst[s.to + c] = static_cast<int16_t>(row[i2 + c] - zero);
        else
          for (int64_t c = from; c < until; ++c) dst[s.to + c] = static_cast<int16_t>(row[i2 + c * stride[2]] - zero);
      }
    }
  }

  void run(const Run& r, TakeTile take) const {
    const int32_t zero = x_zero < 0 ? 0 : byte_at(r.inputs[x_zero], x_signed, 0);
    const auto rows = [&](int64_t batch, int64_t row, int64_t count, int64_t k, int64_t depth, int16_t* dst) {
      if (w_signed)
        weights(r.in<int8_t>(w_index), r, batch % groups, row, count, k, depth, dst);
      else
        weights(r.in<uint8_t>(w_index), r, batch % groups, row, count, k, depth, dst);
    };
    const auto cols = [&](int64_t batch, int64_t k, int64_t depth, int64_t col, int64_t count, int16_t* dst) {
      const int64_t at = batch * in_group * in[0] * in[1] * in[2];
      if (x_signed)
        patches(r.in<int8_t>(x_index) + at, zero, k, depth, col, count, dst);
      else
        patches(r.in<uint8_t>(x_index) + at, zero, k, depth, col, count, dst);
    };
    int_product(r.team, size, rows, cols, take);
  }
};

Bound bind_sums(const Args& a, const Metas&) {
  const Job job(a, problem_of(a));
  return [job](const Run& r) {
    int32_t* y = r.out<int32_t>(0);
    const IntProduct& s = job.size;
    job.run(r, [&](int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, const int32_t* tile) {
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(tile + i * kIntCols, cols, y + (batch * s.m + row + i) * s.n + col);
    });
  };
}

template <class T>
Bound quantised(const Args& a, const ConvProblem& p) {
  struct All {
    Job job;
    int bias, x_scale, w_scale, y_scale, y_zero;
    ReadFloats read_x, read_w, read_y;
    bool each_scale;
  };
  const auto read = [&](const char* param) { return reader(a.op(), a.tensor(param).dtype); };
  const All all{Job(a, p),
                a.operand("bias"),
                a.operand("x_scale"),
                a.operand("w_scale"),
                a.operand("y_scale"),
                a.operand("y_zero_point"),
                read("x_scale"),
                read("w_scale"),
                read("y_scale"),
                a.tensor("w_scale").numel() > 1};
  return [all](const Run& r) {
    T* y = r.out<T>(0);
    const IntProduct& s = all.job.size;
    const int32_t* bias = r.in<int32_t>(all.bias);
    float x_scale = 1, y_scale = 1;
    all.read_x(r.inputs[all.x_scale], 0, 1, &x_scale);
    all.read_y(r.inputs[all.y_scale], 0, 1, &y_scale);
    const int64_t zero = *r.in<T>(all.y_zero);
    all.job.run(r, [&](int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, const int32_t* tile) {
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t channel = batch % all.job.groups * s.m + row + i;
        float w_scale = 1;
        all.read_w(r.inputs[all.w_scale], all.each_scale ? channel : 0, 1, &w_scale);
        const float multiplier = x_scale * w_scale / y_scale;
        const uint32_t more = bias ? static_cast<uint32_t>(bias[channel]) : 0u;
        T* to = y + (batch * s.m + row + i) * s.n + col;
        for (int64_t j = 0; j < cols; ++j) {
          // Sums wrap, as ONNX lets them.
          const int32_t sum = static_cast<int32_t>(static_cast<uint32_t>(tile[i * kIntCols + j]) + more);
          to[j] = static_cast<T>(
              requantize(sum, multiplier, zero, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
        }
      }
    });
  };
}
Bound bind_quantised(const Args& a, const Metas& outputs) {
  const ConvProblem p = problem_of(a);
  return outputs[0].dtype == DType::int8 ? quantised<int8_t>(a, p) : quantised<uint8_t>(a, p);
}

// The float64 convolution of the values less their zero points is exact.
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& in) {
  ConvProblem p = problem_of(a);
  const auto values = [&](const char* param) -> std::vector<double> {
    const int i = a.operand(param);
    return i < 0 ? std::vector<double>{0.0} : in[static_cast<size_t>(i)].to_doubles();
  };
  const auto each = [](const std::vector<double>& v, int64_t i) {
    return v[v.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  std::vector<double> x = values("x"), w = values("w");
  const std::vector<double> x_zero = values("x_zero_point"), w_zero = values("w_zero_point");
  const int64_t filter = p.in_channels / p.groups * p.taps();
  for (double& v : x) v -= x_zero[0];
  for (size_t i = 0; i < w.size(); ++i) w[i] -= each(w_zero, static_cast<int64_t>(i) / filter);
  p.x_index = 0;
  p.weight_index = 1;
  p.bias_index = -1;
  const Tensor sums = conv_oracle(p, {Tensor::of<double>(p.x.shape, std::span<const double>(x)),
                                      Tensor::of<double>(p.weight.shape, std::span<const double>(w))});
  if (!is_quantised(a)) return {sums.to(DType::int64)};
  const std::vector<double> bias = values("bias"), w_scale = values("w_scale");
  const bool is_signed = a.tensor("y_zero_point").dtype == DType::int8;
  std::vector<double> y = sums.to_doubles();
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) / numel(p.out) % p.out_channels;
    const float both = static_cast<float>(values("x_scale")[0]) * static_cast<float>(each(w_scale, channel));
    const float multiplier = both / static_cast<float>(values("y_scale")[0]);
    const double v = std::nearbyint((y[i] + each(bias, channel)) * static_cast<double>(multiplier));
    y[i] = std::clamp(v + values("y_zero_point")[0], is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
  }
  return {Tensor::of<double>(sums.shape(), std::span<const double>(y)).to(DType::int64)};
}

constexpr DType kBytes[] = {DType::int8, DType::uint8};
Tensor bytes(const Shape& shape, DType dtype, uint64_t seed = 0) {
  return dtype == DType::int8 ? rand_ints(shape, -128, 128, dtype, seed) : rand_ints(shape, 0, 256, dtype, seed);
}

void sum_samples(SampleSink& s) {
  for (const DType x : kBytes)
    for (const DType w : kBytes) {
      // Padding is x's zero point, not 0.
      s.add({bytes({1, 3, 9, 11}, x), bytes({4, 3, 3, 3}, w, 1), bytes({}, x, 2), bytes({4}, w, 3)},
            {{"pads", ints({1, 2, 0, 1})}});
      s.add({bytes({2, 8, 9, 9}, x), bytes({12, 2, 3, 3}, w, 1), bytes({1}, x, 2), bytes({}, w, 3)},
            {{"groups", val(4)}, {"stride", ints({2, 1})}, {"pads", ints({1, 1, 1, 1})}});
    }
  const DType u = DType::uint8, i = DType::int8;
  s.add({bytes({1, 40, 13, 17}, u), bytes({70, 40, 3, 3}, i, 1), bytes({}, u, 2)},
        {{"auto_pad", val("SAME_UPPER")}});  // more than one tile each way, more than one block of depth
  s.add({bytes({1, 16, 10, 13}, u), bytes({16, 1, 5, 5}, i, 1)},
        {{"groups", val(16)}, {"stride", ints({2, 3})}, {"pads", ints({2, 2, 2, 2})}});
  s.add({bytes({1, 4, 9, 33}, u), bytes({6, 4, 1, 7}, i, 1), bytes({}, u, 2)},
        {{"dilation", ints({1, 9})}, {"pads", ints({0, 30, 0, 29})}});  // taps that lie outside the row altogether
  s.add({bytes({2, 3, 20}, u), bytes({5, 3, 4}, i, 1), bytes({}, u, 2)}, {{"stride", ints({3})}});
  s.add({bytes({1, 2, 4, 5, 6}, u), bytes({3, 2, 2, 3, 3}, i, 1), bytes({}, u, 2)},
        {{"pads", ints({1, 1, 0, 0, 1, 2})}});
  // 64 products of 255 and 127 make 2 072 640.
  s.add({Tensor::full({1, 64, 2, 3}, 255, u), Tensor::full({2, 64, 1, 1}, 127, i)});
  s.add({bytes({0, 3, 9, 11}, u), bytes({4, 3, 3, 3}, i, 1)});
  s.add({strided(bytes({2, 3, 9, 11}, u)), strided(bytes({4, 3, 3, 3}, i, 1))});
  s.error(Code::shape, {"[4, 2, 3, 3]"}, {bytes({1, 3, 9, 9}, u), bytes({4, 2, 3, 3}, i)});
  s.error(Code::shape, {"w_zero_point", "[3]", "4"},
          {bytes({1, 3, 9, 9}, u), bytes({4, 3, 3, 3}, i), none, bytes({3}, i)});
  s.error(Code::shape, {"x_zero_point", "[3]"}, {bytes({1, 3, 9, 9}, u), bytes({4, 3, 3, 3}, i), bytes({3}, u)});
  s.error(Code::dtype, {"x", "int16"}, {rand_ints({1, 3, 9, 9}, 0, 9, DType::int16), bytes({4, 3, 3, 3}, i)});
}

void quantised_samples(SampleSink& s) {
  const Tensor scale = Tensor::scalar(0.02f), y_scale = Tensor::scalar(0.9f);
  const Tensor bias = rand_ints({4}, -9000, 9000, DType::int32);
  for (const DType x : kBytes)
    for (const DType y : kBytes) {
      const Tensor zero = Tensor::scalar(int64_t{11}).to(y);
      s.add({bytes({2, 3, 9, 11}, x), scale, bytes({}, x, 1), bytes({4, 3, 3, 3}, DType::int8, 2), scale,
             bytes({}, DType::int8, 3), y_scale, zero, bias},
            {{"pads", ints({1, 1, 1, 1})}});
      s.add({bytes({1, 4, 9, 11}, x), scale, bytes({}, x, 1), bytes({4, 2, 3, 3}, DType::uint8, 2),
             rand_uniform({4}, 0.01, 0.03), bytes({4}, DType::uint8, 3), y_scale, zero},
            {{"groups", val(2)}, {"stride", ints({2, 2})}});
    }
  const auto with_bias = [&](Tensor b) {
    return SampleArgs{bytes({1, 3, 5}, DType::uint8),
                      scale,
                      bytes({}, DType::uint8),
                      bytes({4, 3, 2}, DType::int8),
                      scale,
                      bytes({}, DType::int8),
                      y_scale,
                      bytes({}, DType::uint8),
                      std::move(b)};
  };
  s.add(with_bias(bias));
  s.error(Code::shape, {"bias", "int32[4]", "[3]"}, with_bias(rand_ints({3}, 0, 9, DType::int32)));
  s.error(Code::shape, {"bias", "int64"}, with_bias(rand_ints({4}, 0, 9)));
}

// kernel_shape repeats what the weight says; a graph in which the two differ is refused where the weight is known.
void check_kernel(Importing& in, int weight) {
  const Ints said = in.ints("kernel_shape", Ints{});
  const Tensor* w = in.constant(in.input(weight));
  if (said.empty() || !w) return;
  const Ints has(w->shape().begin() + std::min<int64_t>(2, w->rank()), w->shape().end());
  if (said != has)
    fail(Code::file, "node '{}': kernel_shape is {}, the weight is {}", in.node_name(), to_string(said), describe(*w));
}
void import_conv(Importing& in, const char* op, int operands, int weight) {
  check_kernel(in, weight);
  std::vector<Value> args;
  for (int i = 0; i < operands; ++i) args.push_back(in.has_input(i) ? Value(in.input(i)) : Value(None{}));
  in.output(0, in.emit(op, std::move(args),
                       {{"stride", in.ints("strides", Ints{})},
                        {"pads", in.ints("pads", Ints{})},
                        {"dilation", in.ints("dilations", Ints{})},
                        {"groups", in.integer("group", 1)},
                        {"auto_pad", in.text("auto_pad", "NOTSET")}}));
}
void import_sums(Importing& in) { import_conv(in, "custom::conv_integer", 4, 1); }
void import_quantised(Importing& in) { import_conv(in, "custom::qlinear_conv", 9, 3); }

}  // namespace

namespace decls {

Decls integer_conv() {
  const std::string attributes =
      ", int[] stride=[], int[] pads=[], int[] dilation=[], int groups=1, str auto_pad='NOTSET') -> Tensor";
  OpDecl sums;
  sums.schema =
      "custom::conv_integer(Tensor x, Tensor w, Tensor? x_zero_point=None, Tensor? w_zero_point=None" + attributes;
  sums.infer = infer;
  sums.cost = cost;
  sums.keys = shape_keys;
  sums.kernels = {cpu("conv_integer_cpu", bind_sums)};
  sums.oracle = oracle;
  sums.samples = sum_samples;
  sums.imports = {{"ConvInteger", import_sums, 10}};
  sums.source = "ONNX ConvInteger";

  OpDecl quantised = sums;
  quantised.schema =
      "custom::qlinear_conv(Tensor x, Tensor x_scale, Tensor x_zero_point, Tensor w, Tensor w_scale, "
      "Tensor w_zero_point, Tensor y_scale, Tensor y_zero_point, Tensor? bias=None" +
      attributes;
  quantised.kernels = {cpu("qlinear_conv_cpu", bind_quantised)};
  quantised.samples = quantised_samples;
  quantised.dtypes = {DType::float32, DType::float16, DType::bfloat16};
  quantised.imports = {{"QLinearConv", import_quantised, 10}};
  quantised.source = "ONNX QLinearConv";
  return {sums, quantised};
}

}  // namespace decls
}  // namespace nbx
