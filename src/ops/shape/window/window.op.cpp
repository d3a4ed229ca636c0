// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor as views: ranges, steps, single indices, pieces, sliding windows, diagonals.
#include "ops/shape/window/window.h"

#include <algorithm>

#include "base/check.h"
#include "ops/shape/views.h"
#include "shape/strides.h"

namespace nbx {
namespace {

int64_t axis_of(const Args& a, const char* param = "dim") {
  const Meta& x = a.tensor("self");
  require(x.rank() > 0, Code::shape, "{}: self is 0-d; it has no axis to cut", a.op());
  return wrap_dim(a.integer(param), x.rank(), a.op() + ": " + param);
}
Meta part(const Args& a, int64_t dim, int64_t start, int64_t length, int64_t step = 1) {
  return axis_view(a.tensor("self"), a.operand("self"), dim, start, length, step);
}

Metas narrow_from(const Args& a, int64_t start) {
  const Meta& x = a.tensor("self");
  const int64_t dim = axis_of(a), extent = x.shape[dim], length = a.integer("length");
  require(length >= 0, Code::value, "narrow: length {} is negative", length);
  require(start >= -extent && start <= extent, Code::index, "narrow: start {} is outside [{}, {}] in dim {} of {}",
          start, -extent, extent, dim, to_string(x));
  if (start < 0) start += extent;
  require(length <= extent - start, Code::index, "narrow: start {} + length {} exceeds the extent {} of dim {} ({})",
          start, length, extent, dim, to_string(x));
  return {part(a, dim, start, length)};
}
Metas narrow(const Args& a) { return narrow_from(a, a.integer("start")); }
Metas narrow_tensor(const Args& a) {
  const Meta& start = a.tensor("start");
  require(start.rank() == 0 && is_integral(start.dtype), Code::shape,
          "narrow: start must be a 0-d integer tensor, not {}", to_string(start));
  require(start.known.defined(), Code::internal, "narrow: the value of start is not known");
  return narrow_from(a, start.known.item_int());
}

Metas slice(const Args& a) {
  const Meta& x = a.tensor("self");
  const int64_t dim = axis_of(a), step = a.integer("step");
  require(step > 0, Code::value, "slice: step {} is not positive", step);
  std::optional<int64_t> start, end;
  if (a.has("start")) start = a.integer("start");
  if (a.has("end")) end = a.integer("end");
  const Slice range = slice_of(x.shape[dim], start, end, step);
  return {part(a, dim, range.start, range.length, step)};
}

Meta selected(const Args& a, int64_t dim, int64_t index) {
  Meta out = part(a, dim, index, 1);
  out.shape.erase(out.shape.begin() + dim);
  out.strides.erase(out.strides.begin() + dim);
  return out;
}
Metas select(const Args& a) {
  const Meta& x = a.tensor("self");
  const int64_t dim = axis_of(a), extent = x.shape[dim], index = a.integer("index");
  require(index >= -extent && index < extent, Code::index, "select: index {} is outside [{}, {}] in dim {} of {}",
          index, -extent, extent - 1, dim, to_string(x));
  return {selected(a, dim, index < 0 ? index + extent : index)};
}
Metas unbind(const Args& a) {
  const int64_t dim = axis_of(a);
  Metas out;
  for (int64_t i = 0; i < a.tensor("self").shape[dim]; ++i) out.push_back(selected(a, dim, i));
  return out;
}

Metas pieces(const Args& a, int64_t dim, int64_t size) {
  const int64_t extent = a.tensor("self").shape[dim];
  Metas out;
  for (int64_t start = 0; start < extent; start += size) {
    const int64_t length = std::min(size, extent - start);
    out.push_back(part(a, dim, start, length));
    if (length < size) break;  // start + size could overflow
  }
  if (out.empty()) out.push_back(part(a, dim, 0, 0));
  return out;
}
Metas split(const Args& a) {
  const int64_t dim = axis_of(a), size = a.integer("split_size"), extent = a.tensor("self").shape[dim];
  require(size >= 0, Code::value, "split: split_size {} is negative", size);
  require(size > 0 || extent == 0, Code::value, "split: split_size 0 never covers the extent {} of dim {}", extent,
          dim);
  return pieces(a, dim, std::max<int64_t>(size, 1));
}
Metas chunk(const Args& a) {
  const int64_t dim = axis_of(a), chunks = a.integer("chunks"), extent = a.tensor("self").shape[dim];
  require(chunks > 0, Code::value, "chunk: chunks is {}; ask for at least one", chunks);
  if (extent == 0) return Metas(static_cast<size_t>(chunks), part(a, dim, 0, 0));
  return pieces(a, dim, extent / chunks + (extent % chunks > 0));
}
Metas sized(const Args& a, int64_t dim, const Ints& sizes, const char* param) {
  const Meta& x = a.tensor("self");
  int64_t start = 0;
  Metas out;
  for (int64_t size : sizes) {
    require(size >= 0, Code::value, "{}: {} {} has a negative entry", a.op(), param, to_string(sizes));
    require(size <= x.shape[dim] - start, Code::shape, "{}: {} {} exceeds the extent {} of dim {} ({})", a.op(), param,
            to_string(sizes), x.shape[dim], dim, to_string(x));
    out.push_back(part(a, dim, start, size));
    start += size;
  }
  require(start == x.shape[dim], Code::shape, "{}: {} {} sums to {}, the extent of dim {} is {} ({})", a.op(), param,
          to_string(sizes), start, dim, x.shape[dim], to_string(x));
  return out;
}
Metas split_sizes(const Args& a) { return sized(a, axis_of(a), a.ints("split_size"), "split_size"); }
Metas split_with_sizes(const Args& a) { return sized(a, axis_of(a), a.ints("split_sizes"), "split_sizes"); }

Metas unfold(const Args& a) {
  const Meta& x = a.tensor("self");
  const int64_t size = a.integer("size"), step = a.integer("step"), op = a.operand("self");
  require(size >= 0, Code::value, "unfold: size {} is negative", size);
  require(step > 0, Code::value, "unfold: step {} is not positive", step);
  if (x.rank() == 0) {
    wrap_dim(a.integer("dimension"), 0, "unfold: dimension");
    require(size <= 1, Code::shape, "unfold: size {} exceeds the one element of a 0-d tensor", size);
    return {view_of(x, static_cast<int>(op), Shape{size}, Strides{1})};
  }
  const int64_t dim = wrap_dim(a.integer("dimension"), x.rank(), "unfold: dimension");
  require(size <= x.shape[dim], Code::shape, "unfold: size {} exceeds the extent {} of dim {} ({})", size, x.shape[dim],
          dim, to_string(x));
  Meta out = part(a, dim, 0, (x.shape[dim] - size) / step + 1, step);
  out.shape.push_back(size);
  out.strides.push_back(x.strides[dim]);
  return {out};
}

Metas as_strided(const Args& a) {
  const Meta& x = a.tensor("self");
  const Ints size = a.ints("size"), stride = a.ints("stride");
  require(size.size() == stride.size(), Code::shape, "as_strided: size {} and stride {} differ in length",
          to_string(size), to_string(stride));
  check_shape(size, "as_strided: size");
  for (int64_t s : stride)
    require(s >= 0, Code::value, "as_strided: stride {} has a negative entry; flip the result instead",
            to_string(stride));
  // ATen counts the offset from the start of the storage. Of a graph's tensor only its own elements are known.
  const bool whole = x.known.defined();
  const int64_t own = whole ? x.known.offset() : 0;
  const int64_t offset = a.has("storage_offset") ? a.integer("storage_offset") : own;
  require(offset >= 0, Code::value, "as_strided: storage_offset {} is negative", offset);
  const auto needed = extent_of(size, stride);
  const auto held = extent_of(x.shape, x.strides);
  const int64_t last = whole ? x.known.storage()->bytes() / itemsize(x.dtype) - 1 : held ? held->high : -1;
  if (needed)
    require(needed->high <= last - offset, Code::index,
            "as_strided: size {}, stride {} and offset {} reach element {}, the storage of {} ends at {}",
            to_string(size), to_string(stride), offset, needed->high + offset, to_string(x), last);
  return {view_of(x, a.operand("self"), size, stride, offset - own)};
}

Metas diagonal(const Args& a) {
  const Meta& x = a.tensor("self");
  const int64_t d1 = wrap_dim(a.integer("dim1"), x.rank(), "diagonal: dim1");
  const int64_t d2 = wrap_dim(a.integer("dim2"), x.rank(), "diagonal: dim2");
  require(d1 != d2, Code::shape, "diagonal: dim1 and dim2 are both {} ({})", d1, to_string(x));
  const int64_t k = a.integer("offset");
  const int64_t rows = x.shape[d1], columns = x.shape[d2];
  const int64_t length = k >= 0 ? std::max<int64_t>(std::min(rows, k > columns ? 0 : columns - k), 0)
                                : std::max<int64_t>(std::min(k < -rows ? 0 : rows + k, columns), 0);
  const int64_t offset = length == 0 ? 0 : k >= 0 ? k * x.strides[d2] : -k * x.strides[d1];
  Shape shape;
  Strides strides;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == d1 || d == d2) continue;
    shape.push_back(x.shape[d]);
    strides.push_back(x.strides[d]);
  }
  shape.push_back(length);
  strides.push_back(x.strides[d1] + x.strides[d2]);
  return {view_of(x, a.operand("self"), std::move(shape), std::move(strides), offset)};
}

