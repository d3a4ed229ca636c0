// SPDX-License-Identifier: Apache-2.0
// Tensors of one value.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "dtype/promotion.h"
#include "ops/shape/items.h"
#include "ops/shape/views.h"
#include "shape/strides.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

constexpr int64_t kChunkBytes = 256 << 10;

Bound bind_filling(const Meta& out, std::array<std::byte, 16> item) {
  const int64_t n = out.numel(), size = itemsize(out.dtype);
  const bool same_bytes = std::all_of(item.begin(), item.begin() + size, [&](std::byte b) { return b == item[0]; });
  return [=](const Run& r) {
    with_item(same_bytes ? 1 : static_cast<int>(size), [&](auto kind) {
      using T = decltype(kind);
      T value;
      std::memcpy(&value, item.data(), sizeof(T));
      const int64_t items = same_bytes ? n * size : n;
      T* to = r.out<T>(0);
      parallel_rows(r.team, items, kChunkBytes / static_cast<int64_t>(sizeof(T)),
                    [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, value); });
    });
  };
}

// The value of each op of the family.
Scalar value_of(const Args& a) {
  for (const char* param : {"fill_value", "value", "s"})
    if (a.schema().find(param) >= 0) return a.scalar(param);
  return Scalar{int64_t{a.op().find("ones") != std::string::npos ? 1 : 0}};
}
DType default_of(const Scalar& value) { return default_dtype(value.category()); }

Shape size_of(const Args& a) {
  const Ints size = a.ints("size");
  check_shape(size, a.op() + ": size");
  numel(size, 16);
  return size;
}

Metas sized(const Args& a) {
  const bool filled = a.op() == "full";
  const DType dtype = a.optional_dtype("dtype").value_or(filled ? default_of(value_of(a)) : DType::float32);
  return {Meta(dtype, size_of(a))};
}
Metas scalar_tensor(const Args& a) { return {Meta(a.optional_dtype("dtype").value_or(DType::float32), Shape{})}; }
Metas like(const Args& a) {
  const Meta& x = a.tensor("self");
  return {Meta(a.optional_dtype("dtype").value_or(x.dtype), x.shape)};
}
Metas fresh(const Args& a) { return {Meta(a.optional_dtype("dtype").value_or(a.tensor("self").dtype), size_of(a))}; }
Metas fill(const Args& a) { return {a.tensor("self").like()}; }

Bound bind(const Args& a, const Metas& outputs) {
  return bind_filling(outputs[0], item_bytes(value_of(a), outputs[0].dtype));
}

// fill.Tensor: the value is read when it runs.
Metas fill_tensor(const Args& a) {
  const Meta& value = a.tensor("value");
  require(value.rank() == 0, Code::shape, "fill: value must be 0-d, it is {}", to_string(value));
  copy_run(value.dtype, a.tensor("self").dtype);  // refuses complex to real
  return fill(a);
}
Bound bind_fill_tensor(const Args& a, const Metas& outputs) {
  const CopyRun convert = copy_run(a.tensor("value").dtype, outputs[0].dtype);
  const int64_t n = outputs[0].numel(), size = itemsize(outputs[0].dtype);
  return [=](const Run& r) {
    parallel_rows(r.team, n, kChunkBytes / size, [&](int64_t begin, int64_t end) {
      convert(r.in<std::byte>(1), 0, r.out<std::byte>(0) + begin * size, 1, end - begin);
    });
  };
}

Cost cost(const Args&, const Metas& outputs) { return {0, outputs[0].bytes(), 0, 0}; }

template <InferFn infer>
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>&) {
  const Meta out = infer(a)[0];
  const Scalar value = value_of(a);
  Tensor one;
  std::visit([&](auto v) { one = Tensor::scalar(v); }, value.value);
  return {one.to(out.dtype).expand(out.shape).contiguous()};
}
std::vector<Tensor> fill_tensor_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {x[1].to(a.tensor("self").dtype).expand(x[0].shape()).contiguous()};
}

