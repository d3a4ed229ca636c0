// SPDX-License-Identifier: Apache-2.0
// Batch norm (Ioffe, Szegedy 2015), instance norm, group norm (Wu, He 2018). With given statistics this is one affine
// map a channel, which a pass folds into the convolution before it. Running statistics are never updated: nbx only
// infers.
#include "ops/norm/channel_norm/channel_norm.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const ChannelNormSpec s = channel_norm_spec(a);
  const Meta& x = a.tensor("input");
  Metas out = {x.like()};
  if (s.saves) {
    using Statistics = ChannelNormSpec::Statistics;
    const Shape shape = s.statistics == Statistics::given   ? Shape{0}
                        : s.statistics == Statistics::group ? Shape{s.n, s.groups}
                                                            : Shape{s.channels};
    const Meta saved(x.dtype == DType::float64 ? DType::float64 : DType::float32, shape);
    out.push_back(saved);
    out.push_back(saved);
  }
  return out;
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = (channel_norm_spec(a).statistics == ChannelNormSpec::Statistics::given ? 2 : 6) * a.tensor("input").numel();
  c.workspace = channel_norm_bytes(a);
  return c;
}

// Inference only; the statistics outputs of training have no meaning here.
void import_batch_norm(Importing& in) {
  if (in.integer("training_mode", 0) != 0)
    in.unsupported("BatchNormalization with training_mode=1: nbx runs inference; export the model in evaluation mode");
  in.number("momentum", 0.9);  // of training
  if (in.opset() < 9 && in.integer("spatial", 1) != 1) in.unsupported("BatchNormalization with spatial=0");
  for (int i = 1; i < in.outputs(); ++i)
    if (in.wants_output(i))
      in.unsupported("BatchNormalization with statistics outputs: nbx runs inference; export in evaluation mode");
  in.output(0, in.emit("aten::batch_norm", {in.input(0), in.input(1), in.input(2), in.input(3), in.input(4), false, 0.1,
                                            in.number("epsilon", 1e-5), false}));
}
void import_instance_norm(Importing& in) {
  in.output(0, in.emit("aten::instance_norm", {in.input(0), in.input(1), in.input(2), None{}, None{}, true, 0.1,
                                               in.number("epsilon", 1e-5), false}));
}
void import_group_norm(Importing& in) {
  in.output(0, in.emit("custom::group_norm",
                       {in.input(0), in.input(1), in.input(2), in.integer("num_groups"), in.number("epsilon", 1e-5)}));
}

OpDecl declared(const char* schema, SamplesFn samples, std::vector<OnnxImport> imports = {}) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  Kernel k = cpu("channel_norm_cpu", bind_channel_norm);
  k.workspace = channel_norm_bytes;
  d.kernels = {k};
  d.oracle = channel_norm_oracle;
  d.samples = samples;
  d.tolerance = norm_wise(1e-6, 8e-4, 6e-3);
  d.tolerance.f32.floor = d.tolerance.f16.floor = d.tolerance.bf16.floor = 1e-6;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.flags = kInPlace;
  d.imports = std::move(imports);
  d.source =
      d.schema.rfind("aten", 0) == 0 ? "ATen" : "ONNX GroupNormalization: weights by group (18) or by channel (21)";
  return d;
}

}  // namespace

namespace decls {

Decls channel_norm() {
  return {
      declared("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
               "running_var, bool training, "
               "float momentum, float eps, bool cudnn_enabled) -> Tensor",
               batch_norm_samples, {{"BatchNormalization", import_batch_norm}}),
      declared("aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
               "running_var, "
               "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
               native_batch_norm_samples),
      declared(
          "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
          "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
          no_training_samples),
      declared(
          "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
          "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
          instance_norm_samples, {{"InstanceNormalization", import_instance_norm}}),
      declared(
          "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
          "bool cudnn_enabled=True) -> Tensor",
          group_norm_samples),
      declared("aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, "
               "float eps) -> "
               "(Tensor, Tensor, Tensor)",
               native_group_norm_samples),
      declared(
          "custom::group_norm(Tensor input, Tensor weight, Tensor bias, int num_groups, float eps=1e-05) -> Tensor",
          onnx_group_norm_samples, {{"GroupNormalization", import_group_norm}}),
  };
}

}  // namespace decls
}  // namespace nbx