// Oracles: out[index] = x[index with one axis mapped].
Tensor along(const Tensor& x, int64_t dim, int64_t length, const std::function<int64_t(int64_t)>& map) {
  Shape shape = x.shape();
  shape[dim] = length;
  return rearranged(x, shape, [&](Ints index) {
    index[dim] = map(index[dim]);
    return place(x.shape(), index);
  });
}
int64_t wrapped(int64_t i, int64_t n) { return i < 0 ? i + n : i; }

template <bool tensor_start>
std::vector<Tensor> narrow_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t dim = wrapped(a.integer("dim"), x[0].rank());
  const int64_t start = wrapped(tensor_start ? x[1].item_int() : a.integer("start"), x[0].dim(dim));
  return {along(x[0], dim, a.integer("length"), [&](int64_t i) { return start + i; })};
}
std::vector<Tensor> slice_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t dim = wrapped(a.integer("dim"), x[0].rank()), n = x[0].dim(dim), step = a.integer("step");
  const auto bound = [&](const char* param, int64_t none) {
    return a.has(param) ? std::clamp<int64_t>(wrapped(a.integer(param), n), 0, n) : none;
  };
  std::vector<int64_t> picked;
  for (int64_t i = bound("start", 0), end = bound("end", n); i < end; i += std::min(step, n)) picked.push_back(i);
  return {along(x[0], dim, static_cast<int64_t>(picked.size()), [&](int64_t i) { return picked[i]; })};
}
std::vector<Tensor> select_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t dim = wrapped(a.integer("dim"), x[0].rank());
  const int64_t at = wrapped(a.integer("index"), x[0].dim(dim));
  Shape shape = x[0].shape();
  shape.erase(shape.begin() + dim);
  return {along(x[0], dim, 1, [&](int64_t) { return at; }).view(shape)};
}
std::vector<Tensor> unbind_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t dim = wrapped(a.integer("dim"), x[0].rank());
  Shape shape = x[0].shape();
  shape.erase(shape.begin() + dim);
  std::vector<Tensor> out;
  for (int64_t k = 0; k < x[0].dim(dim); ++k)
    out.push_back(along(x[0], dim, 1, [&](int64_t) { return k; }).view(shape));
  return out;
}
// Pieces in order: each begins where the one before it ends.
template <InferFn infer>
std::vector<Tensor> pieces_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t dim = wrapped(a.integer("dim"), x[0].rank());
  std::vector<Tensor> out;
  int64_t start = 0;
  for (const Meta& m : infer(a)) {
    out.push_back(along(x[0], dim, m.shape[dim], [&](int64_t i) { return start + i; }));
    start += m.shape[dim];
  }
  return out;
}
std::vector<Tensor> unfold_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t size = a.integer("size"), step = a.integer("step");
  if (x[0].rank() == 0) return {rearranged(x[0], Shape{size}, [](const Ints&) { return 0; })};
  const int64_t dim = wrapped(a.integer("dimension"), x[0].rank());
  Shape shape = x[0].shape();
  int64_t count = 0;
  while (count * step + size <= x[0].dim(dim)) ++count;
  shape[dim] = count;
  shape.push_back(size);
  return {rearranged(x[0], shape, [&](Ints index) {
    index[dim] = index[dim] * step + index.back();
    index.pop_back();
    return place(x[0].shape(), index);
  })};
}
// The operand is dense here, so its own elements are the storage.
std::vector<Tensor> as_strided_oracle(const Args& a, const std::vector<Tensor>& x) {
  const Ints size = a.ints("size"), stride = a.ints("stride");
  const int64_t offset = a.has("storage_offset") ? a.integer("storage_offset") : 0;
  return {rearranged(x[0], size, [&](const Ints& index) {
    int64_t at = offset;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * stride[d];
    return at;
  })};
}
std::vector<Tensor> diagonal_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t d1 = wrapped(a.integer("dim1"), x[0].rank()), d2 = wrapped(a.integer("dim2"), x[0].rank());
  const int64_t k = a.integer("offset");
  Shape shape;
  for (int64_t d = 0; d < x[0].rank(); ++d)
    if (d != d1 && d != d2) shape.push_back(x[0].dim(d));
  int64_t length = 0;
  for (int64_t i = 0; i < x[0].dim(d1); ++i) length += i + k >= 0 && i + k < x[0].dim(d2);
  shape.push_back(length);
  const int64_t first = std::max<int64_t>(0, -k);
  return {rearranged(x[0], shape, [&](const Ints& index) {
    Ints from(x[0].shape().size());
    for (int64_t d = 0, next = 0; d < x[0].rank(); ++d)
      from[d] = d == d1 ? first + index.back() : d == d2 ? first + index.back() + k : index[next++];
    return place(x[0].shape(), from);
  })};
}

}  // namespace

