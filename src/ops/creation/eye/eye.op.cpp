// SPDX-License-Identifier: Apache-2.0
// Ones on a diagonal.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "ops/import_dtype.h"
#include "ops/shape/views.h"

namespace nbx {
namespace {

Metas eye(const Args& a) {
  const int64_t n = a.integer("n"), m = a.schema().find("m") >= 0 ? a.integer("m") : n;
  require(n >= 0, Code::value, "eye: n is {}; it must not be negative", n);
  require(m >= 0, Code::value, "eye: m is {}; it must not be negative", m);
  return {Meta(a.optional_dtype("dtype").value_or(DType::float32), Shape{n, m})};
}
Metas eye_like(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.rank() == 2, Code::shape, "eye_like: self must have 2 dims, it is {}", to_string(x));
  return {Meta(a.optional_dtype("dtype").value_or(x.dtype), x.shape)};
}

Bound bind(const Args& a, const Metas& outputs) {
  const Meta& out = outputs[0];
  const int64_t k = a.schema().find("k") >= 0 ? a.integer("k") : 0;
  const int64_t rows = out.shape[0], columns = out.shape[1], size = itemsize(out.dtype);
  const auto one = item_bytes(Scalar{int64_t{1}}, out.dtype);
  return [=](const Run& r) {
    const int64_t bytes = columns * size;
    parallel_rows(r.team, rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, bytes)),
                  [&](int64_t begin, int64_t end) {
                    std::byte* to = r.out<std::byte>(0) + begin * bytes;
                    std::memset(to, 0, static_cast<size_t>((end - begin) * bytes));
                    for (int64_t i = begin; i < end; ++i, to += bytes)
                      if (k < columns - i && k >= -i)
                        std::memcpy(to + (i + k) * size, one.data(), static_cast<size_t>(size));
                  });
  };
}

template <InferFn infer>
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>&) {
  const Meta out = infer(a)[0];
  const int64_t k = a.schema().find("k") >= 0 ? a.integer("k") : 0;
  std::vector<int64_t> values;
  each_index(out.shape,
             [&](const Ints& i) { values.push_back(static_cast<double>(i[1] - i[0]) == static_cast<double>(k)); });
  return {Tensor::of<int64_t>(out.shape, values).to(out.dtype)};
}

void eye_samples(SampleSink& s) {
  for (int n : {0, 1, 3, 130}) s.add({val(n)});
  s.add({val(3)}, {{"dtype", val(DType::bool_)}});
  s.add({val(3)}, {{"dtype", val(DType::bfloat16)}});
  s.error(Code::value, {"n is -1"}, {val(-1)});
}
void eye_m_samples(SampleSink& s) {
  s.add({val(2), val(4)});
  s.add({val(4), val(2)}, {{"dtype", val(DType::complex64)}});
  s.add({val(0), val(3)});
  s.error(Code::value, {"m is -2"}, {val(1), val(-2)});
}
void eye_like_samples(SampleSink& s) {
  for (int k : {-9, -1, 0, 2, 7}) s.add({randn({3, 4}), val(k)});
  s.add({rand_ints({4, 3}, 0, 2), val(1)}, {{"dtype", val(DType::float64)}});
  s.add({randn({2, 2}), val(INT64_MAX)});
  s.error(Code::shape, {"[3]"}, {randn({3})});
}

Cost cost(const Args&, const Metas& outputs) { return {0, outputs[0].bytes(), 0, 0}; }

template <InferFn infer>
OpDecl op(const char* schema, SamplesFn samples) {
  OpDecl out = movement_op(schema, infer, {cpu("eye_cpu", bind, true)}, oracle<infer>, samples);
  out.cost = cost;
  return out;
}

void import_eye_like(Importing& node) {
  Value dtype = None{};
  if (node.has("dtype")) {
    const auto known = onnx_dtype(node.integer("dtype"));
    if (!known) node.unsupported("EyeLike with dtype " + std::to_string(node.integer("dtype")));
    dtype = *known;
  }
  node.output(0, node.emit("custom::eye_like", {node.input(0), node.integer("k", 0)}, {{"dtype", dtype}}));
}

}  // namespace

namespace decls {
Decls eye() {
  Decls out = {
      op<nbx::eye>("aten::eye(int n, *, ScalarType? dtype=None) -> Tensor", eye_samples),
      op<nbx::eye>("aten::eye.m(int n, int m, *, ScalarType? dtype=None) -> Tensor", eye_m_samples),
      op<eye_like>("custom::eye_like(Tensor self, int k=0, *, ScalarType? dtype=None) -> Tensor", eye_like_samples)};
  out[2].imports = {{"EyeLike", import_eye_like, 9}};
  out[2].source = "ONNX EyeLike";
  return out;
}
}  // namespace decls
}  // namespace nbx