void size_samples(SampleSink& s) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 4}, Shape{70000}}) s.add({ints(shape)});
  for (DType dtype : {DType::int32, DType::bool_, DType::bfloat16, DType::complex64, DType::float64, DType::uint8})
    s.add({ints({2, 3})}, {{"dtype", val(dtype)}});
  s.error(Code::shape, {"-3"}, {ints({2, -3})});
  s.error(Code::shape, {"[4294967296, 4294967296]"}, {ints({4294967296, 4294967296})});
}
void full_samples(SampleSink& s) {
  s.add({ints({2, 3}), val(1.5)});
  s.add({ints({2, 3}), val(7)});
  s.add({ints({}), val(true)});
  s.add({ints({0}), val(1)});
  s.add({ints({3}), val(int64_t{9007199254740993})});  // no double holds it
  s.add({ints({40000}), val(0.1)}, {{"dtype", val(DType::float16)}});
  s.add({ints({2}), Value(std::complex<double>(1, -2))});
  s.add({ints({3}), val(-1)}, {{"dtype", val(DType::uint8)}});
  s.add({ints({3}), val(1e300)}, {{"dtype", val(DType::float32)}});
  s.error(Code::shape, {"full", "-1"}, {ints({-1}), val(1)});
}
void like_samples(SampleSink& s) {
  s.add({randn({2, 3})});
  s.add({strided(randn({4, 5}))});
  s.add({rand_ints({3}, 0, 5)});
  s.add({randn({0})});
  s.add({randn({})}, {{"dtype", val(DType::int16)}});
}
void full_like_samples(SampleSink& s) {
  s.add({randn({2, 3}), val(2.5)});
  s.add({rand_ints({3}, 0, 5), val(-4)});
  s.add({randn({3}), val(2)}, {{"dtype", val(DType::bool_)}});
}
void new_samples(SampleSink& s) {
  s.add({randn({2}), ints({3, 2})});
  s.add({rand_ints({2}, 0, 3), ints({})});
  s.add({randn({2}), ints({0, 3})}, {{"dtype", val(DType::int8)}});
  s.error(Code::shape, {"-1"}, {randn({2}), ints({-1})});
}
void new_full_samples(SampleSink& s) {
  s.add({randn({2}), ints({3, 2}), val(4)});
  s.add({rand_ints({2}, 0, 3), ints({2}), val(2.9)});
}
void scalar_samples(SampleSink& s) {
  s.add({val(2.5)});
  s.add({val(7)}, {{"dtype", val(DType::int64)}});
  s.add({val(true)});
}
void fill_samples(SampleSink& s) {
  s.add({randn({2, 3}), val(2.5)});
  s.add({strided(randn({4, 5})), val(-1)});
  s.add({rand_ints({3}, 0, 9), val(2.9)});
  s.add({randn({0}), val(1)});
}
void fill_tensor_samples(SampleSink& s) {
  s.add({randn({2, 3}), randn({})});
  s.add({rand_ints({3}, 0, 9), Tensor::scalar<double>(2.9)});
  s.error(Code::shape, {"value", "[1]"}, {randn({2}), randn({1})});
}

template <InferFn infer>
OpDecl op(const char* schema, SamplesFn samples) {
  OpDecl out = movement_op(schema, infer, {cpu("fill_cpu", bind, true)}, oracle<infer>, samples);
  out.cost = cost;
  return out;
}

// ONNX ConstantOfShape: a tensor attribute of one element; float32 0 when absent.
void import_constant_of_shape(Importing& node) {
  const Tensor value = node.has("value") ? node.tensor("value") : Tensor::zeros({1}, DType::float32);
  if (value.numel() != 1)
    node.unsupported("ConstantOfShape with a value of " + std::to_string(value.numel()) + " elements");
  Value fill;
  if (is_floating(value.dtype()))
    fill = value.item();
  else if (value.dtype() == DType::bool_)
    fill = value.item_int() != 0;
  else
    fill = value.item_int();
  node.output(0, node.emit("aten::full", {FromTensor{node.input(0)}, fill}, {{"dtype", value.dtype()}}));
}
// Inference: the data passes, the mask keeps everything.
void import_dropout(Importing& node) {
  if (node.has_input(2)) {
    const Tensor* training = node.constant(node.input(2));
    if (!training) node.unsupported("Dropout whose training_mode is not a constant");
    if (training->item_int() != 0) node.unsupported("Dropout with training_mode true");
  }
  // Without training neither has an effect; an attribute that nobody asks for would be refused.
  for (const char* attribute : {"ratio", "seed"}) static_cast<void>(node.has(attribute));
  if (node.wants_output(0)) node.output(0, node.emit("aten::alias", {node.input(0)}));
  if (node.wants_output(1))
    node.output(1, node.emit("aten::ones_like", {node.input(0)},
                             {{"dtype", node.opset() < 10 && node.dtype(node.input(0)) ? *node.dtype(node.input(0))
                                                                                       : DType::bool_}}));
}

}  // namespace

namespace decls {
Decls full() {
  Decls out = {
      op<sized>("aten::zeros(int[] size, *, ScalarType? dtype=None) -> Tensor", size_samples),
      op<sized>("aten::ones(int[] size, *, ScalarType? dtype=None) -> Tensor", size_samples),
      op<sized>("aten::empty(int[] size, *, ScalarType? dtype=None) -> Tensor", size_samples),
      op<sized>("aten::full(int[] size, Scalar fill_value, *, ScalarType? dtype=None) -> Tensor", full_samples),
      op<scalar_tensor>("aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None) -> Tensor", scalar_samples),
      op<like>("aten::zeros_like(Tensor self, *, ScalarType? dtype=None) -> Tensor", like_samples),
      op<like>("aten::ones_like(Tensor self, *, ScalarType? dtype=None) -> Tensor", like_samples),
      op<like>("aten::empty_like(Tensor self, *, ScalarType? dtype=None) -> Tensor", like_samples),
      op<like>("aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None) -> Tensor",
               full_like_samples),
      op<fresh>("aten::new_zeros(Tensor self, int[] size, *, ScalarType? dtype=None) -> Tensor", new_samples),
      op<fresh>("aten::new_ones(Tensor self, int[] size, *, ScalarType? dtype=None) -> Tensor", new_samples),
      op<fresh>("aten::new_empty(Tensor self, int[] size, *, ScalarType? dtype=None) -> Tensor", new_samples),
      op<fresh>("aten::new_full(Tensor self, int[] size, Scalar fill_value, *, ScalarType? dtype=None) -> Tensor",
                new_full_samples),
      op<fill>("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", fill_samples),
      movement_op("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", fill_tensor,
                  {cpu("fill_cpu", bind_fill_tensor, true)}, fill_tensor_oracle, fill_tensor_samples),
  };
  out[3].imports = {{"ConstantOfShape", import_constant_of_shape, 9}};
  out[6].imports = {{"Dropout", import_dropout, 7}};
  return out;
}
}  // namespace decls
}  // namespace nbx
