// SPDX-License-Identifier: Apache-2.0
// grid_sampler: the output reads the input where the grid points (Jaderberg et al. 2015), in pictures and volumes.
#include "ops/resample/grid/grid.h"

namespace nbx {
namespace {

Shape out_shape(const GridSpec& s) {
  return s.volume ? Shape{s.n, s.channels, s.out_d, s.out_h, s.out_w} : Shape{s.n, s.channels, s.out_h, s.out_w};
}

Metas infer(const Args& a) {
  const GridSpec s = grid_spec(a);
  return {a.tensor("input").with(out_shape(s))};
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
  const int64_t out_plane = s.out_d * s.out_h * s.out_w, in_plane = s.in_d * s.in_h * s.in_w;
  std::vector<double> y;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t o = 0; o < out_plane; ++o) {
        const auto p = static_cast<size_t>((n * out_plane + o) * (s.volume ? 3 : 2));
        const GridTaps t = grid_taps(s, points[p], points[p + 1], s.volume ? points[p + 2] : 0);
        double sum = 0;
        for (int k = 0; k < t.count; ++k)
          if (t.at[k] >= 0) sum += t.weight[k] * x[static_cast<size_t>((n * s.channels + c) * in_plane + t.at[k])];
        y.push_back(sum);
      }
  return {Tensor::of<double>(out_shape(s), std::span<const double>(y))};
}

void volume_samples(SampleSink& s) {
  for (const int64_t mode : {0, 1})
    for (const int64_t padding : {0, 1, 2})
      for (const bool align : {false, true})
        s.add({randn({2, 3, 4, 5, 3}), rand_uniform({2, 2, 3, 4, 3}, -1.4, 1.4), val(mode), val(padding), val(align)});
  s.error(Code::unsupported, {"bicubic"}, {randn({2, 3, 4, 5, 3}), randn({2, 2, 3, 4, 3}), val(2), val(0), val(false)});
}
void picture_samples(SampleSink& s) {
  for (const int64_t mode : {0, 1, 2})
    for (const int64_t padding : {0, 1, 2})
      for (const bool align : {false, true})
        s.add({randn({2, 3, 5, 4}), rand_uniform({2, 3, 6, 2}, -1.4, 1.4), val(mode), val(padding), val(align)});
  s.add({randn({1, 1, 1, 1}), rand_uniform({1, 2, 2, 2}, -3, 3), val(0), val(2), val(true)});
  s.error(Code::shape, {"[2, 3, 5, 4]", "[1, 3, 6, 2]"},
          {randn({2, 3, 5, 4}), randn({1, 3, 6, 2}), val(0), val(0), val(false)});
  s.error(Code::value, {"interpolation_mode is 3"},
          {randn({2, 3, 5, 4}), randn({2, 3, 6, 2}), val(3), val(0), val(false)});
}

void any_samples(SampleSink& s) {
  picture_samples(s);
  volume_samples(s);
}

void import_grid(Importing& in) {
  const std::string mode = in.text("mode", in.opset() < 20 ? "bilinear" : "linear"),
                    padding = in.text("padding_mode", "zeros");
  int64_t m = -1, p = -1;
  if (mode == "bilinear" || mode == "linear") m = 0;
  if (mode == "nearest") m = 1;
  if (mode == "bicubic" || mode == "cubic") m = 2;
  if (padding == "zeros") p = 0;
  if (padding == "border") p = 1;
  if (padding == "reflection") p = 2;
  if (m < 0) in.unsupported("GridSample mode '" + mode + "'");
  if (p < 0) in.unsupported("GridSample padding_mode '" + padding + "'");
  in.output(0, in.emit("aten::grid_sampler", {in.input(0), in.input(1), m, p, in.integer("align_corners", 0) != 0}));
}

OpDecl declared(const std::string& name, SamplesFn samples) {
  OpDecl d;
  d.schema = "aten::" + name +
             "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor";
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("grid_sampler_cpu", bind_grid)};
  d.oracle = oracle;
  d.samples = samples;
  d.tolerance = norm_wise(1e-6, 8e-4, 6e-3);
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.source = "ATen; ONNX GridSample";
  return d;
}

}  // namespace

namespace decls {

Decls grid() {
  Decls d = {declared("grid_sampler_2d", picture_samples), declared("grid_sampler_3d", volume_samples),
             declared("grid_sampler", any_samples)};
  d.back().imports = {{"GridSample", import_grid, 16}};
  return d;
}

}  // namespace decls
}  // namespace nbx
