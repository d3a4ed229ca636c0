// SPDX-License-Identifier: Apache-2.0
// Tensors joined along an axis: each operand is one region of the result.
#include <algorithm>

#include "base/check.h"
#include "dtype/rules.h"
#include "ops/shape/cat/cat.h"
#include "ops/shape/views.h"
#include "shape/strides.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

DType joined_dtype(const Args& a, const std::vector<const Meta*>& tensors) {
  require(!tensors.empty(), Code::value, "{}: the list of tensors is empty", a.op());
  std::vector<Operand> operands;
  bool same = true;
  for (const Meta* m : tensors) {
    operands.push_back(operand(*m));
    same = same && m->dtype == tensors[0]->dtype;
  }
  return same ? tensors[0]->dtype : op_dtypes("cat", operands).result;
}

// Before tensors had more than one empty shape, [0] stood for "nothing": ATen still skips it.
bool skipped(const Meta& m) { return m.rank() == 1 && m.shape[0] == 0; }

Metas cat(const Args& a) {
  const auto tensors = a.tensors("tensors");
  const DType dtype = joined_dtype(a, tensors);
  const Meta* first = nullptr;
  for (const Meta* m : tensors) {
    require(m->rank() > 0, Code::shape, "cat: a 0-d tensor ({}) cannot be joined; use stack", to_string(*m));
    if (!first && !skipped(*m)) first = m;
  }
  if (!first) {
    wrap_dim(a.integer("dim"), 1, "cat: dim");
    return {Meta(dtype, Shape{0})};
  }
  const int64_t dim = wrap_dim(a.integer("dim"), first->rank(), "cat: dim");
  Shape shape = first->shape;
  shape[dim] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Meta& m = *tensors[i];
    if (skipped(m)) continue;
    require(m.rank() == first->rank(), Code::shape, "cat: tensor {} has {} dims ({}), the first has {} ({})", i,
            m.rank(), to_string(m), first->rank(), to_string(*first));
    for (int64_t d = 0; d < m.rank(); ++d)
      require(d == dim || m.shape[d] == shape[d], Code::shape,
              "cat: tensor {} is {}, the first is {}; they may differ in dim {} only", i, to_string(m),
              to_string(*first), dim);
    shape[dim] += m.shape[dim];
  }
  return {Meta(dtype, shape)};
}

Metas stack(const Args& a) {
  const auto tensors = a.tensors("tensors");
  const DType dtype = joined_dtype(a, tensors);
  Shape shape = tensors[0]->shape;
  const int64_t dim = wrap_dim(a.integer("dim"), static_cast<int64_t>(shape.size()) + 1, "stack: dim");
  for (size_t i = 0; i < tensors.size(); ++i)
    require(tensors[i]->shape == tensors[0]->shape, Code::shape,
            "stack: tensor {} is {}, the first is {}; all must be equal", i, to_string(*tensors[i]),
            to_string(*tensors[0]));
  shape.insert(shape.begin() + dim, static_cast<int64_t>(tensors.size()));
  return {Meta(dtype, shape)};
}

// The result seen as (outer, along, inner); where each operand's part begins along it.
struct Parts {
  int64_t outer = 1, along = 0, inner = 1;
  std::vector<int64_t> starts, lengths;  // of each operand, 0 long when it gives nothing
};
template <bool stacked>
Parts parts_of(const Args& a, const Meta& out) {
  Parts p;
  const int64_t dim = wrap_dim(a.integer("dim"), out.rank(), "dim");
  for (int64_t d = 0; d < out.rank(); ++d) (d < dim ? p.outer : p.inner) *= d == dim ? 1 : out.shape[d];
  p.along = out.shape[dim];
  int64_t start = 0;
  for (const Meta* m : a.tensors("tensors")) {
    const int64_t length = stacked ? 1 : skipped(*m) ? 0 : m->shape[dim];
    p.starts.push_back(start);
    p.lengths.push_back(length);
    start += length;
  }
  return p;
}

