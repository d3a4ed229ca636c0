// SPDX-License-Identifier: Apache-2.0
// Elements repeated, reversed, rotated: regions of the operand copied to regions of the result.
#include "ops/shape/repeat/repeat.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "ops/shape/views.h"
#include "shape/strides.h"

namespace nbx {
namespace {

// `times` and the operand's shape, both padded with leading ones to the longer of the two.
struct Repeats {
  Ints times;
  Shape shape;
};
Repeats repeats_of(const Args& a) {
  const Meta& x = a.tensor("self");
  const bool tile = a.op() == "tile";
  const char* param = tile ? "dims" : "repeats";
  Repeats r{a.ints(param), x.shape};
  require(tile || r.times.size() >= r.shape.size(), Code::shape,
          "repeat: repeats {} has fewer entries than self has dims ({})", to_string(r.times), to_string(x));
  for (int64_t t : r.times)
    require(t >= 0, Code::value, "{}: {} {} has a negative entry", a.op(), param, to_string(r.times));
  while (r.times.size() < r.shape.size()) r.times.insert(r.times.begin(), 1);
  while (r.shape.size() < r.times.size()) r.shape.insert(r.shape.begin(), 1);
  return r;
}
Metas repeat(const Args& a) {
  const Repeats r = repeats_of(a);
  Shape shape = r.shape;
  for (size_t d = 0; d < shape.size(); ++d)
    require(checked_mul(shape[d], r.times[d], shape[d]), Code::shape, "{}: {} times the extent {} is too large", a.op(),
            r.times[d], r.shape[d]);
  return {a.tensor("self").with(shape)};
}
// Each dim becomes (repeat, extent), the repeat with stride 0.
Bound bind_repeat(const Args& a, const Metas& outputs) {
  const Repeats r = repeats_of(a);
  const Meta& x = a.tensor("self");
  Move move;
  const size_t added = r.shape.size() - x.shape.size();
  for (size_t d = 0; d < r.shape.size(); ++d) {
    const int64_t step = outputs[0].strides[d];
    move.shape.push_back(r.times[d]);
    move.shape.push_back(r.shape[d]);
    move.from_strides.push_back(0);
    move.from_strides.push_back(d < added ? 0 : x.strides[d - added]);
    move.to_strides.push_back(step * r.shape[d]);
    move.to_strides.push_back(step);
  }
  return bind_moves(a, {move});
}
std::vector<Tensor> repeat_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {rearranged(x[0], repeat(a)[0].shape, [&](const Ints& index) {
    Ints from(index.end() - x[0].rank(), index.end());
    for (int64_t d = 0; d < x[0].rank(); ++d) from[d] %= x[0].dim(d);
    return place(x[0].shape(), from);
  })};
}

Metas flip(const Args& a) {
  wrap_dims(a.ints("dims"), a.tensor("self").rank(), "flip: dims");
  return {a.tensor("self").like()};
}
Bound bind_flip(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  Move move{0, 0, x.shape, x.strides, outputs[0].strides};
  if (x.numel() == 0 || x.rank() == 0) return bind_moves(a, {move});
  for (int64_t d : wrap_dims(a.ints("dims"), x.rank(), "flip: dims")) {
    move.from += (x.shape[d] - 1) * x.strides[d];
    move.from_strides[d] = -x.strides[d];
  }
  return bind_moves(a, {move});
}
std::vector<Tensor> flip_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {rearranged(x[0], x[0].shape(), [&](Ints index) {
    if (x[0].rank() > 0)
      for (int64_t d : a.ints("dims")) {
        const int64_t at = (d + x[0].rank()) % x[0].rank();
        index[at] = x[0].dim(at) - 1 - index[at];
      }
    return place(x[0].shape(), index);
  })};
}

