// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/norm/channel_norm/channel_norm.h"

namespace nbx {

std::vector<Tensor> channel_norm_oracle(const Args& a, const std::vector<Tensor>& operands) {
  using Statistics = ChannelNormSpec::Statistics;
  const ChannelNormSpec s = channel_norm_spec(a);
  const Tensor& in = operands[static_cast<size_t>(s.input)];
  const auto x = in.to_doubles();
  const auto table = [&](int operand) {
    return operand < 0 ? std::vector<double>() : operands[static_cast<size_t>(operand)].to_doubles();
  };
  const auto w = table(s.weight), b = table(s.bias);
  auto mean = table(s.mean), variance = table(s.variance);
  const int64_t width = s.statistics == Statistics::group ? s.channels / s.groups : 1;
  const auto row_of = [&](int64_t n, int64_t c) {
    return static_cast<size_t>(s.statistics == Statistics::group ? n * s.groups + c / width : c);
  };
  const auto at = [&](int64_t n, int64_t c, int64_t i) {
    return static_cast<size_t>((n * s.channels + c) * s.space + i);
  };
  const auto each = [&](auto f) {
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t c = 0; c < s.channels; ++c)
        for (int64_t i = 0; i < s.space; ++i) f(n, c, i);
  };
  if (s.statistics != Statistics::given) {
    const bool group = s.statistics == Statistics::group;
    const auto rows = static_cast<size_t>(group ? s.n * s.groups : s.channels);
    const double terms = static_cast<double>(group ? width * s.space : s.n * s.space);
    mean.assign(rows, 0);
    variance.assign(rows, 0);
    each([&](int64_t n, int64_t c, int64_t i) { mean[row_of(n, c)] += x[at(n, c, i)]; });
    for (double& m : mean) m /= terms;
    each([&](int64_t n, int64_t c, int64_t i) {
      variance[row_of(n, c)] += std::pow(x[at(n, c, i)] - mean[row_of(n, c)], 2);
    });
    for (double& v : variance) v /= terms;
  }
  std::vector<double> y(x.size()), rstd;
  for (const double v : variance) rstd.push_back(1 / std::sqrt(v + s.eps));
  each([&](int64_t n, int64_t c, int64_t i) {
    const size_t r = row_of(n, c), k = static_cast<size_t>(s.weights_by_group ? c / width : c);
    y[at(n, c, i)] = (x[at(n, c, i)] - mean[r]) * rstd[r] * (w.empty() ? 1 : w[k]) + (b.empty() ? 0 : b[k]);
  });
  std::vector<Tensor> out = {Tensor::of<double>(in.shape(), std::span<const double>(y))};
  if (s.saves) {
    const bool given = s.statistics == Statistics::given;
    const Shape shape = given ? Shape{0} : s.statistics == Statistics::group ? Shape{s.n, s.groups} : Shape{s.channels};
    const std::vector<double> nothing;
    out.push_back(Tensor::of<double>(shape, std::span<const double>(given ? nothing : mean)));
    out.push_back(Tensor::of<double>(shape, std::span<const double>(given ? nothing : rstd)));
  }
  return out;
}

namespace {
Tensor positive(const Shape& shape) { return rand_uniform(shape, 0.5, 2); }
}  // namespace

void batch_norm_samples(SampleSink& s) {
  const SampleArg momentum = val(0.1), eps = val(1e-5), cudnn = val(false);
  for (const Shape& shape :
       {Shape{2, 5, 7, 3}, Shape{3, 4, 6}, Shape{6, 700}, Shape{1, 2, 200, 170}, Shape{2, 3, 2, 3, 4}}) {
    const Shape c = {shape[1]};
    s.add({randn(shape), randn(c, 1), randn(c, 2), randn(c, 3), positive(c), val(false), momentum, eps, cudnn});
    s.add({randn(shape), none, none, none, none, val(true), momentum, eps, cudnn});
  }
  s.add({strided(randn({2, 3, 4, 5})), none, randn({3}), randn({3}), positive({3}), val(false), momentum, eps, cudnn});
  s.add({randn({0, 3, 4}), none, none, randn({3}), positive({3}), val(false), momentum, eps, cudnn});
  s.error(Code::value, {"running_mean"}, {randn({2, 3}), none, none, none, none, val(false), momentum, eps, cudnn});
  s.error(Code::shape, {"[4]", "3 channels"},
          {randn({2, 3}), randn({4}), none, randn({3}), positive({3}), val(false), momentum, eps, cudnn});
}
void native_batch_norm_samples(SampleSink& s) {
  const SampleArg momentum = val(0.1), eps = val(1e-3);
  s.add({randn({2, 5, 7, 3}), randn({5}), randn({5}, 2), randn({5}, 3), positive({5}), val(false), momentum, eps});
  s.add({randn({2, 5, 7, 3}), randn({5}), randn({5}, 2), none, none, val(true), momentum, eps});
}
void no_training_samples(SampleSink& s) {
  s.add({randn({2, 5, 7, 3}), randn({5}), randn({5}, 2), randn({5}, 3), positive({5}), val(0.1), val(1e-3)});
}
void instance_norm_samples(SampleSink& s) {
  const SampleArg momentum = val(0.1), eps = val(1e-5), cudnn = val(false);
  s.add({randn({2, 5, 7, 3}), randn({5}), randn({5}, 2), none, none, val(true), momentum, eps, cudnn});
  s.add({randn({2, 5, 300}), none, none, none, none, val(true), momentum, eps, cudnn});
  s.add({randn({2, 5, 300}), none, none, randn({5}), positive({5}), val(false), momentum, eps, cudnn});
  s.add({randn({1, 1, 400, 400}), none, none, none, none, val(true), momentum, eps, cudnn});  // cut into pieces
}
void group_norm_samples(SampleSink& s) {
  s.add({randn({2, 6, 5, 4}), val(3), randn({6}), randn({6}, 1)});
  s.add({randn({2, 6}), val(2), randn({6}), none});
  s.add({randn({3, 8, 40}), val(1), none, randn({8}), val(1e-3)});
  s.add({randn({3, 8, 40}), val(8)});
  s.error(Code::value, {"6 channels", "4 groups"}, {randn({2, 6}), val(4)});
}
void native_group_norm_samples(SampleSink& s) {
  s.add({randn({2, 6, 5, 4}), randn({6}), randn({6}, 1), val(2), val(6), val(20), val(3), val(1e-5)});
  s.error(Code::shape, {"21"}, {randn({2, 6, 5, 4}), none, none, val(2), val(6), val(21), val(3), val(1e-5)});
}
void onnx_group_norm_samples(SampleSink& s) {
  s.add({randn({2, 6, 5, 4}), randn({3}), randn({3}, 1), val(3)});
  s.add({randn({2, 6, 5, 4}), randn({6}), randn({6}, 1), val(3), val(1e-2)});
}

}  // namespace nbx
