// SPDX-License-Identifier: Apache-2.0
// grid_sampler_2d: the output reads the input where the grid points (Jaderberg et al. 2015); ONNX GridSample in two dims.
#include "ops/resample/grid/grid.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const GridSpec s = grid_spec(a);
  return {a.tensor("input").with(Shape{s.n, s.channels, s.out_h, s.out_w})};
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = outputs[0].numel() * (a.integer("interpolation_mode") == 2 ? 32 : 8);
  return c;
}

// In float64, element by element. The taps are shared with the kernel; grid.test.cpp proves them.
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const GridSpec s = grid_spec(a);
  const auto x = operands[0].to_doubles(), points = operands[1].to_doubles();
  std::vector<double> y;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t o = 0; o < s.out_h * s.out_w; ++o) {
        const auto p = static_cast<size_t>((n * s.out_h * s.out_w + o) * 2);
        const GridTaps t = grid_taps(s, points[p], points[p + 1]);
        double sum = 0;
        for (int k = 0; k < t.count; ++k)
          if (t.at[k] >= 0) sum += t.weight[k] * x[static_cast<size_t>((n * s.channels + c) * s.in_h * s.in_w + t.at[k])];
        y.push_back(sum);
      }
  return {Tensor::of<double>({s.n, s.channels, s.out_h, s.out_w}, std::span<const double>(y))};
}

void samples(SampleSink& s) {
  for (const int64_t mode : {0, 1, 2})
    for (const int64_t padding : {0, 1, 2})
      for (const bool align : {false, true})
        s.add({randn({2, 3, 5, 4}), rand_uniform({2, 3, 6, 2}, -1.4, 1.4), val(mode), val(padding), val(align)});
  s.add({randn({1, 1, 1, 1}), rand_uniform({1, 2, 2, 2}, -3, 3), val(0), val(2), val(true)});
  s.error(Code::shape, {"[2, 3, 5, 4]", "[1, 3, 6, 2]"}, {randn({2, 3, 5, 4}), randn({1, 3, 6, 2}), val(0), val(0), val(false)});
  s.error(Code::value, {"interpolation_mode is 3"}, {randn({2, 3, 5, 4}), randn({2, 3, 6, 2}), val(3), val(0), val(false)});
}

void import_grid(Importing& in) {
  const std::string mode = in.text("mode", in.opset() < 20 ? "bilinear" : "linear"), padding = in.text("padding_mode", "zeros");
  int64_t m = -1, p = -1;
  if (mode == "bilinear" || mode == "linear") m = 0;
  if (mode == "nearest") m = 1;
  if (mode == "bicubic" || mode == "cubic") m = 2;
  if (padding == "zeros") p = 0;
  if (padding == "border") p = 1;
  if (padding == "reflection") p = 2;
  if (m < 0) in.unsupported("GridSample mode '" + mode + "'");
  if (p < 0) in.unsupported("GridSample padding_mode '" + padding + "'");
  in.output(0, in.emit("aten::grid_sampler_2d", {in.input(0), in.input(1), m, p, in.integer("align_corners", 0) != 0}));
}

}  // namespace

namespace decls {

Decls grid() {
  OpDecl d;
  d.schema = "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor";
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("grid_sampler_cpu", bind_grid)};
  d.oracle = oracle;
  d.samples = samples;
  d.tolerance = norm_wise(1e-6, 8e-4, 6e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.imports = {{"GridSample", import_grid, 16}};
  d.source = "ATen; ONNX GridSample of pictures";
  return {d};
}

}  // namespace decls
}  // namespace nbx
