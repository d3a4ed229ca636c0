// SPDX-License-Identifier: Apache-2.0
// Convolutions on the CPU, 1 to 3 spatial dimensions, any stride, dilation, padding and groups, and their transposes.
// Tensors are contiguous: x (batch, in_channels, *in), y (batch, out_channels, *out); float32, bfloat16 or float16,
// sums in float32. Results do not depend on the number of threads. Weights are packed once, at load; the packed form
// serves every input size.
#pragma once
#include "backend/activation_spec.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/team.h"

#include <nbx/dtype.h>

#include <array>
#include <cstdint>
#include <vector>

namespace nbx {

// Per-dimension values are (depth, height, width). A 2-d convolution has depth 1 everywhere (kernel 1, stride 1,
// dilation 1, pads 0), a 1-d one has height 1 too. Pads may be negative (the input is cropped).
using Dims3 = std::array<int64_t, 3>;

struct ConvGeometry {
  int64_t in_channels = 0, out_channels = 0, groups = 1;
  Dims3 kernel{1, 1, 1};
  Dims3 stride{1, 1, 1};
  Dims3 dilation{1, 1, 1};
  Dims3 pad_begin{0, 0, 0}, pad_end{0, 0, 0};
  bool transposed = false;
  Dims3 output_padding{0, 0, 0};  // transposed only

  // Output extents for input extents; not positive when the kernel does not fit.
  Dims3 out(const Dims3& in) const;
};

// How the weights are laid out and which kernel reads them.
enum class ConvPath {
  pointwise,  // 1 x 1, stride 1, no padding: one GEMM over the pixels
  depthwise,  // one input channel a group, no depth: direct
  planes,  // one or two output channels: a GEMM would spend its time on packing, so the planes of the input are summed
           // directly
  implicit,  // GEMM over patches that are packed tile by tile
};

class PackedConv {
 public:
  PackedConv() = default;
  // weights, contiguous, any of the three dtypes: (out_channels, in_channels / groups, *kernel);
  // transposed: (in_channels, out_channels / groups, *kernel). Error (value, dtype) for impossible geometry.
  PackedConv(const ConvGeometry& geometry, const void* weights, DType dtype);

  const ConvGeometry& geometry() const { return geometry_; }
  ConvPath path() const { return path_; }
  int64_t bytes() const;

  // One GEMM of the implicit path: taps of a dimension with the input offset each has. A convolution has one phase; a
  // transposed one has one for each output position modulo the stride, because those see different taps.
  struct Phase {
    Dims3 first{0, 0, 0};                      // output position modulo the stride
    std::array<std::vector<int64_t>, 3> taps;  // input position = output index * stride + tap (transposed: + tap alone)
    std::vector<PackedA> weights;              // one a group: (out_channels / groups, in_channels / groups * taps)
  };
  const std::vector<Phase>& phases() const { return phases_; }
  const FloatBlock& depthwise_weights() const { return direct_; }  // (out_channels, in_channels / groups, kernel)

 private:
  ConvGeometry geometry_;
  ConvPath path_ = ConvPath::implicit;
  std::vector<Phase> phases_;
  FloatBlock direct_;
};

struct Conv {
  const PackedConv* weights = nullptr;
  int64_t batch = 0;
  Dims3 in{1, 1, 1};
  const void* x = nullptr;
  DType x_dtype = DType::float32;
  void* y = nullptr;
  DType y_dtype = DType::float32;
  const float* bias = nullptr;  // (out_channels)
  ActivationSpec act;
  float scale = 1.0f, shift = 0.0f;  // y = act(...) * scale + shift, before a residual that comes after act
  const void* residual = nullptr;    // y's shape and dtype, may be y; not for transposed
  bool residual_before_act = true;
};

// y = act(conv(x) + bias + residual), or act(conv(x) + bias) + residual. Errors (dtype, shape, unsupported) name the
// field.
void conv(Team& team, const Conv& c);

}  // namespace nbx
