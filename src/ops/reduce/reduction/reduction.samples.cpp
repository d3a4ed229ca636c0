// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/reduce/reduction/spec.h"

namespace nbx {
namespace {

// One million terms in 4 kB: sums over them need more than float32 chains.
Tensor long_row() { return randn({1000}).unsqueeze(0).expand({300, 1000}); }
Tensor around(double centre) {
  Tensor t = randn({6, 257});
  float* p = t.mutable_data<float>();
  for (int64_t i = 0; i < t.numel(); ++i) p[i] += static_cast<float>(centre);
  return t;
}
Tensor spotted() {
  Tensor t = randn({4, 3, 5});
  float* p = t.mutable_data<float>();
  p[1] = std::numeric_limits<float>::quiet_NaN();
  p[20] = std::numeric_limits<float>::infinity();
  p[31] = -std::numeric_limits<float>::infinity();
  p[40] = 0;
  p[41] = -0.0f;
  return t;
}
void wholes(SampleSink& s) {
  for (const DType t : {DType::int64, DType::int32, DType::uint8, DType::int8})
    s.add_as_is({rand_ints({3, 70}, 0, 100, t)});
  s.add_as_is({rand_ints({3, 70}, 0, 2, DType::bool_)});
}

}  // namespace

void whole_samples(SampleSink& s) {
  for (const int64_t n : {1, 7, 8, 33, 2049, 5000}) s.add({rand_uniform({n}, 0.9, 1.1)});
  s.add({randn({})});
  s.add({randn({3, 4, 5})});
  s.add({strided(randn({6, 9}))});
  s.add({spotted()});
  wholes(s);
}
void float_whole_samples(SampleSink& s) {
  for (const int64_t n : {1, 7, 33, 5000}) s.add({randn({n})});
  s.add({randn({3, 4, 5}).permute({2, 0, 1})});
  s.add({long_row()});
}
void sum_samples(SampleSink& s) {
  whole_samples(s);
  s.add({randn({0})});
  s.add({long_row()});
  s.add({randn({3, 5})}, {{"dtype", val(DType::float64)}});
}

void dims_samples(SampleSink& s) {
  for (const int64_t n : {1, 5, 64, 2051}) s.add({randn({3, n}), ints({1}), val(true)});
  s.add({randn({130, 70}), ints({0})});  // columns
  s.add({randn({4, 40, 37}), ints({1})});
  s.add({randn({4, 5, 6, 7}), ints({0, 2})});
  s.add({randn({4, 5, 6, 7}), ints({-1, 1}), val(true)});
  s.add({randn({2, 3, 4}), ints({0, 1, 2})});
  s.add({strided(randn({5, 8, 9})), ints({-2})});
  s.add({spaced(randn({5, 8})), ints({1})});
  s.add({spotted(), ints({2})});
  s.add({randn({}), ints({0})});
  s.add({randn({3, 0, 2}), ints({0})});
  s.add({rand_ints({4, 6, 3}, -50, 50, DType::int64), ints({1})});
  s.add({rand_ints({4, 6, 3}, -50, 50, DType::int32), ints({2})});
  s.error(Code::index, {"3", "2"}, {randn({2, 3}), ints({3})});
  s.error(Code::index, {"twice"}, {randn({2, 3}), ints({1, -1})});
}
void sum_dim_samples(SampleSink& s) {
  dims_samples(s);
  s.add({randn({3, 0, 2}), ints({1})});
  s.add({randn({4, 5}), none});
  s.add({randn({5000, 20}), ints({0})});
  s.add({long_row(), ints({0, 1})});
  s.add({rand_ints({4, 6}, 0, 2, DType::bool_), ints({1})});
}
void mean_dim_samples(SampleSink& s) {
  for (const int64_t n : {1, 5, 64, 2051}) s.add({randn({3, n}), ints({1}), val(true)});
  s.add({randn({130, 70}), ints({0})});
  s.add({randn({2, 5, 12, 7}), ints({2, 3})});
  s.add({strided(randn({5, 8, 9})), ints({-2})});
  s.add({randn({3, 0}), ints({1})});
  s.add({long_row(), none});
  s.error(Code::dtype, {"int64"}, {rand_ints({3}, 0, 5), ints({0})});
}
void nansum_samples(SampleSink& s) {
  s.add({spotted(), ints({2})});
  s.add({spotted(), ints({0}), val(true)});
  s.add({rand_ints({4, 6}, -50, 50), ints({1})});
}
void dim_samples(SampleSink& s) {
  s.add({rand_uniform({3, 130}, 0.9, 1.1), val(1), val(true)});
  s.add({rand_uniform({70, 40}, 0.9, 1.1), val(0)});
  s.add({randn({4, 5, 6}).permute({2, 0, 1}), val(-2)});
  s.add({spotted(), val(1)});
  s.add({randn({}), val(0)});
  s.add({randn({3, 0, 2}), val(1)});
  s.add({rand_ints({4, 6}, -3, 3), val(1)});
  s.add({rand_ints({4, 6}, 0, 2, DType::uint8), val(0)});
  s.add({rand_ints({4, 6}, 0, 2, DType::bool_), val(0)});
  s.error(Code::index, {"-3"}, {randn({2, 3}), val(-3)});
}
void extreme_dims_samples(SampleSink& s) {
  dims_samples(s);
  s.add({rand_ints({9, 6}, -50, 50, DType::int8), ints({0})});
  s.add({randn({3, 4})});
  s.error(Code::shape, {"empty", "[3, 0]"}, {randn({3, 0}), ints({1})});
}
void logsumexp_samples(SampleSink& s) {
  dims_samples(s);
  s.add({around(1000), ints({1})});
  s.add({Tensor::full({3, 4}, -std::numeric_limits<double>::infinity(), DType::float32), ints({1})});
  s.add({randn({3, 0}), ints({1})});
}
void norm_samples(SampleSink& s) {
  for (const double order : {2.0, 1.0, 0.0, 3.0, 0.5, -1.0}) {
    s.add({randn({4, 37}), val(order), ints({1}), val(true)});
    s.add({randn({40, 37}), val(order), ints({0})});
  }
  for (const double sign : {1.0, -1.0})
    s.add({randn({40, 37}), val(sign * std::numeric_limits<double>::infinity()), ints({0})});
  s.add({strided(randn({4, 5}))});
  s.add({randn({0}), val(2.0)});
  s.error(Code::dtype, {"int64"}, {rand_ints({3}, 0, 5)});
  s.error(Code::shape, {"empty"}, {randn({0}), val(std::numeric_limits<double>::infinity())});
}
void spread_whole_samples(SampleSink& s) {
  s.add({around(0)});
  s.add({around(100), val(false)});
  s.add({long_row()});
  s.add({randn({1})});
  s.error(Code::dtype, {"int64"}, {rand_ints({3}, 0, 5)});
}
void spread_dim_samples(SampleSink& s) {
  s.add({around(0), ints({1})});
  s.add({around(0), ints({0}), val(false), val(true)});
  s.add({randn({3, 4, 5, 6}), ints({0, 2})});
  s.add({strided(randn({30, 41})), none});
}
void spread_correction_samples(SampleSink& s) {
  s.add_as_is({Tensor::of<float>({2, 2}, {3e38f, -2e38f, 1e30f, 2e30f}), ints({1})},
              {{"correction", val(0)}});  // squares leave float32
  s.add({around(100), ints({1})}, {{"correction", val(0)}});
  s.add({around(0), ints({0})}, {{"correction", val(2.5)}, {"keepdim", val(true)}});
  s.add({randn({3, 1}), ints({1})}, {{"correction", val(1)}});
  s.add({randn({3, 0}), ints({1})});
  s.add({long_row()});
}
void onnx_reduce_samples(SampleSink& s) {
  for (const char* kind : {"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"}) {
    s.add({rand_uniform({3, 14, 5}, 0.5, 1.5), val(kind), ints({1})});
    s.add({rand_uniform({3, 14, 5}, 0.5, 1.5), val(kind), ints({-1, 0}), val(false)});
    s.add({rand_uniform({3, 4}, 0.5, 1.5), val(kind)});
    s.add({rand_uniform({3, 4}, 0.5, 1.5), val(kind), ints({}), val(true), val(true)});
    s.add_as_is({rand_ints({4, 6}, 1, 5, DType::int32), val(kind), ints({1})});
  }
  s.add({randn({2, 0, 3}), val("sum"), ints({1})});
  s.error(Code::value, {"median"}, {randn({2}), val("median")});
}
void global_pool_samples(SampleSink& s) {
  for (const char* kind : {"mean", "max", "lp"}) {
    s.add({randn({2, 3, 7, 9}), val(kind)});
    s.add({randn({2, 3, 40}), val(kind)});
    s.add({randn({1, 2, 3, 4, 5}), val(kind)});
  }
  s.add({randn({2, 3, 7}), val("lp"), val(3.0)});
  s.error(Code::shape, {"[5]"}, {randn({5}), val("max")});
}

}  // namespace nbx
