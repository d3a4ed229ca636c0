// SPDX-License-Identifier: Apache-2.0
// The bridge from a ConvProblem to the kernels of backend/cpu/conv.h.
#include "backend/cpu/conv.h"
#include "ops/conv/problem.h"
#include "ops/subnormals.h"

namespace nbx {

namespace {

bool float_like(DType t) { return t == DType::float32 || t == DType::float16 || t == DType::bfloat16; }

Dims3 dims3(const Ints& v, int64_t fill) {
  Dims3 d{fill, fill, fill};
  for (size_t i = 0; i < v.size(); ++i) d[3 - v.size() + i] = v[i];
  return d;
}

ConvGeometry geometry_of(const ConvProblem& p) {
  ConvGeometry g;
  g.in_channels = p.in_channels;
  g.out_channels = p.out_channels;
  g.groups = p.groups;
  g.kernel = dims3(p.kernel, 1);
  g.stride = dims3(p.stride, 1);
  g.dilation = dims3(p.dilation, 1);
  g.pad_begin = dims3(p.begin, 0);
  g.pad_end = dims3(p.end, 0);
  g.transposed = p.transposed;
  if (p.transposed) {  // what output_padding or a given extent adds is padding taken back at the end
    for (size_t d = 0; d < p.in.size(); ++d) {
      const int64_t full = (p.in[d] - 1) * p.stride[d] + p.dilation[d] * (p.kernel[d] - 1) + 1;
      g.pad_end[3 - p.in.size() + d] = full - p.begin[d] - p.out[d];
    }
  }
  return g;
}

std::string key_of(const ConvGeometry& g) {
  std::string key = g.transposed ? "conv.t" : "conv";
  const auto add = [&](const Dims3& d) {
    for (const int64_t v : d) key += "," + std::to_string(v);
  };
  key += std::to_string(g.groups);
  add(g.kernel);
  add(g.stride);
  add(g.dilation);
  add(g.pad_begin);
  add(g.pad_end);
  return key;
}

}  // namespace

Serves conv_fast_serves(const ConvProblem& p) {
  if (!float_like(p.dtype)) return refuse("serves float32, float16 and bfloat16");
  if (p.bias && p.dtype != DType::float32 && !p.bias->known.defined())
    return refuse("a 16-bit bias must be known before the run");
  if (p.transposed && p.residual) return refuse("a transposed convolution takes no residual");
  if (numel(p.shape()) == 0) return refuse("the result is empty");
  return yes;
}

int64_t conv_fast_workspace(const ConvProblem&) { return 0; }

namespace {

// Trailing dims of extent 1 go: a (k, 1) kernel over (n, 1) is a row of n, which the kernels read as one.
void drop_unit_tail(ConvProblem& p) {
  while (p.spatial > 1 && p.in.back() == 1 && p.out.back() == 1 && p.kernel.back() == 1 && p.begin.back() == 0 &&
         p.end.back() == 0) {
    for (Ints* v : {&p.in, &p.out, &p.kernel, &p.stride, &p.dilation, &p.begin, &p.end}) v->pop_back();
    --p.spatial;
  }
}

}  // namespace

Bound bind_conv_fast(ConvProblem p, PackCache* packs) {
  drop_unit_tail(p);
  const ConvGeometry g = geometry_of(p);
  std::shared_ptr<const PackedConv> packed;
  const Tensor weight = p.weight.known;
  if (weight.defined()) {
    const auto make = [&]() -> std::shared_ptr<const void> {
      const Tensor dense = without_subnormals(weight).contiguous();
      auto made = std::make_shared<const PackedConv>(g, dense.raw(), dense.dtype());
      if (packs) packs->add_bytes(made->bytes());
      return made;
    };
    packed = std::static_pointer_cast<const PackedConv>(packs ? packs->get(weight, key_of(g), make) : make());
  }
  Tensor bias;
  if (p.bias && p.bias->known.defined()) bias = p.bias->known.to(DType::float32).contiguous();
  Conv c;
  c.batch = p.batch;
  c.in = dims3(p.in, 1);
  c.x_dtype = c.y_dtype = p.dtype;
  c.act = p.activation;
  c.scale = p.act_scale;
  c.shift = p.act_shift;
  return [c, g, packed, bias, dtype = p.dtype, ix = p.x_index, iw = p.weight_index, ib = p.bias_index,
          ir = p.residual_index](const Run& r) {
    Conv call = c;
    PackedConv fresh;  // weights that a run computes are packed anew each time
    if (!packed) fresh = PackedConv(g, r.in<void>(iw), dtype);
    call.weights = packed ? packed.get() : &fresh;
    call.x = r.in<void>(ix);
    call.y = r.out<void>(0);
    call.bias = bias.defined() ? bias.data<float>() : r.in<float>(ib);
    call.residual = r.in<void>(ir);
    conv(r.team, call);
  };
}

}  // namespace nbx
