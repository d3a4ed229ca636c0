// SPDX-License-Identifier: Apache-2.0
// Linear quantisation and back, and quantisation by the range of the tensor itself.
#include <algorithm>

#include "ops/import_dtype.h"
#include "ops/quant/quantize/quantize.h"

namespace nbx {

namespace {

constexpr int64_t kBlock = 256;    // elements in registers and on the stack at a time
constexpr int64_t kPiece = 16384;  // elements that make a chunk of work

bool is_real(DType d) { return d == DType::float32 || is_half(d); }
bool is_float8(DType d) { return d == DType::float8_e4m3fn || d == DType::float8_e5m2; }
bool is_quantised(DType d) { return is_byte(d) || d == DType::int16 || d == DType::uint16 || is_float8(d); }

void check_zero(const Args& a, const Grain& g, DType dtype) {
  const Meta* zero = a.optional_tensor("zero_point");
  if (!zero) return;
  const Meta& scale = a.tensor("scale");
  require(zero->dtype == dtype, Code::dtype, "{}: zero_point is {}, the quantised dtype is {}; they must be the same",
          a.op(), to_string(*zero), name(dtype));
  const bool fits = g.kind == Grain::Kind::tensor ? zero->numel() == 1 : zero->shape == scale.shape;
  require(fits, Code::shape, "{}: zero_point is {}, scale is {}; pass the same shape", a.op(), to_string(*zero),
          to_string(scale));
}

}  // namespace

DType quantised_dtype(const Args& a) {
  const Meta* zero = a.optional_tensor("zero_point");
  return a.optional_dtype("dtype").value_or(zero ? zero->dtype : DType::uint8);
}
DType division_dtype(const Args& a) {
  const DType given = a.optional_dtype("precision").value_or(a.tensor("scale").dtype);
  return given == DType::int32 ? DType::float32 : given;
}
DType dequantised_dtype(const Args& a) { return a.optional_dtype("dtype").value_or(a.tensor("scale").dtype); }

namespace {

Metas infer_quantize(const Args& a) {
  const Meta &x = a.tensor("self"), &scale = a.tensor("scale");
  for (const auto& [param, m] : {std::pair<const char*, const Meta*>{"self", &x}, {"scale", &scale}})
    require(is_real(m->dtype) || m->dtype == DType::int32, Code::dtype,
            "{}: {} is {}, it must be float32, float16, bfloat16 or int32", a.op(), param, to_string(*m));
  require(is_real(division_dtype(a)), Code::dtype, "{}: precision is {}, it must be float32, float16 or bfloat16",
          a.op(), name(division_dtype(a)));
  const DType to = quantised_dtype(a);
  require(is_quantised(to), Code::dtype,
          "{}: {} is no quantised dtype; int8, uint8, int16, uint16, float8_e4m3fn and float8_e5m2 are", a.op(),
          name(to));
  check_zero(a, grain_of(a, x, scale), to);
  return {Meta(to, x.shape)};
}

Metas infer_dequantize(const Args& a) {
  const Meta &x = a.tensor("self"), &scale = a.tensor("scale");
  require(is_quantised(x.dtype) || x.dtype == DType::int32, Code::dtype,
          "{}: self is {}; int8, uint8, int16, uint16, int32, float8_e4m3fn and float8_e5m2 can be dequantised", a.op(),
          to_string(x));
  require_scale(a.op(), "scale", scale);
  const DType to = dequantised_dtype(a);
  require(is_real(to), Code::dtype, "{}: dtype is {}, it must be float32, float16 or bfloat16", a.op(), name(to));
  check_zero(a, grain_of(a, x, scale), x.dtype);
  return {Meta(to, x.shape)};
}

// Walks a tensor in blocks with each element's scale and zero point beside it.
struct Walk {
  Grain grain;
  ReadFloats x, scale, zero;
  int x_index, scale_index, zero_index;
  RoundFloats round_x, round_scale;
  WriteFloats write;

