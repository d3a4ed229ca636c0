// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/conv.h"

#include "backend/cpu/kernel_test.h"

#include <nbx/error.h>

#include <string>

namespace nbx {
namespace {
using namespace kernel_test;

NBX_EACH_TARGET(ConvTest);

struct Case {
  ConvGeometry g;
  Dims3 in{1, 1, 1};
  int64_t batch = 1;
  DType x_dtype = DType::float32, w_dtype = DType::float32, y_dtype = DType::float32;
  ActivationSpec act;
  bool bias = true, residual = false, residual_before = true;

  std::string text() const {
    std::string s = "channels " + std::to_string(g.in_channels) + "->" + std::to_string(g.out_channels) + " groups " +
                    std::to_string(g.groups) + (g.transposed ? " transposed" : "") + " y " + name(y_dtype);
    for (size_t i = 0; i < 3; ++i)
      s += " [in " + std::to_string(in[i]) + " k " + std::to_string(g.kernel[i]) + " s " + std::to_string(g.stride[i]) +
           " d " + std::to_string(g.dilation[i]) + " p " + std::to_string(g.pad_begin[i]) + "," +
           std::to_string(g.pad_end[i]) + "]";
    return s;
  }
};

Case conv2d(int64_t cin, int64_t cout, int64_t groups, int64_t h, int64_t w, int64_t kh, int64_t kw, int64_t stride = 1,
            int64_t pad = 0, int64_t dilation = 1) {
  Case c;
  c.g.in_channels = cin, c.g.out_channels = cout, c.g.groups = groups;
  c.g.kernel = {1, kh, kw};
  c.g.stride = {1, stride, stride};
  c.g.dilation = {1, dilation, dilation};
  c.g.pad_begin = c.g.pad_end = {0, pad, pad};
  c.in = {1, h, w};
  return c;
}

// The definition, scattering for the transpose: another formula than the kernels'. `size` sums |terms| for the
// tolerance.
void reference(const Case& c, const std::vector<double>& x, const std::vector<double>& w, std::vector<double>& y,
               std::vector<double>& size) {
  const ConvGeometry& g = c.g;
  const Dims3 o = g.out(c.in);
  const int64_t cin = g.in_channels / g.groups, cout = g.out_channels / g.groups;
  const auto at = [](const Dims3& e, int64_t plane, int64_t a, int64_t b, int64_t d) {
    return static_cast<size_t>(((plane * e[0] + a) * e[1] + b) * e[2] + d);
  };
  // Both directions: `small` is the side that strides are multiplied from.
  const Dims3 small = g.transposed ? c.in : o, large = g.transposed ? o : c.in;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t group = 0; group < g.groups; ++group)
      for (int64_t ci = 0; ci < cin; ++ci)
        for (int64_t co = 0; co < cout; ++co) {
          const int64_t xi = n * g.in_channels + group * cin + ci, yi = n * g.out_channels + group * cout + co;
          const int64_t matrix = g.transposed ? (group * cin + ci) * cout + co : (group * cout + co) * cin + ci;
          for (int64_t kd = 0; kd < g.kernel[0]; ++kd)
            for (int64_t kh = 0; kh < g.kernel[1]; ++kh)
              for (int64_t kw = 0; kw < g.kernel[2]; ++kw)
                for (int64_t d = 0; d < small[0]; ++d)
                  for (int64_t h = 0; h < small[1]; ++h)
                    for (int64_t v = 0; v < small[2]; ++v) {
                      const int64_t ld = d * g.stride[0] + kd * g.dilation[0] - g.pad_begin[0];
                      const int64_t lh = h * g.stride[1] + kh * g.dilation[1] - g.pad_begin[1];
                      const int64_t lw = v * g.stride[2] + kw * g.dilation[2] - g.pad_begin[2];
                      if (ld < 0 || ld >= large[0] || lh < 0 || lh >= large[1] || lw < 0 || lw >= large[2]) continue;
                      const size_t xa = g.transposed ? at(c.in, xi, d, h, v) : at(c.in, xi, ld, lh, lw);
                      const size_t ya = g.transposed ? at(o, yi, ld, lh, lw) : at(o, yi, d, h, v);
                      const double t = x[xa] * w[at(g.kernel, matrix, kd, kh, kw)];
                      y[ya] += t;
                      size[ya] += std::fabs(t);
                    }
        }
}

void prove(const Case& c) {
  const ConvGeometry& g = c.g;
  Random random(static_cast<uint32_t>(g.in_channels * 31 + g.out_channels * 7 + c.in[2]));
  const Dims3 o = g.out(c.in);
  const int64_t in_size = c.batch * g.in_channels * c.in[0] * c.in[1] * c.in[2];
  const int64_t out_plane = o[0] * o[1] * o[2], out_size = c.batch * g.out_channels * out_plane;
  ASSERT_GT(out_size, 0) << c.text();
  const Operand x(random.values(in_size), c.x_dtype);
  const Operand w(random.values(g.in_channels * g.out_channels / g.groups * g.kernel[0] * g.kernel[1] * g.kernel[2]),
                  c.w_dtype);
  const auto bias = random.values(g.out_channels);
  const Operand add(random.values(out_size), c.y_dtype);

  const PackedConv packed(g, w.data(), c.w_dtype);
  std::vector<char> first;
  for (int threads : {1, 2, 3, 7}) {
    Team team(threads);
    std::vector<char> y(static_cast<size_t>((out_size + 2) * itemsize(c.y_dtype)), 77);
    Conv conv_args;
    conv_args.weights = &packed;
    conv_args.batch = c.batch;
    conv_args.in = c.in;
    conv_args.x = x.data(), conv_args.x_dtype = c.x_dtype;
    conv_args.y = y.data() + itemsize(c.y_dtype), conv_args.y_dtype = c.y_dtype;
    conv_args.bias = c.bias ? bias.data() : nullptr;
    conv_args.act = c.act;
    conv_args.residual = c.residual ? add.data() : nullptr;
    conv_args.residual_before_act = c.residual_before;
    conv(team, conv_args);
    for (int64_t b = 0; b < itemsize(c.y_dtype); ++b) {
      ASSERT_EQ(y[static_cast<size_t>(b)], 77) << c.text() << ": wrote before y";
      ASSERT_EQ(y[y.size() - 1 - static_cast<size_t>(b)], 77) << c.text() << ": wrote behind y";
    }
    if (threads == 1) {
      first = y;
    } else {
      ASSERT_EQ(first, y) << c.text() << ": other bits with " << threads << " threads";
    }
  }
  std::vector<double> want(static_cast<size_t>(out_size), 0.0), size(static_cast<size_t>(out_size), 1.0);
  reference(c, x.exact, w.exact, want, size);
  for (int64_t i = 0; i < out_size; ++i) {
    const size_t s = static_cast<size_t>(i);
    double v = want[s];
    if (c.bias) v += bias[static_cast<size_t>(i / out_plane % g.out_channels)];
    const double r = c.residual ? add.exact[s] : 0;
    v = c.residual_before ? activate(c.act, v + r) : activate(c.act, v) + r;
    ASSERT_NEAR(read(first.data(), c.y_dtype, i + 1), v, 3e-6 * size[s] + unit(c.y_dtype) * (std::fabs(v) + 1e-3))
        << c.text() << " at " << i;
  }
}

#define PROVE(c)                   \
  do {                             \
    prove(c);                      \
    if (HasFatalFailure()) return; \
  } while (false)

TEST_P(ConvTest, PointwiseOfAllSizes) {
  for (int64_t cin : {1, 3, 24, 33})
    for (int64_t cout : {1, 7, 24, 26}) PROVE(conv2d(cin, cout, 1, 5, 13, 1, 1));
  Case c = conv2d(12, 8, 2, 9, 33, 1, 1);
  c.batch = 3;
  c.residual = true;
  c.act = {ActivationKind::relu};
  PROVE(c);
}

TEST_P(ConvTest, DepthwiseKernelsStridesAndPads) {
  for (int64_t k : {1, 2, 3, 5, 7})
    for (int64_t stride : {1, 2, 3})
      for (int64_t width : {7, 16, 40, 81})
        for (int64_t dilation : {1, 2}) {
          Case c = conv2d(3, 3, 3, 15, width, k, k, stride, k / 2, dilation);
          if (c.g.out(c.in)[2] < 1 || c.g.out(c.in)[1] < 1) continue;
          c.act = {ActivationKind::hardswish};
          PROVE(c);
        }
}

TEST_P(ConvTest, DepthwiseInManyBandsAndWithAMultiplier) {
  PROVE(conv2d(2, 2, 2, 200, 300, 3, 3, 1, 1));
  PROVE(conv2d(2, 2, 2, 150, 301, 5, 5, 2, 2));
  Case c = conv2d(3, 6, 3, 12, 20, 3, 5, 1, 1);
  c.batch = 2;
  c.residual = true;
  c.residual_before = false;
  PROVE(c);
  c.x_dtype = c.w_dtype = c.y_dtype = DType::bfloat16;
  PROVE(c);
  c.x_dtype = c.y_dtype = DType::float16;
  c.g.stride = {1, 2, 2};
  c.in[2] = 71;
  PROVE(c);
}

TEST_P(ConvTest, FewOutputChannelsSumThePlanesOfTheInput) {
  for (int64_t cout : {1, 2})
    for (int64_t k : {2, 3, 5, 6})
      for (int64_t stride : {1, 2}) {
        Case c = conv2d(5, cout, 1, 40, 70, k, k, stride, k / 2);
        c.batch = 2;
        c.residual = cout == 2;
        c.act = {ActivationKind::relu};
        PROVE(c);
      }
  Case c = conv2d(8, 1, 1, 30, 90, 3, 39, 1, 1);
  c.x_dtype = c.w_dtype = c.y_dtype = DType::bfloat16;
  PROVE(c);
}

TEST_P(ConvTest, GeneralKernelsStridesDilationsAndUnevenPads) {
  for (int64_t k : {2, 3, 5})
    for (int64_t stride : {1, 2, 3})
      for (int64_t width : {6, 11, 37}) {
        Case c = conv2d(3, 14, 1, 9, width, k, k, stride, 1);
        c.g.pad_begin = {0, 2, 0};
        c.g.pad_end = {0, 1, 3};
        PROVE(c);
        c.g.dilation = {1, 2, 1};
        PROVE(c);
      }
  Case cropped = conv2d(2, 3, 1, 9, 12, 3, 3);
  cropped.g.pad_begin = {0, -1, -2};
  PROVE(cropped);
  Case crop_depthwise = conv2d(3, 3, 3, 9, 12, 3, 3, 2);
  crop_depthwise.g.pad_begin = {0, -1, -2};
  crop_depthwise.g.pad_end = {0, 2, -1};
  PROVE(crop_depthwise);
}

TEST_P(ConvTest, GroupsWithSeveralChannels) {
  Case c = conv2d(8, 12, 4, 7, 10, 3, 3, 1, 1);
  c.batch = 2;
  c.residual = true;
  PROVE(c);
  PROVE(conv2d(16, 16, 2, 7, 10, 3, 3, 2, 1));
  PROVE(conv2d(4, 40, 4, 6, 6, 3, 3, 1, 1));  // more outputs a group than the direct path takes
}

TEST_P(ConvTest, LongSumsInBlocks) {
  Case c = conv2d(70, 20, 1, 6, 9, 3, 3, 1, 1);
  c.residual = true;
  c.act = {ActivationKind::silu};
  PROVE(c);
}

TEST_P(ConvTest, OneDimensionIncludingLongKernelsAndStrides) {
  Case c;
  c.g.in_channels = 1, c.g.out_channels = 34;
  c.g.kernel = {1, 1, 256};
  c.g.stride = {1, 1, 128};
  c.g.pad_begin = {0, 0, 64};
  c.in = {1, 1, 1000};
  PROVE(c);
  c.g.in_channels = 2, c.g.stride = {1, 1, 64}, c.in = {1, 1, 2000}, c.g.out_channels = 5;
  PROVE(c);
  c.g.kernel = {1, 1, 3}, c.g.stride = {1, 1, 1}, c.g.pad_begin = c.g.pad_end = {0, 0, 1}, c.in = {1, 1, 77};
  PROVE(c);
}

TEST_P(ConvTest, ThreeDimensions) {
  Case c;
  c.g.in_channels = 3, c.g.out_channels = 5;
  c.g.kernel = {2, 3, 3};
  c.g.stride = {2, 1, 2};
  c.g.pad_begin = {1, 1, 0};
  c.g.pad_end = {0, 1, 1};
  c.in = {5, 6, 9};
  PROVE(c);
  c.g.groups = 3, c.g.out_channels = 3;
  c.g.kernel = {1, 3, 3}, c.g.stride = {1, 1, 1}, c.g.pad_begin[0] = 0;
  PROVE(c);
}

TEST_P(ConvTest, TransposedWithEveryStrideAndPad) {
  for (int64_t k : {1, 2, 3, 4})
    for (int64_t stride : {1, 2, 3})
      for (int64_t pad : {0, 1})
        for (int64_t dilation : {1, 2}) {
          Case c = conv2d(4, 6, 2, 5, 7, k, k, stride, pad, dilation);
          c.g.transposed = true;
          c.g.output_padding = {0, stride - 1, 0};
          if (c.g.out(c.in)[1] < 1 || c.g.out(c.in)[2] < 1) continue;
          c.batch = 2;
          c.act = {ActivationKind::relu};
          PROVE(c);
        }
  Case half = conv2d(24, 20, 1, 9, 11, 2, 2, 2);
  half.g.transposed = true;
  half.x_dtype = half.w_dtype = half.y_dtype = DType::float16;
  PROVE(half);
  half.y_dtype = DType::bfloat16;
  half.g.pad_end = {0, 1, 0};
  PROVE(half);
}

TEST_P(ConvTest, HalfTypesInAndOut) {
  for (DType x : {DType::float32, DType::bfloat16, DType::float16})
    for (DType y : {DType::float32, DType::bfloat16, DType::float16})
      for (int64_t stride : {1, 2}) {
        Case c = conv2d(5, 9, 1, 6, 21, 3, 3, stride, 1);
        c.x_dtype = x, c.y_dtype = y, c.w_dtype = y;
        c.residual = true;
        c.act = {ActivationKind::gelu};
        PROVE(c);
      }
}

TEST(ConvErrors, GroupsThatDoNotDivideAreNamed) {
  ConvGeometry g;
  g.in_channels = 4, g.out_channels = 6, g.groups = 4;
  const std::vector<float> w(100);
  try {
    const PackedConv packed(g, w.data(), DType::float32);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::value);
    EXPECT_NE(std::string(e.what()).find("4 groups"), std::string::npos);
  }
}

}  // namespace
}  // namespace nbx