namespace decls {
Decls window() {
  Decls out = {
      view_op<narrow>("aten::narrow(Tensor self, int dim, int start, int length) -> Tensor", narrow_oracle<false>,
                      narrow_samples),
      view_op<narrow_tensor>("aten::narrow.Tensor(Tensor self, int dim, Tensor start, int length) -> Tensor",
                             narrow_oracle<true>, narrow_tensor_samples),
      view_op<slice>("aten::slice.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
                     slice_oracle, slice_samples),
      view_op<select>("aten::select.int(Tensor self, int dim, int index) -> Tensor", select_oracle, select_samples),
      view_op<split>("aten::split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]", pieces_oracle<split>,
                     split_samples),
      view_op<split_sizes>("aten::split.sizes(Tensor self, int[] split_size, int dim=0) -> Tensor[]",
                           pieces_oracle<split_sizes>, split_sizes_samples),
      view_op<split_with_sizes>("aten::split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
                                pieces_oracle<split_with_sizes>, split_sizes_samples),
      view_op<chunk>("aten::chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", pieces_oracle<chunk>,
                     chunk_samples),
      view_op<unbind>("aten::unbind.int(Tensor self, int dim=0) -> Tensor[]", unbind_oracle, unbind_samples),
      view_op<unfold>("aten::unfold(Tensor self, int dimension, int size, int step) -> Tensor", unfold_oracle,
                      unfold_samples),
      view_op<as_strided>("aten::as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
                          as_strided_oracle, as_strided_samples),
      view_op<diagonal>("aten::diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonal_oracle,
                        diagonal_samples),
  };
  out[1].flags |= kDynamic;  // where the view begins depends on start's value
  return out;
}
}  // namespace decls
}  // namespace nbx
