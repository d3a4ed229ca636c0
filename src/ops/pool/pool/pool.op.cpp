// SPDX-License-Identifier: Apache-2.0
// Max, average and Lp pooling in one to three spatial dims, ATen's and ONNX's forms.
#include <cmath>

#include "ops/pool/pool/pool.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const PoolSpec s = pool_spec(a);
  Metas out = {a.tensor("self").with(s.out_shape)};
  if (s.indices != PoolIndices::none) out.push_back(Meta(DType::int64, s.out_shape));
  return out;
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  const PoolSpec s = pool_spec(a);
  c.flops = s.planes;
  for (const PoolAxis& axis : s.axes) {
    int64_t taps = 0;
    for (const int64_t t : axis.taps) taps += t;
    c.flops *= taps;
  }
  return c;
}

// 2-d unless said; every rule of windows comes up: overlap, gaps, padding, ceil, dilation.
SamplesFn max_samples(int spatial) {
  static constexpr auto shapes = [](int n) {
    return n == 1 ? Shape{2, 3, 40} : n == 2 ? Shape{2, 3, 13, 11} : Shape{1, 2, 7, 6, 9};
  };
  static constexpr auto add = [](SampleSink& s, int n) {
    const Shape shape = shapes(n);
    s.add({randn(shape), val(2)});
    s.add({randn(shape), val(3), val(1), val(1)});
    s.add({randn(shape), val(3), val(2), val(1), val(1), val(true)});
    s.add({randn(shape), val(2), val(1), val(0), val(2)});
    s.add({randn(Shape(shape.begin() + 1, shape.end())), val(2), val(3), val(1)});
    s.add({rand_ints(shape, -4, 4), val(3), val(2)});
    s.error(Code::shape, {"41"}, {randn(shape), val(41), val(1)});
    s.error(Code::value, {"padding 2"}, {randn(shape), val(3), val(1), val(2)});
    s.error(Code::value, {"stride 0"}, {randn(shape), val(3), val(0)});
  };
  if (spatial == 1) return [](SampleSink& s) { add(s, 1); };
  if (spatial == 2)
    return [](SampleSink& s) {
      add(s, 2);
      s.add({randn({1, 1, 5, 3000}), ints({3, 3}), ints({1, 1})});  // wider than a block
      Tensor t = randn({1, 1, 4, 4});
      t.mutable_data<float>()[5] = std::nanf("");
      s.add({t, val(2), val(1)});
    };
  return [](SampleSink& s) { add(s, 3); };
}
SamplesFn average_samples(int spatial) {
  static constexpr auto add = [](SampleSink& s, const Shape& shape) {
    for (const bool count : {true, false}) {
      s.add({randn(shape), val(2), ints({}), val(0), val(false), val(count)});
      s.add({randn(shape), val(3), val(1), val(1), val(false), val(count)});
      s.add({randn(shape), val(3), val(2), val(1), val(true), val(count)});
      s.add({rand_ints(shape, -9, 9), val(3), val(2), val(1), val(true), val(count)});
    }
    s.error(Code::value, {"padding 2"}, {randn(shape), val(3), val(1), val(2)});
    s.error(Code::value, {"stride 0"}, {randn(shape), val(3), val(0)});
  };
  if (spatial == 1)
    return [](SampleSink& s) {
      add(s, {2, 3, 40});
      s.add({randn({2, 2, 5000}), val(1500), val(700)});
    };
  if (spatial == 2)
    return [](SampleSink& s) {
      add(s, {2, 3, 13, 11});
      s.add({randn({2, 3, 13, 11}), val(3), val(2), val(1), val(false), val(true), val(5)});
    };
  return [](SampleSink& s) { add(s, {1, 2, 7, 6, 9}); };
}
SamplesFn adaptive_samples(int spatial) {
  if (spatial == 1)
    return [](SampleSink& s) {
      for (const int64_t n : {1, 4, 7, 40, 51}) s.add({randn({2, 3, 40}), ints({n})});
    };
  if (spatial == 2)
    return [](SampleSink& s) {
      s.add({randn({2, 3, 13, 11}), ints({1, 1})});
      s.add({randn({2, 3, 13, 11}), ints({5, 4})});
      s.add({strided(randn({3, 6, 11})), ints({7, 13})});
      s.error(Code::shape, {"[3, 0, 4]"}, {randn({3, 0, 4}), ints({1, 1})});
    };
  return [](SampleSink& s) { s.add({randn({2, 3, 5, 6, 7}), ints({2, 3, 4})}); };
}
void onnx_samples(SampleSink& s) {
  for (const char* kind : {"max", "average", "lp"}) {
    for (const char* same : {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"})
      s.add({randn({2, 3, 13, 12}), val(kind), ints({3, 2}), ints({2, 3}), ints({}), ints({}), val(same)});
    s.add({randn({2, 3, 13, 12}), val(kind), ints({3, 2}), ints({2, 1}), ints({2, 0, 1, 1}), ints({2, 2}),
           val("NOTSET"), val(true), val(true)});
    s.add({randn({2, 3, 14}), val(kind), ints({4}), ints({3}), ints({3, 0}), ints({}), val("NOTSET"), val(true),
           val(false)});
    s.add({randn({1, 2, 5, 6, 7}), val(kind), ints({2, 2, 2})});
  }
  s.add({randn({2, 3, 14}), val("lp"), ints({4}), ints({3}), ints({}), ints({}), val("NOTSET"), val(false), val(false),
         val(3.0)});
  s.add_as_is({rand_ints({1, 2, 8, 8}, 0, 255, DType::uint8), val("max"), ints({3, 3})});
  s.error(Code::value, {"SAME"}, {randn({1, 1, 4}), val("max"), ints({2}), ints({}), ints({}), ints({}), val("SAME")});
}
void onnx_index_samples(SampleSink& s) {
  for (const int64_t order : {0, 1}) {
    s.add({randn({2, 3, 7, 8}), ints({3, 2}), ints({2, 1}), ints({1, 0, 1, 1}), ints({}), val("NOTSET"), val(false),
           val(order)});
    s.add({randn({1, 2, 5, 6, 7}), ints({2, 2, 2}), ints({2, 2, 2}), ints({}), ints({}), val("SAME_UPPER"), val(false),
           val(order)});
  }
}

void import_pool(Importing& in) {
  const std::string& type = in.op_type();
  const Ints none_given = {};
  const Ints kernel = in.ints("kernel_shape"), strides = in.ints("strides", none_given),
             pads = in.ints("pads", none_given), dilations = in.ints("dilations", none_given);
  const std::string same = in.text("auto_pad", "NOTSET");
  const bool ceil = in.integer("ceil_mode", 0) != 0;
  if (type == "MaxPool" && in.wants_output(1)) {
    const auto out = in.emit_all("custom::max_pool_with_indices", {in.input(0), kernel, strides, pads, dilations, same,
                                                                   ceil, in.integer("storage_order", 0)});
    in.output(0, out[0]);
    in.output(1, out[1]);
    return;
  }
  const std::string kind = type == "MaxPool" ? "max" : type == "AveragePool" ? "average" : "lp";
  const double p = type == "LpPool" ? static_cast<double>(in.integer("p", 2)) : 2.0;
  in.output(0, in.emit("custom::pool", {in.input(0), kind, kernel, strides, pads, dilations, same, ceil,
                                        in.integer("count_include_pad", 0) != 0, p}));
}

OpDecl declared(const std::string& schema, SamplesFn samples, std::vector<OnnxImport> imports = {}) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("pool_cpu", bind_pool)};
  d.oracle = pool_oracle;
  d.samples = samples;
  if (schema.find("max_pool") == std::string::npos) d.tolerance = norm_wise(4e-7, 6e-4, 5e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.imports = std::move(imports);
  d.source =
      schema.rfind("aten", 0) == 0 ? "ATen" : "ONNX MaxPool, AveragePool, LpPool: padding by end, SAME, dilations";
  return d;
}

}  // namespace

