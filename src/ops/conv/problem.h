// SPDX-License-Identifier: Apache-2.0
// What every op of this family comes down to: a convolution over 1 to 3 spatial dims, or its transpose, with what
// follows it.
//   y[n, o, p] = act(bias[o] + residual[n, o, p] + sum over c, t of x[n, c, p * stride - begin + t * dilation] * w[o,
//   c, t])
#pragma once
#include "ops/declare.h"

namespace nbx {

struct ConvProblem {
  int spatial = 2;  // 1, 2 or 3
  bool transposed = false;
  int64_t batch = 1, in_channels = 0, out_channels = 0, groups = 1;
  Ints in, out, kernel;               // extents, `spatial` of each
  Ints stride, dilation, begin, end;  // begin and end: padding (transposed: what is cut from the full result)
  DType dtype = DType::float32;
  bool unbatched = false;  // x is (C, spatial...), so is the result
  ActivationSpec activation;
  float act_scale = 1, act_shift = 0;  // y = act(...) * act_scale + act_shift
  Meta x, weight;  // weight (out, in / groups, kernel...); transposed: (in, out / groups, kernel...)
  std::optional<Meta> bias, residual;
  int x_index = 0, weight_index = 1, bias_index = -1, residual_index = -1;

  Shape shape() const;  // of the result
  int64_t taps() const { return numel(kernel); }
};

// Reads the attributes that all forms share. Empty lists: stride and dilation 1, padding 0.
struct ConvAttributes {
  Ints stride, dilation, begin, end;
  Ints output_padding;  // transposed: added to the extent
  Ints output_shape;    // transposed: fixed extents, the padding follows (ONNX)
  int64_t groups = 1;
  std::string auto_pad = "NOTSET";  // NOTSET, VALID, SAME_UPPER, SAME_LOWER
};
// Error (shape, value) naming op, shapes and the arithmetic of an impossible extent.
ConvProblem make_conv(const std::string& op, const Meta& x, const Meta& weight, const Meta* bias, bool transposed,
                      const ConvAttributes& attributes);

Bound bind_conv_plain(ConvProblem p);                   // any real dtype, one output element after the other
Bound bind_conv_fast(ConvProblem p, PackCache* packs);  // float32, bfloat16, float16
Serves conv_fast_serves(const ConvProblem& p);
int64_t conv_fast_workspace(const ConvProblem& p);
Tensor conv_oracle(const ConvProblem& p, const std::vector<Tensor>& operands);

}  // namespace nbx