  template <class Fn>
  void run(const Run& r, const Fn& fn) const {
    const int64_t grain_size = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, longest_segment(grain)));
    parallel_rows(r.team, segments(grain), grain_size, [&](int64_t begin, int64_t end) {
      float v[kBlock], s[kBlock], z[kBlock];
      std::fill_n(z, kBlock, 0.0f);
      for (int64_t i = begin; i < end; ++i) {
        const Segment g = segment(grain, i);
        if (!g.each) beside(r, g.scale, 1, std::min(kBlock, g.count), s, z);
        for (int64_t b = 0; b < g.count; b += kBlock) {
          const int64_t n = std::min(kBlock, g.count - b);
          if (g.each) beside(r, g.scale + b, n, n, s, z);
          x(r.inputs[x_index], g.at + b, n, v);
          round_x(v, n);
          fn(v, s, z, n);
          write(v, n, r.outputs[0], g.at + b);
        }
      }
    });
  }
  // Reads `n` scales and zero points from `at`; a single one is spread over `count`.
  void beside(const Run& r, int64_t at, int64_t n, int64_t count, float* s, float* z) const {
    scale(r.inputs[scale_index], at, n, s);
    round_scale(s, n);
    if (zero_index >= 0) zero(r.inputs[zero_index], at, n, z);
    if (n == count) return;
    std::fill(s + 1, s + count, s[0]);
    std::fill(z + 1, z + count, z[0]);
  }
};

Walk walk_of(const Args& a, const Metas& outputs, bool saturate) {
  const Meta* zero = a.optional_tensor("zero_point");
  const RoundFloats keep = rounder(DType::float32);
  return {grain_of(a, a.tensor("self"), a.tensor("scale")),
          reader(a.op(), a.tensor("self").dtype),
          reader(a.op(), a.tensor("scale").dtype),
          zero ? reader(a.op(), zero->dtype) : nullptr,
          a.operand("self"),
          a.operand("scale"),
          a.operand("zero_point"),
          keep,
          keep,
          writer(a.op(), outputs[0].dtype, saturate)};
}

Bound bind_quantize(const Args& a, const Metas& outputs) {
  Walk w = walk_of(a, outputs, a.flag("saturate"));
  const RoundFloats round = rounder(division_dtype(a));
  if (a.tensor("self").dtype != division_dtype(a)) w.round_x = round;
  if (a.tensor("scale").dtype != division_dtype(a)) w.round_scale = round;
  if (is_float8(outputs[0].dtype))
    return [w, round](const Run& r) {
      w.run(r, [round](float* v, const float* s, const float* z, int64_t n) {
        for (int64_t i = 0; i < n; ++i) v[i] /= s[i];
        round(v, n);
        for (int64_t i = 0; i < n; ++i) v[i] += z[i];
      });
    };
  return [w, round](const Run& r) {
    w.run(r, [round](float* v, const float* s, const float* z, int64_t n) {
      for (int64_t i = 0; i < n; ++i) v[i] /= s[i];
      round(v, n);
      // Exact wherever the sum is within 2^24; beyond that it saturates anyway.
      for (int64_t i = 0; i < n; ++i) v[i] = round_even(v[i]) + z[i];
    });
  };
}

Bound bind_dequantize(const Args& a, const Metas& outputs) {
  const Walk w = walk_of(a, outputs, false);
  return [w](const Run& r) {
    w.run(r, [](float* v, const float* s, const float* z, int64_t n) {
      for (int64_t i = 0; i < n; ++i) v[i] = (v[i] - z[i]) * s[i];
    });
  };
}

Metas infer_dynamic(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.dtype == DType::float32, Code::dtype, "{}: self is {}, it must be float32; convert it", a.op(),
          to_string(x));
  return {Meta(DType::uint8, x.shape), Meta(DType::float32, Shape{}), Meta(DType::uint8, Shape{})};
}

struct Range {
  float low = 0, high = 0;
  void include(const Range& r) {
    low = std::min(low, r.low);
    high = std::max(high, r.high);
  }
};
// Least and greatest, 0 included; NaN is left out.
Range range_of(const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  float low[kLanes] = {}, high[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) {
      low[l] = x[i + l] < low[l] ? x[i + l] : low[l];
      high[l] = x[i + l] > high[l] ? x[i + l] : high[l];
    }
  Range all;
  for (int64_t l = 0; l < kLanes; ++l) all.include({low[l], high[l]});
  for (; i < n; ++i) {
    all.low = x[i] < all.low ? x[i] : all.low;
    all.high = x[i] > all.high ? x[i] : all.high;
  }
  return all;
}

int64_t pieces_of(int64_t n) { return (n + kPiece - 1) / kPiece; }
int64_t dynamic_workspace(const Args& a) {
  return pieces_of(a.tensor("self").numel()) * static_cast<int64_t>(sizeof(Range));
}

