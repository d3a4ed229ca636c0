// SPDX-License-Identifier: Apache-2.0
// Random tensors of ONNX: RandomNormal, RandomUniform, their -Like forms, and Bernoulli. The standard leaves the
// numbers free; ours are Philox streams (random/philox.h).
#include "ops/random/draws/draws.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/import_dtype.h"
#include "random/philox.h"
#include "shape/strides.h"
#include "tensor/copy.h"

namespace nbx {
namespace draws {

Draw draw_of(const Args& a) {
  Draw d;
  d.kind = a.op() == "bernoulli"                        ? Kind::bernoulli
           : a.op().find("normal") != std::string::npos ? Kind::normal
                                                        : Kind::uniform;
  d.seed = static_cast<uint64_t>(a.integer("seed"));
  d.number = static_cast<uint64_t>(a.integer("draw"));
  if (d.kind == Kind::normal) {
    d.first = a.number("mean");
    d.second = a.number("scale");
  } else if (d.kind == Kind::uniform) {
    d.first = a.number("low");
    d.second = a.number("high");
  }
  return d;
}

namespace {

void check_dtype(const Args& a, DType dtype) {
  require(is_floating(dtype) && itemsize(dtype) > 1, Code::dtype,
          "{}: the result would be {}; float32, float64, float16 and bfloat16 can be drawn, give one as dtype", a.op(),
          name(dtype));
}

Metas sized(const Args& a) {
  const DType dtype = a.optional_dtype("dtype").value_or(DType::float32);
  check_dtype(a, dtype);
  const Ints size = a.ints("size");
  check_shape(size, a.op() + ": size");
  numel(size, 16);
  return {Meta(dtype, size)};
}
Metas like(const Args& a) {
  const Meta& x = a.tensor("self");
  const DType dtype = a.optional_dtype("dtype").value_or(x.dtype);
  check_dtype(a, dtype);
  return {Meta(dtype, x.shape)};
}
Metas bernoulli(const Args& a) {
  const Meta& x = a.tensor("self");
  require(is_floating(x.dtype), Code::dtype, "bernoulli: self holds probabilities, floating numbers; it is {}",
          to_string(x));
  const DType dtype = a.optional_dtype("dtype").value_or(x.dtype);
  require(!is_complex(dtype), Code::dtype, "bernoulli: the result cannot be {}", name(dtype));
  return {Meta(dtype, x.shape)};
}

constexpr int64_t kBlock = 256;  // elements on the stack
constexpr int64_t kGrain = 16 * kBlock;

Bound bind(const Args& a, const Metas& outputs) {
  const Draw d = draw_of(a);
  const uint64_t key = stream_key(d.seed, d.number);
  const int64_t n = outputs[0].numel(), size = itemsize(outputs[0].dtype);
  const CopyRun convert = copy_run(DType::float64, outputs[0].dtype);
  CopyRun widen = nullptr;
  int64_t probability_size = 0;
  if (d.kind == Kind::bernoulli) {
    widen = copy_run(a.tensor("self").dtype, DType::float64);
    probability_size = itemsize(a.tensor("self").dtype);
  }
  return [=](const Run& r) {
    parallel_rows(r.team, n, kGrain, [&](int64_t begin, int64_t end) {
      double block[kBlock];
      for (int64_t at = begin; at < end; at += kBlock) {
        const int64_t count = std::min(kBlock, end - at);
        if (widen) widen(r.in<std::byte>(0) + at * probability_size, 1, reinterpret_cast<std::byte*>(block), 1, count);
        for (int64_t i = 0; i < count; ++i) {
          const PhiloxWords w = philox(static_cast<uint64_t>(at + i), key);
          switch (d.kind) {
            case Kind::normal:
              block[i] = d.first + d.second * normal_of(w[0], w[1]);
              break;
            case Kind::uniform:
              block[i] = d.first + (d.second - d.first) * static_cast<double>(unit_of(w[0]));
              break;
            case Kind::bernoulli:
              block[i] = static_cast<double>(unit_of(w[0])) < block[i] ? 1 : 0;
              break;
          }
        }
        convert(reinterpret_cast<const std::byte*>(block), 1, r.out<std::byte>(0) + at * size, 1, count);
      }
    });
  };
}

// About what ten rounds and, for normal numbers, a logarithm and a cosine take.
Cost cost(const Args& a, const Metas& outputs) {
  const Kind kind = draw_of(a).kind;
  Cost c;
  c.written = outputs[0].bytes();
  if (kind == Kind::bernoulli) c.read = a.tensor("self").bytes();
  c.flops = outputs[0].numel() * (kind == Kind::normal ? 100 : 50);
  return c;
}

OpDecl op(const char* schema, InferFn infer, SamplesFn samples, OnnxImport import) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("philox_cpu", bind)};
  d.oracle = oracle;
  d.samples = samples;
  d.tolerance = ulps(0.5, 0.5);
  d.flags = kRandom;
  d.source = "ONNX " + import.op;
  d.imports = {std::move(import)};
  return d;
}

// The file's number as a whole one where it is; else its bits. Without the attribute: 0.
Value seed_of(Importing& node) {
  const float seed = static_cast<float>(node.number("seed", 0.0));
  if (std::floor(seed) == seed && std::fabs(seed) < 9e18f) return static_cast<int64_t>(seed);
  uint32_t bits;
  std::memcpy(&bits, &seed, sizeof(bits));
  return static_cast<int64_t>(bits);
}
Value dtype_of(Importing& node, Value otherwise) {
  if (!node.has("dtype")) return otherwise;
  const auto dtype = onnx_dtype(node.integer("dtype"));
  if (!dtype) node.unsupported("dtype " + std::to_string(node.integer("dtype")));
  return *dtype;
}

template <bool is_like>
void import_normal(Importing& node) {
  node.output(0, node.emit(is_like ? "custom::random_normal_like" : "custom::random_normal",
                           {is_like ? Value(node.input(0)) : Value(node.ints("shape"))},
                           {{"mean", node.number("mean", 0.0)},
                            {"scale", node.number("scale", 1.0)},
                            {"seed", seed_of(node)},
                            {"dtype", dtype_of(node, is_like ? Value(None{}) : Value(DType::float32))}}));
}
template <bool is_like>
void import_uniform(Importing& node) {
  node.output(0, node.emit(is_like ? "custom::random_uniform_like" : "custom::random_uniform",
                           {is_like ? Value(node.input(0)) : Value(node.ints("shape"))},
                           {{"low", node.number("low", 0.0)},
                            {"high", node.number("high", 1.0)},
                            {"seed", seed_of(node)},
                            {"dtype", dtype_of(node, is_like ? Value(None{}) : Value(DType::float32))}}));
}
void import_bernoulli(Importing& node) {
  node.output(
      0, node.emit("custom::bernoulli", {node.input(0)}, {{"seed", seed_of(node)}, {"dtype", dtype_of(node, None{})}}));
}

}  // namespace
}  // namespace draws