// How far each dim is rotated, in [0, extent); without dims the tensor is rotated as one flat row.
struct Shifts {
  Shape shape;
  Ints shift;
};
Shifts shifts_of(const Args& a, const Meta& x) {
  const Ints shifts = a.ints("shifts"), dims = a.ints("dims");
  require(!shifts.empty(), Code::value, "roll: shifts is empty");
  if (dims.empty() && shifts.size() == 1) {
    const int64_t n = x.numel();
    return {Shape{n}, Ints{n > 0 ? (shifts[0] % n + n) % n : 0}};
  }
  require(shifts.size() == dims.size(), Code::shape, "roll: {} shifts {} for {} dims {}", shifts.size(),
          to_string(shifts), dims.size(), to_string(dims));
  require(x.rank() > 0, Code::index, "roll: self is 0-d; dims {} do not exist", to_string(dims));
  Shifts s{x.shape, Ints(x.shape.size(), 0)};
  for (size_t i = 0; i < dims.size(); ++i) {  // a dim may come twice
    const int64_t d = wrap_dim(dims[i], x.rank(), "roll: dims"), n = std::max<int64_t>(x.shape[d], 1);
    s.shift[d] = ((s.shift[d] + shifts[i] % n) % n + n) % n;
  }
  return s;
}
Metas roll(const Args& a) {
  shifts_of(a, a.tensor("self"));
  return {a.tensor("self").like()};
}
// A rotated dim is two regions, so k of them are 2^k; the operand is dense.
Bound bind_roll(const Args& a, const Metas&) {
  const Shifts s = shifts_of(a, a.tensor("self"));
  const Strides strides = contiguous_strides(s.shape);
  std::vector<Move> moves = {Move{0, 0, s.shape, strides, strides}};
  for (size_t d = 0; d < s.shape.size(); ++d) {
    if (s.shift[d] == 0) continue;
    std::vector<Move> cut;
    for (const Move& m : moves) {
      Move head = m, tail = m;  // [0, n - shift) moves up by shift; the last `shift` elements come first
      head.shape[d] -= s.shift[d];
      head.to += s.shift[d] * strides[d];
      tail.shape[d] = s.shift[d];
      tail.from += (s.shape[d] - s.shift[d]) * strides[d];
      cut.push_back(head);
      cut.push_back(tail);
    }
    moves = std::move(cut);
  }
  return bind_moves(a, moves);
}
std::vector<Tensor> roll_oracle(const Args& a, const std::vector<Tensor>& operands) {
  const Ints shifts = a.ints("shifts"), dims = a.ints("dims");
  Tensor x = dims.empty() ? operands[0].view({operands[0].numel()}) : operands[0];
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int64_t d = dims.empty() ? 0 : (dims[i] + x.rank()) % x.rank(), n = x.dim(d);
    x = rearranged(x, x.shape(), [&](Ints index) {
      index[d] = ((index[d] - shifts[i]) % n + n) % n;
      return place(x.shape(), index);
    });
  }
  return {x.view(operands[0].shape())};
}

