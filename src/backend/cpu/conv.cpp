// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/conv.h"

#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/gemm_kernels.h"
#include "base/check.h"

#include <algorithm>
#include <cstring>

namespace nbx {
namespace {

const char* const kDims[] = {"depth", "height", "width"};

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
int64_t product(const Dims3& d) { return d[0] * d[1] * d[2]; }

void widen_all(const void* src, DType dtype, int64_t n, float* dst) { gemm_kernels().widen(src, dtype, 0, 1, n, dst); }

}  // namespace

Dims3 ConvGeometry::out(const Dims3& in) const {
  Dims3 o;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    o[i] = transposed ? (in[i] - 1) * stride[i] - pad_begin[i] - pad_end[i] + reach + output_padding[i]
                      : floor_div(in[i] + pad_begin[i] + pad_end[i] - reach, stride[i]) + 1;
  }
  return o;
}

PackedConv::PackedConv(const ConvGeometry& g, const void* weights, DType dtype) : geometry_(g) {
  require(dtype == DType::float32 || is_half(dtype), Code::dtype,
          "conv: weights are {}; pass float32, bfloat16 or float16", name(dtype));
  require(g.groups >= 1 && g.in_channels >= 1 && g.out_channels >= 1 && g.in_channels % g.groups == 0 &&
              g.out_channels % g.groups == 0,
          Code::value, "conv: {} groups do not divide {} input and {} output channels", g.groups, g.in_channels,
          g.out_channels);
  for (size_t i = 0; i < 3; ++i)
    require(g.kernel[i] >= 1 && g.stride[i] >= 1 && g.dilation[i] >= 1, Code::value,
            "conv: {} has kernel {}, stride {}, dilation {}; each must be at least 1", kDims[i], g.kernel[i],
            g.stride[i], g.dilation[i]);

  const int64_t cin = g.in_channels / g.groups, cout = g.out_channels / g.groups, size = product(g.kernel);
  const bool plain =
      product(g.kernel) == 1 && product(g.stride) == 1 && g.pad_begin == Dims3{0, 0, 0} && g.pad_end == Dims3{0, 0, 0};
  const bool flat = g.kernel[0] == 1 && g.stride[0] == 1 && g.pad_begin[0] == 0 && g.pad_end[0] == 0;
  if (!g.transposed && plain) {
    path_ = ConvPath::pointwise;
  } else if (!g.transposed && cin == 1 && flat && cout <= 4) {
    path_ = ConvPath::depthwise;
  } else if (!g.transposed && g.groups == 1 && flat && cout <= 2 && g.kernel[1] > 1 && g.kernel[2] > 1) {
    path_ = ConvPath::planes;
  }

  const int64_t total = g.in_channels * cout * size;
  if (path_ == ConvPath::depthwise || path_ == ConvPath::planes) {
    direct_ = FloatBlock(total);
    widen_all(weights, dtype, total, direct_.data());
    return;
  }
  std::vector<float> all(static_cast<size_t>(total));
  widen_all(weights, dtype, total, all.data());

  // Every output position modulo the stride (a convolution has one) sees its own taps.
  const Dims3 period = g.transposed ? g.stride : Dims3{1, 1, 1};
  for (int64_t d = 0; d < period[0]; ++d)
    for (int64_t h = 0; h < period[1]; ++h)
      for (int64_t w = 0; w < period[2]; ++w) {
        Phase phase;
        phase.first = {d, h, w};
        std::array<std::vector<int64_t>, 3> index;  // of the taps in the kernel
        for (size_t i = 0; i < 3; ++i)
          for (int64_t k = 0; k < g.kernel[i]; ++k) {
            const int64_t reach = k * g.dilation[i];
            if (!g.transposed) {
              phase.taps[i].push_back(reach - g.pad_begin[i]);
              index[i].push_back(k);
            } else if (floor_mod(phase.first[i] + g.pad_begin[i] - reach, g.stride[i]) == 0) {
              phase.taps[i].push_back(floor_div(phase.first[i] + g.pad_begin[i] - reach, g.stride[i]));
              index[i].push_back(k);
            }
          }
        const int64_t taps = static_cast<int64_t>(index[0].size() * index[1].size() * index[2].size());
        std::vector<float> rows(static_cast<size_t>(cout * cin * taps));
        for (int64_t group = 0; group < g.groups; ++group) {
          float* to = rows.data();
          for (int64_t co = 0; co < cout; ++co)
            for (int64_t ci = 0; ci < cin; ++ci) {
              const int64_t matrix = g.transposed ? (group * cin + ci) * cout + co : (group * cout + co) * cin + ci;
              const float* from = all.data() + matrix * size;
              for (int64_t kd : index[0])
                for (int64_t kh : index[1])
                  for (int64_t kw : index[2]) *to++ = from[(kd * g.kernel[1] + kh) * g.kernel[2] + kw];
            }
          phase.weights.emplace_back(MatrixView{rows.data(), DType::float32, cin * taps, 1}, cout, cin * taps);
        }
        phases_.push_back(std::move(phase));
      }
}