namespace decls {
Decls draws() {
  using namespace nbx::draws;
  Decls out = {
      op("custom::random_normal(int[] size, *, float mean=0.0, float scale=1.0, int seed=0, int draw=0, ScalarType? "
         "dtype=None) -> "
         "Tensor",
         sized, size_samples, {"RandomNormal", import_normal<false>}),
      op("custom::random_normal_like(Tensor self, *, float mean=0.0, float scale=1.0, int seed=0, int draw=0, "
         "ScalarType? "
         "dtype=None) -> Tensor",
         like, like_samples, {"RandomNormalLike", import_normal<true>}),
      op("custom::random_uniform(int[] size, *, float low=0.0, float high=1.0, int seed=0, int draw=0, ScalarType? "
         "dtype=None) -> "
         "Tensor",
         sized, size_samples, {"RandomUniform", import_uniform<false>}),
      op("custom::random_uniform_like(Tensor self, *, float low=0.0, float high=1.0, int seed=0, int draw=0, "
         "ScalarType? "
         "dtype=None) -> Tensor",
         like, like_samples, {"RandomUniformLike", import_uniform<true>}),
      op("custom::bernoulli(Tensor self, *, int seed=0, int draw=0, ScalarType? dtype=None) -> Tensor",
         nbx::draws::bernoulli, bernoulli_samples, {"Bernoulli", import_bernoulli, 15}),
  };
  for (OpDecl& d : out) d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  return out;
}
}  // namespace decls
}  // namespace nbx
