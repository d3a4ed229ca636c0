// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/views.h"

#include <cstring>

#include "shape/view_rule.h"
#include "tensor/copy.h"

namespace nbx {

Meta view_of(const Meta& x, int operand, Shape shape, Strides strides, int64_t offset) {
  Meta out;
  out.dtype = x.dtype;
  out.shape = std::move(shape);
  out.strides = std::move(strides);
  out.alias = operand;
  out.offset = offset;
  return out;
}

Meta reshaped(const Meta& x, int operand, const Shape& shape) {
  if (auto strides = view_strides(x.shape, x.strides, shape)) return view_of(x, operand, shape, *strides);
  return x.with(shape);
}

Meta axis_view(const Meta& x, int operand, int64_t dim, int64_t start, int64_t length, int64_t step) {
  Shape shape = x.shape;
  Strides strides = x.strides;
  const int64_t offset = start * strides[dim];
  shape[dim] = length;
  strides[dim] *= step;
  return view_of(x, operand, std::move(shape), std::move(strides), offset);
}

Bound bind_moves(const Args& args, const std::vector<Move>& moves) {
  struct Bytes {
    int operand, output;
    int64_t from, to;
    StridedCopy copy;
  };
  std::vector<Bytes> plan;
  for (const Move& m : moves) {
    const int size = itemsize(args.operands()[static_cast<size_t>(m.operand)].dtype);
    plan.push_back(
        {m.operand, m.output, m.from * size, m.to * size, StridedCopy(m.shape, m.from_strides, m.to_strides, size)});
  }
  return [plan = std::move(plan)](const Run& r) {
    for (const Bytes& b : plan) b.copy(r.in<std::byte>(b.operand) + b.from, r.out<std::byte>(b.output) + b.to, r.team);
  };
}

Bound bind_copies(const Args& args, const Metas& views, const Metas& outputs) {
  std::vector<Move> moves;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].alias >= 0) continue;
    const Meta& view = views[i];
    const bool whole = view.alias < 0;  // a meta without alias is the operand itself in row-major order
    const int operand = whole ? 0 : view.alias;
    const Meta& source = whole ? args.operands()[0] : view;
    moves.push_back({operand, static_cast<int>(i), source.shape, source.strides, contiguous_strides(source.shape),
                     whole ? 0 : view.offset, 0});
  }
  return bind_moves(args, moves);
}

std::array<std::byte, 16> item_bytes(const Scalar& value, DType dtype) {
  std::array<std::byte, 16> out{};
  std::visit(
      [&](auto v) {
        copy_run(dtype_of<decltype(v)>::value, dtype)(reinterpret_cast<const std::byte*>(&v), 1, out.data(), 1, 1);
      },
      value.value);
  return out;
}

OpDecl movement_op(std::string schema, InferFn infer, std::vector<Kernel> kernels, OracleFn oracle, SamplesFn samples) {
  OpDecl op;
  op.schema = std::move(schema);
  op.infer = infer;
  op.cost = copy_cost;
  op.keys = shape_keys;
  op.kernels = std::move(kernels);
  op.oracle = oracle;
  op.samples = samples;
  op.tolerance = exact();
  op.dtypes = {DType::float32, DType::bfloat16, DType::float64, DType::int64, DType::uint8, DType::bool_};
  return op;
}

int64_t place(const Shape& shape, const Ints& index) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

void each_index(const Shape& shape, const std::function<void(const Ints& index)>& fn) {
  if (numel(shape) == 0) return;
  Ints index(shape.size());
  for (;;) {
    fn(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

Tensor rearranged(const Tensor& x, const Shape& shape, const SourceFn& source, double fill) {
  Tensor out = Tensor::full(shape, fill, x.dtype());
  if (out.numel() == 0) return out;
  const int size = itemsize(x.dtype());
  const std::byte* from = static_cast<const std::byte*>(x.raw());
  std::byte* to = static_cast<std::byte*>(out.raw_mutable());
  each_index(shape, [&](const Ints& index) {
    if (const int64_t at = source(index); at >= 0) std::memcpy(to, from + at * size, size);
    to += size;
  });
  return out;
}

}  // namespace nbx
