// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/onednn.h"
#include "ops/conv/conv_onednn.h"

namespace nbx {

Serves onednn_serves(const ConvProblem& p) {
  if (p.dtype != DType::float32) return refuse("oneDNN serves float32 here");
  if (p.transposed || p.residual) return refuse("neither transposed nor with a residual");
  if (!p.weight.known.defined()) return refuse("the weights must be constant");
  if (p.act_scale != 1 || p.act_shift != 0) return refuse("nothing after the activation");
  if (p.activation.kind != ActivationKind::none && p.activation.kind != ActivationKind::relu)
    return refuse("of the activations, relu alone");
  if (numel(p.shape()) == 0 || numel(p.in) == 0 || p.in_channels == 0) return refuse("nothing to compute");
  for (const Ints* pad : {&p.begin, &p.end})
    for (const int64_t v : *pad)
      if (v < 0) return refuse("negative padding");
  return yes;
}

Bound bind_onednn(const ConvProblem& p) {
  onednn::Convolution::Shape s;
  s.spatial = p.spatial;
  s.batch = p.batch;
  s.in_channels = p.in_channels;
  s.out_channels = p.out_channels;
  s.groups = p.groups;
  for (size_t d = 0; d < static_cast<size_t>(p.spatial); ++d) {
    s.in[d] = p.in[d];
    s.out[d] = p.out[d];
    s.kernel[d] = p.kernel[d];
    s.stride[d] = p.stride[d];
    s.dilation[d] = p.dilation[d];
    s.begin[d] = p.begin[d];
    // oneDNN wants the padding that is really reached.
    s.end[d] = (p.out[d] - 1) * p.stride[d] + p.dilation[d] * (p.kernel[d] - 1) + 1 - p.in[d] - p.begin[d];
  }
  s.bias = p.bias.has_value();
  s.relu = p.activation.kind == ActivationKind::relu;
  const Tensor w = p.weight.known.contiguous();
  const auto plan = std::make_shared<const onednn::Convolution>(s, w.data<float>());
  return [plan, ix = p.x_index, ib = p.bias_index](const Run& r) {
    plan->run(r.team, r.in<float>(ix), r.in<float>(ib), r.out<float>(0));
  };
}

}  // namespace nbx