Bound bind_dynamic(const Args& a, const Metas&) {
  const int64_t n = a.tensor("self").numel();
  const int index = a.operand("self");
  const WriteFloats write = writer(a.op(), DType::uint8, false);
  return [n, index, write](const Run& r) {
    const float* x = r.in<float>(index);
    Range* ranges = reinterpret_cast<Range*>(r.workspace);
    parallel_rows(r.team, n, kPiece,
                  [&](int64_t begin, int64_t end) { ranges[begin / kPiece] = range_of(x + begin, end - begin); });
    Range all;
    for (int64_t i = 0; i < pieces_of(n); ++i) all.include(ranges[i]);
    const float scale = (all.high == all.low ? 1.0f : all.high - all.low) / 255.0f;
    const float wanted = 0.0f - all.low / scale;
    const float zero = round_even(wanted > 0 ? (wanted < 255 ? wanted : 255.0f) : 0.0f);
    *r.out<float>(1) = scale;
    *r.out<uint8_t>(2) = static_cast<uint8_t>(zero);
    parallel_rows(r.team, n, kPiece, [&](int64_t begin, int64_t end) {
      float v[kBlock];
      for (int64_t b = begin; b < end; b += kBlock) {
        const int64_t count = std::min(kBlock, end - b);
        for (int64_t i = 0; i < count; ++i) v[i] = round_even(x[b + i] / scale) + zero;
        write(v, count, r.outputs[0], b);
      }
    });
  };
}

Cost cost_dynamic(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = 5 * a.tensor("self").numel();
  c.workspace = dynamic_workspace(a);
  return c;
}
Cost cost_linear(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = 2 * a.tensor("self").numel();
  return c;
}

Value dtype_attribute(Importing& in, const char* attribute) {
  const int64_t number = in.integer(attribute, 0);
  if (number == 0) return None{};
  const auto dtype = onnx_dtype(number);
  if (!dtype)
    in.unsupported(in.op_type() + " with " + attribute + " = TensorProto data type " + std::to_string(number));
  return *dtype;
}
Value zero_of(Importing& in) { return in.has_input(2) ? Value(in.input(2)) : Value(None{}); }

void import_quantize(Importing& in) {
  in.output(
      0, in.emit("custom::quantize_linear", {in.input(0), in.input(1), zero_of(in), in.integer("axis", 1),
                                             in.integer("block_size", 0), in.integer("saturate", 1) != 0,
                                             dtype_attribute(in, "output_dtype"), dtype_attribute(in, "precision")}));
}
void import_dequantize(Importing& in) {
  in.output(0,
            in.emit("custom::dequantize_linear", {in.input(0), in.input(1), zero_of(in), in.integer("axis", 1),
                                                  in.integer("block_size", 0), dtype_attribute(in, "output_dtype")}));
}
void import_dynamic(Importing& in) {
  const auto results = in.emit_all("custom::dynamic_quantize_linear", {in.input(0)});
  for (int i = 0; i < in.outputs(); ++i)
    if (in.wants_output(i)) in.output(i, results.at(static_cast<size_t>(i)));
}

OpDecl declared(const char* schema, InferFn infer, CostFn cost, Kernel kernel, OracleFn oracle, SamplesFn samples,
                OnnxImport import) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {std::move(kernel)};
  d.oracle = oracle;
  d.samples = samples;
  d.source = "ONNX " + import.op;
  d.imports = {std::move(import)};
  return d;
}

}  // namespace

namespace decls {

Decls quantize() {
  Decls out = {
      declared("custom::quantize_linear(Tensor self, Tensor scale, Tensor? zero_point=None, int axis=1, "
               "int block_size=0, bool saturate=True, ScalarType? dtype=None, ScalarType? precision=None) -> Tensor",
               infer_quantize, cost_linear, cpu("quantize_cpu", bind_quantize), quantize_oracle, quantize_samples,
               {"QuantizeLinear", import_quantize, 10}),
      declared("custom::dequantize_linear(Tensor self, Tensor scale, Tensor? zero_point=None, int axis=1, "
               "int block_size=0, ScalarType? dtype=None) -> Tensor",
               infer_dequantize, cost_linear, cpu("dequantize_cpu", bind_dequantize), dequantize_oracle,
               dequantize_samples, {"DequantizeLinear", import_dequantize, 10}),
      declared("custom::dynamic_quantize_linear(Tensor self) -> (Tensor, Tensor, Tensor)", infer_dynamic, cost_dynamic,
               cpu("dynamic_quantize_cpu", bind_dynamic), dynamic_oracle, dynamic_samples,
               {"DynamicQuantizeLinear", import_dynamic, 11}),
  };
  out[0].dtypes = out[1].dtypes = {DType::float32, DType::float16, DType::bfloat16};
  out[2].kernels[0].workspace = dynamic_workspace;
  return out;
}

}  // namespace decls
}  // namespace nbx
