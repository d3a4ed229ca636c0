// SPDX-License-Identifier: Apache-2.0
// Resizing: ATen's upsample_* and ONNX's Resize and Upsample. Interpolation is separable: one pass a dim.
#include "ops/resample/resize/resize.h"

#include <cmath>

namespace nbx {
namespace {

Metas infer(const Args& a) { return {a.operands()[0].with(resize_spec(a, false).out)}; }

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  const ResizeSpec s = resize_spec(a);
  if (!s.moves)
    for (const ResizeAxis& axis : s.axes) c.flops += axis.weight.empty() ? 0 : 2 * axis.taps * outputs[0].numel();
  c.workspace = resize_bytes(a);
  return c;
}

// A list that is often a constant, and empty when absent.
Value list_input(Importing& in, int i) {
  if (!in.has_input(i)) return None{};
  if (const Tensor* known = in.constant(in.input(i))) {
    if (known->numel() == 0) return None{};
    if (is_floating(known->dtype())) return Value(Doubles(known->to_doubles()));
    const auto values = known->to_ints();
    return Value(Ints(values.begin(), values.end()));
  }
  return FromTensor{in.input(i)};
}

void emit_resize(Importing& in, Value roi, Value scales, Value sizes, const std::string& coordinates,
                 const std::string& nearest_mode) {
  Value axes = None{};
  if (in.has("axes")) axes = in.ints("axes");
  in.output(0, in.emit("custom::resize",
                       {in.input(0), std::move(roi), std::move(scales), std::move(sizes), in.text("mode", "nearest"),
                        coordinates, nearest_mode, in.number("cubic_coeff_a", -0.75),
                        in.integer("exclude_outside", 0) != 0, in.number("extrapolation_value", 0.0),
                        in.text("keep_aspect_ratio_policy", "stretch"), in.integer("antialias", 0) != 0, axes}));
}
void import_resize(Importing& in) {
  const std::string coordinates = in.text("coordinate_transformation_mode", "half_pixel");
  // The region only matters for the cropping mode.
  const Value roi = coordinates == "tf_crop_and_resize" ? list_input(in, 1) : Value(None{});
  const bool by_size = in.has_input(3);
  emit_resize(in, roi, by_size ? Value(None{}) : list_input(in, 2), by_size ? list_input(in, 3) : Value(None{}),
              coordinates, in.text("nearest_mode", "round_prefer_floor"));
}
void import_resize_10(Importing& in) { emit_resize(in, None{}, list_input(in, 1), None{}, "asymmetric", "floor"); }
void import_upsample_7(Importing& in) {
  emit_resize(in, None{}, Value(in.numbers("scales")), None{}, "asymmetric", "floor");
}
void import_upsample_9(Importing& in) { emit_resize(in, None{}, list_input(in, 1), None{}, "asymmetric", "floor"); }

template <int spatial, bool vec>
void nearest(SampleSink& s) {
  nearest_samples(spatial, vec, s);
}
template <int spatial, bool vec>
void linear(SampleSink& s) {
  linear_samples(spatial, vec, s);
}

OpDecl declared(const std::string& schema, SamplesFn samples, Tolerances tolerance) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  Kernel k = cpu("resize_cpu", bind_resize);
  k.workspace = resize_bytes;
  d.kernels = {k};
  d.oracle = resize_oracle;
  d.samples = samples;
  d.tolerance = tolerance;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.source = "ATen";
  return d;
}

}  // namespace

namespace decls {

Decls resize() {
  const Tolerances near = norm_wise(2e-6, 8e-4, 6e-3);
  Decls d;
  const SamplesFn nearest_of[3][2] = {{nearest<1, false>, nearest<1, true>},
                                      {nearest<2, false>, nearest<2, true>},
                                      {nearest<3, false>, nearest<3, true>}};
  const SamplesFn linear_of[3][2] = {
      {linear<1, false>, linear<1, true>}, {linear<2, false>, linear<2, true>}, {linear<3, false>, linear<3, true>}};
  const char* scales[] = {"float? scales=None", "float? scales_h=None, float? scales_w=None",
                          "float? scales_d=None, float? scales_h=None, float? scales_w=None"};
  for (int n = 1; n <= 3; ++n) {
    const std::string k = std::to_string(n), size = "(Tensor self, int[" + k + "] output_size, ", given = scales[n - 1];
    const std::string vec = ".vec(Tensor input, int[]? output_size, ", end = ") -> Tensor",
                      factors = "float[]? scale_factors";
    for (const char* name : {"aten::upsample_nearest", "aten::_upsample_nearest_exact"}) {
      const std::string op = name + k + "d";
      d.push_back(declared(op + size + given + end, nearest_of[n - 1][0], exact()));
      d.push_back(declared(op + vec + factors + end, nearest_of[n - 1][1], exact()));
    }
    const std::string op = n == 1   ? "aten::upsample_linear1d"
                           : n == 2 ? "aten::upsample_bilinear2d"
                                    : "aten::upsample_trilinear3d";
    d.push_back(declared(op + size + "bool align_corners, " + given + end, linear_of[n - 1][0], near));
    d.push_back(declared(op + vec + "bool align_corners, " + factors + end, linear_of[n - 1][1], near));
    if (n != 2) continue;
    d.push_back(
        declared("aten::upsample_bicubic2d" + size + "bool align_corners, " + given + end, linear_of[1][0], near));
    d.push_back(
        declared("aten::upsample_bicubic2d" + vec + "bool align_corners, " + factors + end, linear_of[1][1], near));
  }
  OpDecl onnx = declared(
      "custom::resize(Tensor self, float[]? roi=None, float[]? scales=None, int[]? sizes=None, str mode='nearest', str "
      "coordinates='half_pixel', "
      "str nearest_mode='round_prefer_floor', float cubic_a=-0.75, bool exclude_outside=False, float "
      "extrapolation=0.0, "
      "str keep_aspect='stretch', bool antialias=False, int[]? axes=None) -> Tensor",
      onnx_resize_samples, near);
  onnx.source = "ONNX Resize and Upsample; coordinates are exact fractions where the sizes are given";
  onnx.imports = {{"Resize", import_resize, 11},
                  {"Resize", import_resize_10, 10, 10},
                  {"Upsample", import_upsample_9, 9},
                  {"Upsample", import_upsample_7, 7, 8}};
  d.push_back(std::move(onnx));
  return d;
}

}  // namespace decls
}  // namespace nbx