int64_t PackedConv::bytes() const {
  int64_t sum = direct_.bytes();
  for (const Phase& p : phases_)
    for (const PackedA& a : p.weights) sum += a.bytes();
  return sum;
}

namespace {

// y[at + i * stride] = values[i]
void store_strided(const float* values, int64_t n, void* y, DType dtype, int64_t at, int64_t stride) {
  if (dtype == DType::float32) {
    float* to = static_cast<float*>(y) + at;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = values[i];
  } else if (dtype == DType::bfloat16) {
    bfloat16_t* to = static_cast<bfloat16_t*>(y) + at;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = to_bfloat16(values[i]);
  } else {
    float16_t* to = static_cast<float16_t*>(y) + at;
    for (int64_t i = 0; i < n; ++i) to[i * stride] = to_float16(values[i]);
  }
}

// Everything but depthwise is a GEMM an image and group: weights (cout, cin * taps) x patches (cin * taps, pixels).
Gemm gemm_of(const Conv& c, const PackedConv::Phase& phase) {
  const ConvGeometry& g = c.weights->geometry();
  Gemm m;
  m.m = g.out_channels / g.groups;
  m.k = phase.weights[0].k();
  m.batch = c.batch * g.groups;
  m.packed_a = phase.weights.data();
  m.a_period = g.groups;
  m.c = c.y;
  m.c_dtype = c.y_dtype;
  m.epilogue.row_bias = c.bias;
  m.epilogue.act = c.act;
  m.epilogue.scale = c.scale;
  m.epilogue.shift = c.shift;
  m.epilogue.residual = c.residual;
  m.epilogue.residual_before_act = c.residual_before_act;
  return m;
}

void pointwise(Team& team, const Conv& c) {
  const ConvGeometry& g = c.weights->geometry();
  const int64_t pixels = product(c.in), cin = g.in_channels / g.groups;
  Gemm m = gemm_of(c, c.weights->phases()[0]);
  m.n = pixels;
  m.b = {c.x, c.x_dtype, pixels, 1, cin * pixels};
  m.c_row_stride = pixels;
  m.c_batch_stride = m.m * pixels;
  gemm(team, m);
}

void implicit(Team& team, const Conv& c, const Dims3& out) {
  const ConvGeometry& g = c.weights->geometry();
  const int64_t cin = g.in_channels / g.groups, in_size = product(c.in), out_size = product(out);
  for (const PackedConv::Phase& phase : c.weights->phases()) {
    Gemm m = gemm_of(c, phase);
    Patches patches;
    patches.dtype = c.x_dtype;
    patches.in = c.in;
    for (size_t i = 0; i < 3; ++i) {
      patches.out[i] = g.transposed ? ceil_div(out[i] - phase.first[i], g.stride[i]) : out[i];
      patches.stride[i] = g.transposed ? 1 : g.stride[i];
      patches.taps[i] = phase.taps[i].data();
      patches.tap_count[i] = static_cast<int64_t>(phase.taps[i].size());
    }
    m.n = product(patches.out);
    if (m.n <= 0) continue;
    const auto pack = [&](int64_t entry, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst) {
      Patches one = patches;
      one.x = static_cast<const char*>(c.x) + entry * cin * in_size * itemsize(c.x_dtype);
      pack_patches(one, k0, k1, n0, n1, width, dst);
    };
    const BlockSource source(pack);
    m.b_source = &source;
    m.c_row_stride = out_size;
    m.c_batch_stride = m.m * out_size;

    const auto scatter = [&](int64_t entry, int64_t m0, int64_t rows, int64_t n0, int64_t cols, const float* values) {
      for (int64_t j = 0; j < cols;) {  // runs along the width
        const int64_t n = n0 + j, w = n % patches.out[2], row = n / patches.out[2];
        const int64_t h = row % patches.out[1], d = row / patches.out[1];
        const int64_t run = std::min(cols - j, patches.out[2] - w);
        const int64_t at = ((d * g.stride[0] + phase.first[0]) * out[1] + h * g.stride[1] + phase.first[1]) * out[2] +
                           w * g.stride[2] + phase.first[2];
        for (int64_t r = 0; r < rows; ++r)
          store_strided(values + r * kPanelCols + j, run, c.y, c.y_dtype, (entry * m.m + m0 + r) * out_size + at,
                        g.stride[2]);
        j += run;
      }
    };
    const TileSink sink(scatter);
    if (product(g.transposed ? g.stride : Dims3{1, 1, 1}) > 1) m.c_sink = &sink;
    gemm(team, m);
  }
}

void depthwise(Team& team, const Conv& c, const Dims3& out) {
  const ConvGeometry& g = c.weights->geometry();
  // Summed planes see every input channel, one after the other.
  const bool summed = c.weights->path() == ConvPath::planes;
  const int64_t terms = summed ? g.in_channels : 1;
  const int64_t multiplier = summed ? 1 : g.out_channels / g.in_channels, slices = c.in[0],
                planes = c.batch * g.out_channels * slices;
  const int64_t in_plane = c.in[1] * c.in[2], out_plane = out[1] * out[2], taps = g.kernel[1] * g.kernel[2];
  const auto plane_of = [&](int64_t index, int64_t term) {
    const int64_t slice = index % slices, channel = index / slices % g.out_channels,
                  image = index / slices / g.out_channels;
    const int64_t from = ((image * g.in_channels + (summed ? term : channel / multiplier)) * slices + slice) * in_plane;
    return DepthwisePlane{static_cast<const char*>(c.x) + from * itemsize(c.x_dtype),
                          c.x_dtype,
                          c.in[1],
                          c.in[2],
                          out[1],
                          out[2],
                          g.kernel[1],
                          g.kernel[2],
                          g.stride[1],
                          g.stride[2],
                          g.dilation[1],
                          g.dilation[2],
                          g.pad_begin[1],
                          g.pad_begin[2],
                          c.weights->depthwise_weights().data() + (channel * terms + term) * taps};
  };

  // A task is some planes, or a band of one: about a quarter million multiply-adds, and a copy that stays in L2.
  const int64_t row_cost = out[2] * (taps + 4) * terms;
  int64_t band = std::clamp<int64_t>(1'000'000 / std::max<int64_t>(1, row_cost), 1, out[1]);
  const DepthwisePlane shape = plane_of(0, 0);
  while (band > 1 && depthwise_scratch_floats(shape, band) > 64 * 1024) band = (band + 1) / 2;
  const int64_t bands = ceil_div(out[1], band);
  band = ceil_div(out[1], bands);
  const int64_t together =
      bands > 1 ? 1 : std::clamp<int64_t>(250'000 / std::max<int64_t>(1, row_cost * out[1]), 1, planes);
  const int64_t tasks = ceil_div(planes, together) * bands;
  const GemmKernels kernels = gemm_kernels();

  team.run_with_scratch(
      tasks, static_cast<size_t>(depthwise_scratch_floats(shape, band)) * sizeof(float),
      [&](int64_t task, int, void* memory) {
        float* sums = static_cast<float*>(memory);
        const int64_t row0 = task % bands * band, row1 = std::min(out[1], row0 + band);
        const int64_t first = task / bands * together, last = std::min(planes, first + together);
        for (int64_t index = first; index < last && row0 < row1; ++index) {
          const int64_t channel = index / slices % g.out_channels;
          for (int64_t t = 0; t < terms; ++t)
            depthwise_band(plane_of(index, t), c.bias == nullptr ? 0.0f : c.bias[channel], t > 0, row0, row1, sums);
          const int64_t stride = depthwise_sum_stride(out[2]);
          // 16-bit outputs go in tiles of 12 x 32.
          const bool half = is_half(c.y_dtype);
          const int64_t step_r = half ? kPanelRows : row1 - row0, step_c = half ? kPanelCols : out[2];
          for (int64_t r = row0; r < row1; r += step_r)
            for (int64_t w = 0; w < out[2]; w += step_c) {
              const int64_t at = (index * out_plane + r * out[2] + w) * itemsize(c.y_dtype);
              kernels.finish({.tile = sums + (r - row0) * stride + w,
                              .rows = std::min(step_r, row1 - r),
                              .cols = std::min(step_c, out[2] - w),
                              .alpha = 1.0f,
                              .col_bias = nullptr,
                              .row_bias = nullptr,
                              .residual = c.residual == nullptr ? nullptr : static_cast<const char*>(c.residual) + at,
                              .c = static_cast<char*>(c.y) + at,
                              .c_stride = out[2],
                              .c_dtype = c.y_dtype,
                              .act = c.act,
                              .residual_before_act = c.residual_before_act,
                              .scale = c.scale,
                              .shift = c.shift,
                              .tile_stride = stride});
            }
        }
      });
}

}  // namespace

void conv(Team& team, const Conv& c) {
  NBX_ASSERT(c.weights != nullptr);
  const ConvGeometry& g = c.weights->geometry();
  for (DType d : {c.x_dtype, c.y_dtype})
    require(d == DType::float32 || is_half(d), Code::dtype, "conv: a tensor is {}; pass float32, bfloat16 or float16",
            name(d));
  require(!(g.transposed && c.residual != nullptr), Code::unsupported,
          "conv: a transposed convolution cannot add a residual");
  const Dims3 out = g.out(c.in);
  if (c.batch <= 0 || out[0] <= 0 || out[1] <= 0 || out[2] <= 0) return;
  switch (c.weights->path()) {
    case ConvPath::pointwise:
      return pointwise(team, c);
    case ConvPath::depthwise:
    case ConvPath::planes:
      return depthwise(team, c, out);
    case ConvPath::implicit:
      return implicit(team, c, out);
  }
}

}  // namespace nbx
