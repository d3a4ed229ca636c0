// SPDX-License-Identifier: Apache-2.0
// What the view ops share: metas that alias an operand, the kernel that copies where an alias is not wanted, and the
// oracle of every op that only moves elements.
#pragma once
#include <array>
#include <functional>

#include "ops/declare.h"
#include "ops/shape/strided_copy.h"

namespace nbx {

// The elements of operand `operand` read with other strides, `offset` elements from its first one.
Meta view_of(const Meta& x, int operand, Shape shape, Strides strides, int64_t offset = 0);

// `x` in another shape by ATen's view rule: an alias when the strides allow it, else a dense meta (the kernel copies).
Meta reshaped(const Meta& x, int operand, const Shape& shape);

// One axis of a view, changed: elements start, start + step, ... (length of them). step may be negative.
Meta axis_view(const Meta& x, int operand, int64_t dim, int64_t start, int64_t length, int64_t step);

// One region of an operand to one region of an output, in elements from the first one of each. Outputs are dense.
struct Move {
  int operand = 0, output = 0;
  Shape shape;
  Strides from_strides, to_strides;
  int64_t from = 0, to = 0;
};
// Runs the moves in order. Their targets do not overlap.
Bound bind_moves(const Args& args, const std::vector<Move>& moves);

// The bytes of a number as an element of `dtype`, ATen's conversion.
std::array<std::byte, 16> item_bytes(const Scalar& value, DType dtype);

// Copies what the infer function's metas say: aliases through their strides, others as the operand in row-major order.
Bound bind_copies(const Args& args, const Metas& views, const Metas& outputs);
template <InferFn infer>
Bound bind_view(const Args& args, const Metas& outputs) {
  return bind_copies(args, infer(args), outputs);
}

// An op that only moves bytes: exact, in any dtype.
OpDecl movement_op(std::string schema, InferFn infer, std::vector<Kernel> kernels, OracleFn oracle, SamplesFn samples);

// An op that answers with an alias where it can.
template <InferFn infer>
OpDecl view_op(std::string schema, OracleFn oracle, SamplesFn samples) {
  OpDecl op = movement_op(std::move(schema), infer, {cpu("strided_copy_cpu", bind_view<infer>, /*strided=*/true)},
                          oracle, samples);
  op.flags = kView;
  return op;
}

// Oracles: out[index] = x[source(index)], x dense; a source of -1 is `fill` (a number in x's dtype).
using SourceFn = std::function<int64_t(const Ints& index)>;
Tensor rearranged(const Tensor& x, const Shape& shape, const SourceFn& source, double fill = 0);
// The place of an index in a dense tensor.
int64_t place(const Shape& shape, const Ints& index);
// fn(index) for all indices, in row-major order.
void each_index(const Shape& shape, const std::function<void(const Ints& index)>& fn);

}  // namespace nbx