template <bool stacked>
Bound bind_regions(const Args& a, const Metas& outputs) {
  const Meta& out = outputs[0];
  const Parts p = parts_of<stacked>(a, out);
  const int64_t dim = wrap_dim(a.integer("dim"), out.rank(), "dim");
  std::vector<Move> moves;
  for (size_t i = 0; i < p.starts.size(); ++i) {
    const Meta& m = a.operands()[i];
    if (p.lengths[i] == 0 || m.numel() == 0) continue;
    Move move{static_cast<int>(i), 0, m.shape, m.strides, out.strides, 0, p.starts[i] * out.strides[dim]};
    if (stacked) move.to_strides.erase(move.to_strides.begin() + dim);
    moves.push_back(move);
  }
  return bind_moves(a, moves);
}
Serves one_dtype(const Args& a) {
  for (const Meta& m : a.operands())
    if (m.dtype != a.operands()[0].dtype) return refuse("the operands have several dtypes");
  return yes;
}

// Mixed dtypes: every operand is dense, so its part of an outer row is one run; converted on the way.
template <bool stacked>
Bound bind_converting(const Args& a, const Metas& outputs) {
  const Meta& out = outputs[0];
  const Parts p = parts_of<stacked>(a, out);
  struct Piece {
    CopyRun run;
    int64_t start, length, from_size;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < p.starts.size(); ++i)
    pieces.push_back({copy_run(a.operands()[i].dtype, out.dtype), p.starts[i] * p.inner, p.lengths[i] * p.inner,
                      itemsize(a.operands()[i].dtype)});
  const int64_t row = p.along * p.inner, outer = row == 0 ? 0 : p.outer, size = itemsize(out.dtype);
  return [=](const Run& r) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      if (piece.length == 0) continue;
      const std::byte* from = r.in<std::byte>(static_cast<int>(i));
      std::byte* to = r.out<std::byte>(0);
      parallel_rows(r.team, outer, std::max<int64_t>(1, 16384 / piece.length), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o)
          piece.run(from + o * piece.length * piece.from_size, 1, to + (o * row + piece.start) * size, 1, piece.length);
      });
    }
  };
}

template <bool stacked>
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& x) {
  const Meta out = (stacked ? stack : cat)(a)[0];
  const int64_t rank = out.rank(), dim = (a.integer("dim") + rank) % rank;
  const DType dtype = is_floating(out.dtype) ? DType::float64 : out.dtype;
  std::vector<Tensor> wide;
  for (const Tensor& t : x) wide.push_back(t.to(dtype));
  Tensor result = Tensor::zeros(out.shape, dtype);
  int64_t start = 0;
  for (const Tensor& t : wide) {
    const Tensor part = stacked ? t.unsqueeze(dim) : t;
    if (part.rank() != rank) continue;  // the skipped [0]
    result.narrow(dim, start, part.dim(dim)).copy_(part);
    start += part.dim(dim);
  }
  return {result};
}

void import_concat(Importing& node) {
  TensorRefs tensors;
  for (int i = 0; i < node.inputs(); ++i) tensors.push_back(node.input(i));
  node.output(0, node.emit("aten::cat", {tensors, node.integer("axis", 1)}));
}

template <bool stacked>
std::vector<Kernel> kernels() {
  Kernel regions = cpu("regions_cpu", bind_regions<stacked>, /*strided=*/true);
  regions.serves = one_dtype;
  return {regions, cpu("converting_cpu", bind_converting<stacked>)};
}

}  // namespace

namespace decls {
Decls cat() {
  Decls out = {movement_op("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", nbx::cat, kernels<false>(),
                           oracle<false>, cat_samples),
               movement_op("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", stack, kernels<true>(), oracle<true>,
                           stack_samples)};
  out[0].aliases = {"aten::concat", "aten::concatenate"};
  out[0].imports = {{"Concat", import_concat, 1}};
  out[0].source = "ONNX Concat";
  return out;
}
}  // namespace decls
}  // namespace nbx