// repeat_interleave: the axis repeated element by element. Without dim: of the flattened tensor.
struct Interleave {
  Shape shape;  // of self, flattened when dim is None
  int64_t dim = 0;
};
Interleave interleave_of(const Args& a) {
  const Meta& x = a.tensor("self");
  if (!a.has("dim")) return {Shape{x.numel()}, 0};
  if (x.rank() == 0) {
    wrap_dim(a.integer("dim"), 0, "repeat_interleave: dim");
    return {Shape{1}, 0};
  }
  return {x.shape, wrap_dim(a.integer("dim"), x.rank(), "repeat_interleave: dim")};
}
void check_output_size(const Args& a, int64_t total) {
  require(!a.has("output_size") || a.integer("output_size") == total, Code::shape,
          "repeat_interleave: output_size is {}, the repeats give {}", a.integer("output_size"), total);
}
Metas interleave_int(const Args& a) {
  Interleave i = interleave_of(a);
  const int64_t times = a.integer("repeats");
  require(times >= 0, Code::value, "repeat_interleave: repeats is {}; it must not be negative", times);
  require(checked_mul(i.shape[i.dim], times, i.shape[i.dim]), Code::shape, "repeat_interleave: {} repeats are too many",
          times);
  if (a.has("output_size")) check_output_size(a, i.shape[i.dim]);
  return {a.tensor("self").with(i.shape)};
}
Bound bind_interleave_int(const Args& a, const Metas& outputs) {
  const Interleave i = interleave_of(a);
  const int64_t times = a.integer("repeats");
  Move move{0, 0, i.shape, contiguous_strides(i.shape), outputs[0].strides};
  const int64_t step = outputs[0].strides[i.dim];
  move.to_strides[i.dim] = step * times;
  move.shape.insert(move.shape.begin() + i.dim + 1, times);
  move.from_strides.insert(move.from_strides.begin() + i.dim + 1, 0);
  move.to_strides.insert(move.to_strides.begin() + i.dim + 1, step);
  return bind_moves(a, {move});
}
// The number of times each element comes, from the tensor.
Ints counts_of(const Args& a, int64_t extent) {
  const Meta& r = a.tensor("repeats");
  require(r.dtype == DType::int64 || r.dtype == DType::int32, Code::dtype,
          "repeat_interleave: repeats must be int32 or int64, not {}", name(r.dtype));
  require(r.rank() <= 1, Code::shape, "repeat_interleave: repeats must have at most one dim, not {}", to_string(r));
  require(r.known.defined(), Code::internal, "repeat_interleave: the values of repeats are not known");
  const std::vector<int64_t> values = r.known.to_ints();
  Ints counts(values.begin(), values.end());
  if (extent >= 0 && counts.size() == 1) counts.assign(static_cast<size_t>(extent), values[0]);
  require(extent < 0 || static_cast<int64_t>(counts.size()) == extent, Code::shape,
          "repeat_interleave: {} repeats for an extent of {}", counts.size(), extent);
  for (size_t k = 0; k < counts.size(); ++k)
    require(counts[k] >= 0, Code::value, "repeat_interleave: repeats[{}] is {}; it must not be negative", k, counts[k]);
  return counts;
}
int64_t sum(const Ints& counts) {
  int64_t total = 0;
  for (int64_t c : counts)
    require(checked_add(total, c, total), Code::shape, "repeat_interleave: the sum of repeats is too large");
  return total;
}
Metas interleave_tensor(const Args& a) {
  Interleave i = interleave_of(a);
  const int64_t total = sum(counts_of(a, i.shape[i.dim]));
  if (a.has("output_size")) check_output_size(a, total);
  i.shape[i.dim] = total;
  return {a.tensor("self").with(i.shape)};
}
Bound bind_interleave_tensor(const Args& a, const Metas& outputs) {
  const Interleave i = interleave_of(a);
  const Ints counts = counts_of(a, i.shape[i.dim]);
  int64_t outer = 1, inner = itemsize(outputs[0].dtype);
  for (size_t d = 0; d < i.shape.size(); ++d)
    if (static_cast<int64_t>(d) != i.dim) (static_cast<int64_t>(d) < i.dim ? outer : inner) *= i.shape[d];
  if (outputs[0].numel() == 0) outer = 0;
  return [=](const Run& r) {
    const int64_t rows = static_cast<int64_t>(counts.size()), total = sum(counts);
    parallel_rows(r.team, outer, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, total * inner)),
                  [&](int64_t b, int64_t e) {
                    for (int64_t o = b; o < e; ++o) {
                      std::byte* to = r.out<std::byte>(0) + o * total * inner;
                      for (int64_t k = 0; k < rows; ++k)
                        for (int64_t n = 0; n < counts[k]; ++n, to += inner)
                          std::copy_n(r.in<std::byte>(0) + (o * rows + k) * inner, inner, to);
                    }
                  });
  };
}
// Index k, repeats[k] times.
Metas repeats(const Args& a) {
  const int64_t total = sum(counts_of(a, -1));
  if (a.has("output_size")) check_output_size(a, total);
  require(a.tensor("repeats").rank() == 1, Code::shape, "repeat_interleave: repeats must have one dim, not {}",
          to_string(a.tensor("repeats")));
  return {Meta(a.tensor("repeats").dtype, Shape{total})};
}
Bound bind_repeats(const Args& a, const Metas& outputs) {
  const Ints counts = counts_of(a, -1);
  const bool wide = outputs[0].dtype == DType::int64;
  return [=](const Run& r) {
    int64_t at = 0;
    for (size_t k = 0; k < counts.size(); ++k)
      for (int64_t n = 0; n < counts[k]; ++n, ++at) {
        if (wide)
          r.out<int64_t>(0)[at] = static_cast<int64_t>(k);
        else
          r.out<int32_t>(0)[at] = static_cast<int32_t>(k);
      }
  };
}
template <bool tensor>
std::vector<Tensor> interleave_oracle(const Args& a, const std::vector<Tensor>& x) {
  const Interleave i = interleave_of(a);
  const std::vector<int64_t> given = tensor ? x[1].to_ints() : std::vector<int64_t>{a.integer("repeats")};
  std::vector<int64_t> source;
  for (int64_t k = 0; k < i.shape[i.dim]; ++k)
    for (int64_t n = 0; n < given[given.size() == 1 ? 0 : static_cast<size_t>(k)]; ++n) source.push_back(k);
  Shape shape = i.shape;
  shape[i.dim] = static_cast<int64_t>(source.size());
  return {rearranged(x[0], shape, [&](Ints index) {
    index[i.dim] = source[static_cast<size_t>(index[i.dim])];
    return place(i.shape, index);
  })};
}
std::vector<Tensor> repeats_oracle(const Args& a, const std::vector<Tensor>& x) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < x[0].numel(); ++k)
    for (int64_t n = 0; n < x[0].to_ints()[static_cast<size_t>(k)]; ++n) out.push_back(k);
  return {Tensor::of<int64_t>({static_cast<int64_t>(out.size())}, out).to(a.tensor("repeats").dtype)};
}

