// SPDX-License-Identifier: Apache-2.0
#include "ops/creation/range/range.h"

#include <cmath>

#include <nbx/error.h>

namespace nbx {

void arange_samples(SampleSink& s) {
  s.add({val(5)});
  s.add({val(0)});
  s.add({val(3.1)});
  s.add({val(40000)}, {{"dtype", val(DType::float16)}});
  s.add({val(5)}, {{"dtype", val(DType::bfloat16)}});
  s.add({val(300)}, {{"dtype", val(DType::uint8)}});
  s.add({val(4)}, {{"dtype", val(DType::float64)}});
  s.error(Code::value, {"-1"}, {val(-1)});
}
void arange_start_samples(SampleSink& s) {
  s.add({val(-4), val(4)});
  s.add({val(0.5), val(4)});
  s.add({val(2), val(2)});
  s.error(Code::value, {"sign"}, {val(4), val(2)});
}
void arange_step_samples(SampleSink& s) {
  s.add({val(2), val(9), val(3)});
  s.add({val(9), val(-2), val(-4)});
  s.add({val(0.0), val(1.0), val(0.1)});
  s.add({val(1.5), val(-2.5), val(-0.75)});
  s.add({val(0), val(10), val(2.5)}, {{"dtype", val(DType::int64)}});
  s.add({val(0.9), val(4.2), val(1.0)}, {{"dtype", val(DType::int64)}});
  s.add({val(int64_t{1} << 60), val((int64_t{1} << 60) + 5), val(2)});
  s.error(Code::value, {"step"}, {val(0), val(3), val(0)});
  s.error(Code::value, {"2"}, {val(0), val(-3), val(2)});
  s.error(Code::value, {"finite"}, {val(0), val(INFINITY), val(1)});
}
void onnx_range_samples(SampleSink& s) {
  const auto f = [](float v) { return Tensor::scalar<float>(v); };
  const auto i = [](int32_t v) { return Tensor::scalar<int32_t>(v); };
  s.add({f(1), f(5), f(2)});
  s.add({f(1), f(-5), f(-0.3f)});
  s.add({f(4), f(1), f(1)});  // empty
  s.add({i(10), i(4), i(-3)});
  s.add({i(3), i(10), i(3)});
  s.error(Code::value, {"delta"}, {i(3), i(10), i(0)});
  s.error(Code::dtype, {"int32", "float32"}, {i(3), f(10), i(1)});
}
void linspace_samples(SampleSink& s) {
  s.add({val(0), val(10), val(5)});
  s.add({val(-1.5), val(3.25), val(100)});
  s.add({val(5), val(-5), val(4)});
  s.add({val(3), val(7), val(1)});
  s.add({val(3), val(7), val(0)});
  s.add({val(0), val(10), val(7)}, {{"dtype", val(DType::int32)}});
  s.add({val(0.9), val(10.7), val(6)}, {{"dtype", val(DType::int64)}});
  s.add({val(0), val(1), val(33)}, {{"dtype", val(DType::float16)}});
  s.add({val(0), val(1), val(33)}, {{"dtype", val(DType::float64)}});
  s.add({Value(std::complex<double>(0, 1)), val(2), val(5)}, {{"dtype", val(DType::complex128)}});
  s.error(Code::value, {"steps", "-1"}, {val(0), val(1), val(-1)});
}

}  // namespace nbx