std::vector<Tensor> pool_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const PoolSpec s = pool_spec(a);
  const Tensor& in = operands[0];
  const auto x = in.to_doubles();
  std::vector<double> y;
  std::vector<int64_t> index;
  const PoolAxis &D = s.axes[0], &H = s.axes[1], &W = s.axes[2];
  for (int64_t plane = 0; plane < s.planes; ++plane)
    for (size_t d = 0; d < D.first.size(); ++d)
      for (size_t h = 0; h < H.first.size(); ++h)
        for (size_t w = 0; w < W.first.size(); ++w) {
          double sum = 0, power = 0, best = -INFINITY;
          int64_t count = 0, at = -1;
          for (int64_t i = 0; i < D.taps[d]; ++i)
            for (int64_t j = 0; j < H.taps[h]; ++j)
              for (int64_t k = 0; k < W.taps[w]; ++k) {
                const int64_t dz = D.first[d] + i * D.step, hy = H.first[h] + j * H.step, wx = W.first[w] + k * W.step;
                const double v = x[static_cast<size_t>(((plane * D.in + dz) * H.in + hy) * W.in + wx)];
                sum += v;
                power += std::pow(std::fabs(v), s.p);
                if (at < 0 || v > best || (std::isnan(v) && !std::isnan(best))) {
                  best = v;
                  at = s.indices == PoolIndices::whole_column_major ? (wx * H.in + hy) * D.in + dz
                                                                    : (dz * H.in + hy) * W.in + wx;
                  if (s.indices != PoolIndices::plane) at += plane * D.in * H.in * W.in;
                }
                ++count;
              }
          index.push_back(at);
          if (s.kind == PoolKind::average) {
            int64_t divisor = s.count_padding ? D.cover[d] * H.cover[h] * W.cover[w] : count;
            if (s.divisor != 0) divisor = s.divisor;
            y.push_back(count == 0                ? 0
                        : is_floating(in.dtype()) ? sum / static_cast<double>(divisor)
                                                  : std::trunc(sum / static_cast<double>(divisor)));
          } else {
            y.push_back(s.kind == PoolKind::lp ? std::pow(power, 1 / s.p) : best);
          }
        }
  Tensor out = Tensor::of<double>(s.out_shape, std::span<const double>(y));
  if (!is_floating(in.dtype())) out = out.to(in.dtype());
  if (s.indices == PoolIndices::none) return {out};
  return {out, Tensor::of<int64_t>(s.out_shape, std::span<const int64_t>(index))};
}