void import_tile(Importing& node) {
  node.output(0, node.emit("aten::repeat", {node.input(0), FromTensor{node.input(1)}}));
}

}  // namespace

namespace decls {
Decls repeat() {
  Decls out = {
      movement_op("aten::repeat(Tensor self, int[] repeats) -> Tensor", nbx::repeat,
                  {cpu("strided_copy_cpu", bind_repeat, true)}, repeat_oracle, repeat_samples),
      movement_op("aten::tile(Tensor self, int[] dims) -> Tensor", nbx::repeat,
                  {cpu("strided_copy_cpu", bind_repeat, true)}, repeat_oracle, tile_samples),
      movement_op("aten::flip(Tensor self, int[] dims) -> Tensor", flip, {cpu("strided_copy_cpu", bind_flip, true)},
                  flip_oracle, flip_samples),
      movement_op("aten::roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", roll,
                  {cpu("regions_cpu", bind_roll)}, roll_oracle, roll_samples),
      movement_op(
          "aten::repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> "
          "Tensor",
          interleave_int, {cpu("strided_copy_cpu", bind_interleave_int)}, interleave_oracle<false>,
          repeat_interleave_int_samples),
      movement_op("aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? "
                  "output_size=None) -> Tensor",
                  interleave_tensor, {cpu("runs_cpu", bind_interleave_tensor)}, interleave_oracle<true>,
                  repeat_interleave_tensor_samples),
      movement_op("aten::repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor", repeats,
                  {cpu("runs_cpu", bind_repeats)}, repeats_oracle, repeats_samples),
  };
  out[0].imports = {{"Tile", import_tile, 6}};
  out[0].source = "ONNX Tile";
  out[5].flags |= kDynamic;
  out[6].flags |= kDynamic;
  return out;
}
}  // namespace decls
}  // namespace nbx
