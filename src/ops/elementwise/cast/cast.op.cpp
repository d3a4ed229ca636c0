// SPDX-License-Identifier: Apache-2.0
// Conversions between dtypes, and the same tensor under another name.
#include "ops/elementwise/formula.h"
#include "ops/elementwise/onnx.h"
#include "ops/elementwise/samples.h"
#include "ops/import_dtype.h"

namespace nbx::decls {

using namespace pointwise;

namespace {

Meta same(const Args& args) {
  Meta m = args.tensor("self");
  m.known = Tensor();
  m.weak = false;
  m.alias = args.operand("self");
  m.offset = 0;
  return m;
}
// The operand itself when nothing changes.
Metas converted(const Args& args, DType dtype, bool copy = false) {
  const Meta& x = args.tensor("self");
  if (dtype == x.dtype && !copy) return {same(args)};
  for (const DType t : {x.dtype, dtype})
    require(!is_complex(t), Code::unsupported, "{}: {} to {}: complex tensors are not supported yet", args.op(),
            name(x.dtype), name(dtype));
  return {Meta(dtype, x.shape)};
}

Metas infer_alias(const Args& args) { return {same(args)}; }
Metas infer_to(const Args& args) { return converted(args, args.dtype("dtype"), args.flag("copy")); }
Metas infer_to_copy(const Args& args) {
  return converted(args, args.optional_dtype("dtype").value_or(args.tensor("self").dtype), true);
}
Metas infer_like(const Args& args) { return converted(args, args.tensor("other").dtype); }
template <DType dtype>
Metas infer_fixed(const Args& args) {
  return converted(args, dtype);
}
Metas infer_saturate(const Args& args) { return converted(args, args.dtype("dtype")); }

Val lower_cast(const Lowering& l) { return l.b.cast(l.in[0], infer_pointwise(l.args).front().dtype); }

// ONNX: a float8 result saturates instead of becoming NaN or infinite.
std::optional<double> limit_of(DType dtype) {
  if (dtype == DType::float8_e4m3fn) return 448;
  if (dtype == DType::float8_e5m2) return 57344;
  return std::nullopt;
}
DType saturated_dtype(const Args& args) { return infer_pointwise(args).front().dtype; }
Val lower_saturate(const Lowering& l) {
  const DType to = saturated_dtype(l.args), from = l.b.dtype(l.in[0]);
  const auto limit = limit_of(to);
  if (!limit || (l.args.schema().find("saturate") >= 0 && !l.args.flag("saturate"))) return l.b.cast(l.in[0], to);
  const DType wide = from == DType::float64 ? DType::float64 : DType::float32;
  Params p;
  p.f[0] = -*limit;
  p.f[1] = *limit;
  return l.b.cast(l.b.step(fn(Real::clamp, lane_of(wide)), wide, {l.b.cast(l.in[0], wide)}, p), to);
}

std::vector<Tensor> oracle_cast(const Args& args, const std::vector<Tensor>& in) {
  const DType to = infer_pointwise(args).front().dtype;
  return {in[0].to(to)};
}
std::vector<Tensor> oracle_saturate(const Args& args, const std::vector<Tensor>& in) {
  const DType to = saturated_dtype(args);
  const auto limit = limit_of(to);
  if (!limit || (args.schema().find("saturate") >= 0 && !args.flag("saturate"))) return {in[0].to(to)};
  std::vector<double> v = in[0].to_doubles();
  for (double& x : v) x = x > *limit ? *limit : x < -*limit ? -*limit : x;
  return {Tensor::of<double>(in[0].shape(), std::span<const double>(v)).to(to)};
}

constexpr DType kReals[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64,       DType::int8,
                            DType::int16,   DType::int32,    DType::int64,   DType::uint8,         DType::bool_,
                            DType::uint16,  DType::uint32,   DType::uint64,  DType::float8_e4m3fn, DType::float8_e5m2};

void to_samples(SampleSink& s) {
  // Values that every dtype holds or truncates to without leaving its range; each pair of dtypes.
  const Tensor whole = rand_ints({5, 21}, 0, 100), parts = rand_uniform({5, 21}, 0, 100);
  for (const DType from : kReals)
    for (const DType to : kReals) s.add_as_is({(is_floating(from) ? parts : whole).to(from), val(to)});
  for (const DType to :
       {DType::float16, DType::bfloat16, DType::float64, DType::float8_e4m3fn, DType::float8_e5m2, DType::bool_})
    s.add_as_is({special_floats(), val(to)});
  for (const DType to : {DType::int8, DType::int16, DType::int32, DType::int64})
    s.add_as_is({rand_uniform({77}, -120, 120), val(to)});
  s.add_as_is({rand_ints({77}, -100000, 100000), val(DType::int8)});
  s.add_as_is({rand_ints({77}, -100000, 100000), val(DType::uint16)});
  s.add_as_is({rand_uniform({77}, -1e5, 1e5).to(DType::float64), val(DType::float16)});
  s.add_as_is({strided(randn({6, 7})), val(DType::float64)});
  s.add_as_is({strided(randn({6, 7})), val(DType::float32), val(false), val(true)});
  s.add_as_is({randn({40009}), val(DType::bfloat16)});
}
void other_samples(SampleSink& s) {
  s.add_as_is({rand_uniform({3, 40}, -9, 9), rand_ints({2}, 0, 3)});
  s.add_as_is({rand_ints({3, 40}, -9, 9), randn({}).to(DType::float16)});
  s.add_as_is({randn({3}), randn({2})});
}
void fixed_samples(SampleSink& s) {
  s.add_as_is({rand_uniform({3, 40}, 0, 9)});
  s.add_as_is({rand_ints({3, 40}, 0, 9)});
  s.add_as_is({rand_ints({3, 40}, 0, 2, DType::bool_)});
}
void alias_samples(SampleSink& s) {
  s.add({randn({3, 4})});
  s.add({strided(randn({3, 4}))});
}
void saturate_samples(SampleSink& s) {
  for (const DType to : {DType::float8_e4m3fn, DType::float8_e5m2}) {
    s.add_as_is({special_floats(), val(to)});
    s.add_as_is({rand_uniform({77}, -60000, 60000).to(DType::float16), val(to)});
    s.add_as_is({rand_ints({77}, -60000, 60000), val(to)});
  }
  s.add_as_is({special_floats(), val(DType::float16)});
}
void like_samples(SampleSink& s) {
  other_samples(s);
  s.add_as_is({special_floats(), Tensor::zeros({1}, DType::float8_e4m3fn)});
  s.add_as_is({special_floats(), Tensor::zeros({1}, DType::float8_e4m3fn), val(false)});
}

void import_cast(Importing& node) {
  const auto type = onnx_dtype(node.integer("to"));
  if (!type) node.unsupported("Cast to TensorProto data type " + std::to_string(node.integer("to")));
  const DType to = *type;
  const bool saturate = node.integer("saturate", 1) != 0;  // says something for float8 only
  const bool saturates = saturate && limit_of(to).has_value();
  node.output(0, node.emit(saturates ? "custom::cast_saturate" : "aten::to.dtype", {node.input(0), to}));
}
void import_cast_like(Importing& node) {
  node.output(0, node.emit("custom::cast_like", {node.input(0), node.input(1), node.integer("saturate", 1) != 0}));
}

Formula row_of(const char* schema, InferFn infer, SamplesFn samples, std::vector<OnnxImport> imports = {},
               std::vector<std::string> aliases = {}) {
  Formula row{schema};
  row.infer = infer;
  row.lower = lower_cast;
  row.oracle = oracle_cast;
  row.samples = samples;
  row.tolerance = exact();
  row.tolerance.f16 = row.tolerance.bf16 = row.tolerance.f32 = {0.5, 0, 0};
  row.imports = std::move(imports);
  row.aliases = std::move(aliases);
  return row;
}

}  // namespace

Decls cast() {
  Formula saturate =
      row_of("custom::cast_saturate(Tensor self, ScalarType dtype) -> Tensor", infer_saturate, saturate_samples);
  saturate.lower = lower_saturate;
  saturate.oracle = oracle_saturate;
  saturate.source = "ONNX Cast";
  Formula like = row_of("custom::cast_like(Tensor self, Tensor other, bool saturate=True) -> Tensor", infer_like,
                        like_samples, {{"CastLike", import_cast_like}});
  like.lower = lower_saturate;
  like.oracle = oracle_saturate;
  like.source = "ONNX CastLike";
  like.pointwise = false;  // `other` gives its dtype only, and need not broadcast

  Formula type_as = row_of("aten::type_as(Tensor self, Tensor other) -> Tensor", infer_like, other_samples);
  type_as.pointwise = false;

  Decls out = declare({
      row_of("aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False) -> Tensor",
             infer_to, to_samples, {{"Cast", import_cast}}),
      row_of("aten::_to_copy(Tensor self, *, ScalarType? dtype=None, bool non_blocking=False) -> Tensor", infer_to_copy,
             [](SampleSink& s) {
               s.add_as_is({randn({3, 40})}, {{"dtype", val(DType::float16)}});
               s.add_as_is({strided(randn({3, 40}))});
             }),
      type_as,
      row_of("aten::float(Tensor self) -> Tensor", infer_fixed<DType::float32>, fixed_samples),
      row_of("aten::double(Tensor self) -> Tensor", infer_fixed<DType::float64>, fixed_samples),
      row_of("aten::half(Tensor self) -> Tensor", infer_fixed<DType::float16>, fixed_samples),
      row_of("aten::bfloat16(Tensor self) -> Tensor", infer_fixed<DType::bfloat16>, fixed_samples),
      row_of("aten::int(Tensor self) -> Tensor", infer_fixed<DType::int32>, fixed_samples),
      row_of("aten::long(Tensor self) -> Tensor", infer_fixed<DType::int64>, fixed_samples),
      row_of("aten::bool(Tensor self) -> Tensor", infer_fixed<DType::bool_>, fixed_samples),
      saturate,
      like,
      row_of("aten::alias(Tensor self) -> Tensor", infer_alias, alias_samples, {{"Identity", import_unary}},
             {"aten::detach", "aten::lift_fresh"}),
  });
  for (OpDecl& d : out) {
    d.flags |= kView;
    d.flags &= ~static_cast<unsigned>(kInPlace);  // in and out may differ in width; the planner's rule would never fit
    d.cost = copy_cost;
    d.dtypes = {DType::float32};
  }
  return out;
}

}  // namespace nbx::decls