namespace decls {

Decls pool() {
  Decls d;
  for (const int n : {1, 2, 3}) {
    const std::string k = std::to_string(n), list = "int[" + k + "] ";
    const std::string window = "(Tensor self, " + list + "kernel_size, " + list + "stride=[], " + list + "padding=0, ";
    const std::string max = window + list + "dilation=1, bool ceil_mode=False) -> ";
    d.push_back(declared("aten::max_pool" + k + "d" + max + "Tensor", max_samples(n)));
    d.push_back(declared("aten::max_pool" + k + "d_with_indices" + max + "(Tensor, Tensor)", max_samples(n)));
    d.push_back(declared("aten::avg_pool" + k + "d" + window + "bool ceil_mode=False, bool count_include_pad=True" +
                             (n > 1 ? ", int? divisor_override=None" : "") + ") -> Tensor",
                         average_samples(n)));
    d.push_back(declared("aten::adaptive_avg_pool" + k + "d(Tensor self, " + list + "output_size) -> Tensor",
                         adaptive_samples(n)));
    if (n > 1) d.back().aliases = {"aten::_adaptive_avg_pool" + k + "d"};
  }
  const std::string onnx =
      "int[] kernel_shape, int[] strides=[], int[] pads=[], int[] dilations=[], str auto_pad='NOTSET', bool "
      "ceil_mode=False, ";
  d.push_back(
      declared("custom::pool(Tensor self, str kind, " + onnx + "bool count_include_pad=False, float p=2.0) -> Tensor",
               onnx_samples, {{"MaxPool", import_pool}, {"AveragePool", import_pool}, {"LpPool", import_pool, 2}}));
  d.push_back(
      declared("custom::max_pool_with_indices(Tensor self, " + onnx + "int storage_order=0) -> (Tensor, Tensor)",
               onnx_index_samples));
  return d;
}

}  // namespace decls
}  // namespace nbx
