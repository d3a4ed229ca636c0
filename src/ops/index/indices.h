// SPDX-License-Identifier: Apache-2.0
// The two engines of the family. Indices are read once a launch: checked, wrapped where the op wraps, widened to int64
// in the workspace. Then every op is one walk: out[i] = x[base(i) + index(i) * pace], or the same the other way round.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/declare.h"
#include "ops/shape/views.h"

namespace nbx {

// One index tensor (an operand, dense) and the extent it must stay inside. Without an operand: the place itself, with
// `strides` adding up to an offset.
struct IndexSource {
  int operand = -1;
  DType dtype = DType::int64;
  Shape shape;  // for the position in messages
  int64_t extent = 0;
  int64_t pace = 1;   // with several sources: what one step of this one adds to the offset
  Strides strides;    // with several sources: reads the operand as one of the common shape
  int64_t first = 0;  // with several sources: the operand's first element
  bool wrap = false;  // negative indices count from the end
  std::string what;   // "dim 1"
};

// How a launch gets its index values: one source, or several added up, and a base for each position (batched GatherND).
struct IndexReader {
  std::string op;
  std::vector<IndexSource> sources;
  Shape shape;  // of the values, row-major
  int64_t count = 0;
  bool added = false;                                 // offsets: paces and bases count, even with one source
  std::shared_ptr<const std::vector<int64_t>> fixed;  // known when bound; then there are no sources

  // Error (index) naming the op, the index, its position and the extent; the first one in row-major order.
  void read(const Run& r, int64_t* values) const;
  int64_t bytes() const;  // of `values`, aligned
};
IndexReader single_index(const Args& a, const char* param, int64_t extent, bool wrap, std::string what);
bool is_index(DType dtype);
// Error (dtype) naming op and dtype; `narrow` allows uint8 as numbers.
void require_index(const Args& a, const Meta& index, const char* param, bool narrow = false);

// out[i] = x[base(i) + values[place(i)] * pace] for i over `walk`; out is dense.
struct GatherSpec {
  IndexReader index;
  int operand = 0;
  int itemsize = 1;
  int64_t pace = 1;
  Shape walk;
  Strides places;  // into the values
  Strides base;    // into x
};
Bound bind_gather(const GatherSpec& spec);

enum class Reduce { assign, add, mul, max, min };

// target[base(i) + values[place(i)] * pace] op= source(i), source order. Two sources may meet along the dims
// [dim, dim + ordered_dims) of `walk` only; all other dims lead to different targets.
struct ScatterSpec {
  IndexReader index;
  DType dtype = DType::float32;
  int64_t numel = 0;  // of the target, which starts as a copy of operand `self`
  int self = 0;
  int source = -1;  // operand, or -1: `constant`
  std::array<std::byte, 16> constant{};
  int64_t pace = 1;
  Shape walk;
  int64_t dim = 0, ordered_dims = 1;
  Strides places, base, from;  // into values, target, source
  Reduce reduce = Reduce::assign;
  bool mean = false;                  // with add: divide by the number of sources
  bool include_self = true;           // else a target that is met starts from nothing
  Scalar alpha = Scalar{int64_t{1}};  // with add
};
Bound bind_scatter(const ScatterSpec& spec);
int64_t scatter_workspace(const ScatterSpec& spec);

// Half and float8 sums are made in float32, with one rounding at the end.
DType accumulator(DType dtype);

using GatherFn = GatherSpec (*)(const Args&);
template <GatherFn spec>
Kernel gather_kernel() {
  Kernel k = cpu("gather_cpu", [](const Args& a, const Metas& outputs) {
    if (outputs[0].numel() == 0)
      return Bound([reader = spec(a).index](const Run& r) {
        reader.read(r, reinterpret_cast<int64_t*>(r.workspace));  // still checked
      });
    return bind_gather(spec(a));
  });
  k.workspace = [](const Args& a) { return spec(a).index.bytes(); };
  return k;
}
// What the gather ops of the family declare beside schema, infer, oracle and samples.
template <GatherFn spec>
OpDecl gather_op(std::string schema, InferFn infer, OracleFn oracle, SamplesFn samples) {
  OpDecl op = movement_op(std::move(schema), infer, {gather_kernel<spec>()}, oracle, samples);
  op.cost = [](const Args& a, const Metas& outputs) {
    Cost c = copy_cost(a, outputs);
    c.read = c.written;  // what is picked, and the indices; not all of x
    for (const IndexSource& s : spec(a).index.sources)
      if (s.operand >= 0) c.read += a.operands()[static_cast<size_t>(s.operand)].bytes();
    c.workspace = spec(a).index.bytes();
    return c;
  };
  return op;
}
using ScatterFn = ScatterSpec (*)(const Args&);
template <ScatterFn spec>
Kernel scatter_kernel() {
  Kernel k = cpu("scatter_cpu", [](const Args& a, const Metas&) { return bind_scatter(spec(a)); });
  k.workspace = [](const Args& a) { return scatter_workspace(spec(a)); };
  return k;
}

template <ScatterFn spec>
OpDecl scatter_op(std::string schema, InferFn infer, OracleFn oracle, SamplesFn samples) {
  OpDecl op = movement_op(std::move(schema), infer, {scatter_kernel<spec>()}, oracle, samples);
  op.cost = [](const Args& a, const Metas& outputs) {
    const ScatterSpec s = spec(a);
    Cost c = copy_cost(a, outputs);
    c.workspace = scatter_workspace(s);
    if (s.reduce != Reduce::assign) c.flops = numel(s.walk);
    return c;
  };
  op.flags |= kInPlace;
  return op;
}

}  // namespace nbx
