// SPDX-License-Identifier: Apache-2.0
// Several indices together: each position names one place of several dims. Their offsets are added up once a launch.
#include "ops/index/put/put.h"

#include <algorithm>

#include "base/check.h"
#include "ops/index/indices.h"
#include "ops/index/reference.h"
#include "ops/shape/views.h"
#include "shape/broadcast.h"
#include "shape/strides.h"

namespace nbx {
namespace {

// One dim of self and the index tensor for it; a mask is split into one list of known values for each of its dims.
struct Index {
  int64_t dim = 0;
  Shape shape;
  const Meta* tensor = nullptr;
  int operand = -1;
  std::vector<int64_t> values;  // of a mask
};
struct Indexing {
  std::vector<Index> indices;
  Shape common;    // all indices broadcast together
  int64_t at = 0;  // where the common dims stand in the result
  Ints rest;       // dims of self without an index, in order
  bool masked = false;
  Shape result;
};

void add_mask(const Args& a, const Meta& x, const Meta& mask, size_t position, int64_t& dim, Indexing& out) {
  require(dim + mask.rank() <= x.rank(), Code::index,
          "{}: the mask {} at index {} has more dims than self ({}) from dim {} on", a.op(), to_string(mask), position,
          to_string(x), dim);
  for (int64_t d = 0; d < mask.rank(); ++d)
    require(mask.shape[d] == x.shape[dim + d], Code::index,
            "{}: the mask {} at index {} does not match self ({}) in dim {}", a.op(), to_string(mask), position,
            to_string(x), dim + d);
  require(
      mask.known.defined(), Code::unsupported,
      "{}: index {} is a mask ({}) whose values are not known when the program is planned; use nonzero and index, or "
      "masked_select or where",
      a.op(), position, to_string(mask));
  out.masked = true;
  const std::vector<int64_t> set = mask.known.to_ints();
  std::vector<std::vector<int64_t>> lists(static_cast<size_t>(std::max<int64_t>(mask.rank(), 1)));
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i] == 0) continue;
    int64_t rest = static_cast<int64_t>(i);
    for (int64_t d = mask.rank(); d-- > 0; rest /= mask.shape[d]) lists[d].push_back(rest % mask.shape[d]);
    if (mask.rank() == 0) lists[0].push_back(0);
  }
  const Shape shape{static_cast<int64_t>(lists[0].size())};
  if (mask.rank() == 0) {  // true keeps everything once, false nothing: an index into no dim
    out.indices.push_back({-1, shape, nullptr, -1, lists[0]});
    return;
  }
  for (int64_t d = 0; d < mask.rank(); ++d) out.indices.push_back({dim + d, shape, nullptr, -1, lists[d]});
  dim += mask.rank();
}

Indexing indexing_of(const Args& a) {
  const Meta& x = a.tensor("self");
  const auto tensors = a.tensors("indices");
  const auto& refs = std::get<TensorRefs>(a.value("indices"));
  Indexing out;
  int64_t dim = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Meta* index = tensors[i];
    if (index && (index->dtype == DType::bool_ || index->dtype == DType::uint8)) {
      add_mask(a, x, *index, i, dim, out);
      continue;
    }
    require(dim < x.rank(), Code::index, "{}: {} indices are too many for self ({})", a.op(), tensors.size(),
            to_string(x));
    if (index) {
      require(is_index(index->dtype), Code::index, "{}: index {} is {}; an index must be int32, int64 or bool", a.op(),
              i, to_string(*index));
      out.indices.push_back({dim, index->shape, index, refs[i].id, {}});
    }
    ++dim;
  }
  for (const Index& i : out.indices) {
    const auto fits = try_broadcast(out.common, i.shape);
    require(fits.has_value(), Code::index, "{}: the indices do not broadcast together: {} and {}", a.op(),
            to_string(out.common), to_string(i.shape));
    out.common = *fits;
  }
  // The result has the common dims where the indexed ones stood, or in front when others lie between them.
  int64_t first = -1, last = -1;
  bool together = true;
  for (const Index& i : out.indices) {
    if (i.dim < 0) continue;
    if (first < 0)
      first = i.dim;
    else if (i.dim != last + 1)
      together = false;
    last = i.dim;
  }
  for (int64_t d = 0; d < x.rank(); ++d)
    if (std::none_of(out.indices.begin(), out.indices.end(), [&](const Index& i) { return i.dim == d; }))
      out.rest.push_back(d);
  out.at = together && first > 0 ? first : 0;
  for (int64_t d : out.rest) out.result.push_back(x.shape[d]);
  Shape joined(out.result.begin(), out.result.begin() + out.at);
  joined.append(out.common.begin(), out.common.end());
  joined.append(out.result.begin() + out.at, out.result.end());
  out.result = joined;
  return out;
}

std::string what(int64_t dim, const Meta& x) { return fmt::format("dim {} of {}", dim, to_string(x)); }

// Offsets of the common positions. With a mask everything is known and checked here.
IndexReader reader_of(const Args& a, const Indexing& k) {
  const Meta& x = a.tensor("self");
  const Strides strides = contiguous_strides(x.shape);
  IndexReader reader;
  reader.op = a.op();
  reader.shape = k.common;
  reader.count = numel(k.common);
  reader.added = true;
  if (k.indices.empty()) {
    reader.fixed = std::make_shared<const std::vector<int64_t>>(1, 0);
    return reader;
  }
  if (!k.masked) {
    for (const Index& i : k.indices) {
      IndexSource s;
      s.operand = i.operand;
      s.dtype = i.tensor->dtype;
      s.shape = i.shape;
      s.extent = x.shape[i.dim];
      s.pace = strides[i.dim];
      s.strides = broadcast_strides(i.shape, contiguous_strides(i.shape), k.common, a.op());
      s.wrap = true;
      s.what = what(i.dim, x);
      reader.sources.push_back(s);
    }
    return reader;
  }
  std::vector<int64_t> offsets(static_cast<size_t>(reader.count), 0);
  for (const Index& i : k.indices) {
    if (i.dim < 0) continue;
    require(!i.tensor || i.tensor->known.defined(), Code::unsupported,
            "{}: with a mask among the indices, all of them must be known when the program is planned", a.op());
    const std::vector<int64_t> values = i.tensor ? i.tensor->known.to_ints() : i.values;
    const Strides reading = broadcast_strides(i.shape, contiguous_strides(i.shape), k.common, a.op());
    size_t n = 0;
    each_index(k.common, [&](const Ints& at) {
      int64_t from = 0;
      for (size_t d = 0; d < at.size(); ++d) from += at[d] * reading[d];
      const int64_t v = values[static_cast<size_t>(from)], extent = x.shape[i.dim];
      require(v >= -extent && v < extent, Code::index,
              "{}: index {} at position {} is out of range for {} of extent {}", a.op(), v, to_string(at),
              what(i.dim, x), extent);
      offsets[n++] += (v < 0 ? v + extent : v) * strides[i.dim];
    });
  }
  reader.fixed = std::make_shared<const std::vector<int64_t>>(std::move(offsets));
  return reader;
}

Metas index(const Args& a) { return {a.tensor("self").with(indexing_of(a).result)}; }
GatherSpec index_spec(const Args& a) {
  const Meta& x = a.tensor("self");
  const Indexing k = indexing_of(a);
  const Strides strides = contiguous_strides(x.shape), common = contiguous_strides(k.common);
  GatherSpec s;
  s.index = reader_of(a, k);
  s.itemsize = itemsize(x.dtype);
  s.walk = k.result;
  const int64_t n = static_cast<int64_t>(k.common.size());
  for (int64_t d = 0, rest = 0; d < static_cast<int64_t>(k.result.size()); ++d) {
    const bool shared = d >= k.at && d < k.at + n;
    s.places.push_back(shared ? common[d - k.at] : 0);
    s.base.push_back(shared ? 0 : strides[k.rest[rest++]]);
  }
  return s;
}

Metas index_put(const Args& a) {
  const Meta &x = a.tensor("self"), &values = a.tensor("values");
  const Indexing k = indexing_of(a);
  require(values.dtype == x.dtype, Code::dtype, "index_put: self is {}, values is {}; they must be equal",
          name(x.dtype), name(values.dtype));
  require(is_broadcastable(values.shape, k.result), Code::shape,
          "index_put: values of shape {} do not broadcast to the indexed shape {}", to_string(values.shape),
          to_string(k.result));
  return {x.like()};
}
ScatterSpec index_put_spec(const Args& a) {
  const Meta &x = a.tensor("self"), &values = a.tensor("values");
  const Indexing k = indexing_of(a);
  const GatherSpec g = index_spec(a);
  ScatterSpec s;
  s.index = g.index;
  s.dtype = x.dtype;
  s.numel = x.numel();
  s.source = a.operand("values");
  s.walk = g.walk;
  s.places = g.places;
  s.base = g.base;
  s.from = broadcast_strides(values.shape, contiguous_strides(values.shape), k.result, "index_put");
  s.dim = k.at;
  s.ordered_dims = static_cast<int64_t>(k.common.size());
  s.reduce = a.flag("accumulate") ? Reduce::add : Reduce::assign;
  return s;
}

// GatherND, ScatterND: the last dim of the indices is a place in x's dims from `batch` on.
struct Tuples {
  int64_t batch = 0, length = 0;  // length: dims that a tuple names
  Shape places;                   // the indices' shape without the last dim
  Shape block;                    // what a tuple selects
};
Tuples tuples_of(const Args& a, int64_t batch) {
  const Meta &x = a.tensor("self"), &indices = a.tensor("indices");
  require_index(a, indices, "indices");
  require(indices.rank() >= 1, Code::shape, "{}: indices is 0-d; its last dim holds the index tuples", a.op());
  Tuples t;
  t.batch = batch;
  t.length = indices.shape.back();
  require(batch >= 0 && batch < indices.rank() && batch <= x.rank(), Code::value,
          "{}: batch_dims {} does not fit self ({}) and indices ({})", a.op(), batch, to_string(x), to_string(indices));
  require(t.length <= x.rank() - batch, Code::shape, "{}: index tuples of {} do not fit self ({}) after {} batch dims",
          a.op(), t.length, to_string(x), batch);
  for (int64_t d = 0; d < batch; ++d)
    require(x.shape[d] == indices.shape[d], Code::shape, "{}: batch dim {} is {} in self ({}) and {} in indices ({})",
            a.op(), d, x.shape[d], to_string(x), indices.shape[d], to_string(indices));
  t.places = Shape(indices.shape.begin(), indices.shape.end() - 1);
  t.block = Shape(x.shape.begin() + batch + t.length, x.shape.end());
  return t;
}
IndexReader tuple_reader(const Args& a, const Tuples& t) {
  const Meta &x = a.tensor("self"), &indices = a.tensor("indices");
  const Strides xs = contiguous_strides(x.shape), is = contiguous_strides(indices.shape);
  IndexReader reader;
  reader.op = a.op();
  reader.shape = t.places;
  reader.count = numel(t.places);
  reader.added = true;
  IndexSource base;
  base.strides.assign(t.places.size(), 0);
  for (int64_t d = 0; d < t.batch; ++d) base.strides[d] = xs[d];
  reader.sources.push_back(base);
  for (int64_t k = 0; k < t.length; ++k) {
    IndexSource s;
    s.operand = a.operand("indices");
    s.dtype = indices.dtype;
    s.shape = t.places;
    s.extent = x.shape[t.batch + k];
    s.pace = xs[t.batch + k];
    s.strides = Strides(is.begin(), is.end() - 1);
    s.first = k;
    s.wrap = true;
    s.what = what(t.batch + k, x);
    reader.sources.push_back(s);
  }
  return reader;
}
Shape joined(Shape a, const Shape& b) {
  a.append(b.begin(), b.end());
  return a;
}
Metas gather_nd(const Args& a) {
  const Tuples t = tuples_of(a, a.integer("batch_dims"));
  return {a.tensor("self").with(joined(t.places, t.block))};
}
GatherSpec gather_nd_spec(const Args& a) {
  const Tuples t = tuples_of(a, a.integer("batch_dims"));
  GatherSpec s;
  s.index = tuple_reader(a, t);
  s.itemsize = itemsize(a.tensor("self").dtype);
  s.walk = {s.index.count, numel(t.block)};
  s.places = {1, 0};
  s.base = {0, 1};
  return s;
}

Reduce reduction_of(const Args& a) {
  const std::string r = a.text("reduction");
  if (r == "none") return Reduce::assign;
  if (r == "add") return Reduce::add;
  if (r == "mul") return Reduce::mul;
  if (r == "max") return Reduce::max;
  if (r == "min") return Reduce::min;
  fail(Code::value, "scatter_nd: reduction '{}' is not known; it is none, add, mul, max or min", r);
}
Metas scatter_nd(const Args& a) {
  const Meta &x = a.tensor("self"), &updates = a.tensor("updates");
  const Tuples t = tuples_of(a, 0);
  reduction_of(a);
  require(updates.dtype == x.dtype, Code::dtype, "scatter_nd: self is {}, updates is {}; they must be equal",
          name(x.dtype), name(updates.dtype));
  const Shape wanted = joined(t.places, t.block);
  require(updates.shape == wanted, Code::shape, "scatter_nd: updates is {}, it must be {} for self {} and indices {}",
          to_string(updates), to_string(wanted), to_string(x), to_string(a.tensor("indices")));
  return {x.like()};
}
ScatterSpec scatter_nd_spec(const Args& a) {
  const Meta& x = a.tensor("self");
  const Tuples t = tuples_of(a, 0);
  const int64_t block = numel(t.block);
  ScatterSpec s;
  s.index = tuple_reader(a, t);
  s.dtype = x.dtype;
  s.numel = x.numel();
  s.source = a.operand("updates");
  s.walk = {s.index.count, block};
  s.places = {1, 0};
  s.base = {0, 1};
  s.from = {block, 1};
  s.reduce = reduction_of(a);
  return s;
}

// Oracles: where each element of the result lies in self, from the definitions.
std::vector<int64_t> index_places(const Args& a, const std::vector<Tensor>& x) {
  const Indexing k = indexing_of(a);
  std::vector<int64_t> out;
  each_index(k.result, [&](const Ints& i) {
    Ints from(x[0].shape().size());
    for (size_t d = 0, rest = 0; d < i.size(); ++d)
      if (static_cast<int64_t>(d) < k.at || static_cast<int64_t>(d) >= k.at + static_cast<int64_t>(k.common.size()))
        from[k.rest[rest++]] = i[d];
    for (const Index& index : k.indices) {
      if (index.dim < 0) continue;
      const size_t skip = k.common.size() - index.shape.size();
      Ints at;
      for (size_t d = 0; d < index.shape.size(); ++d) at.push_back(index.shape[d] == 1 ? 0 : i[k.at + skip + d]);
      const std::vector<int64_t> values = index.tensor ? x[index.operand].to_ints() : index.values;
      const int64_t v = values[static_cast<size_t>(place(index.shape, at))];
      from[index.dim] = v < 0 ? v + x[0].dim(index.dim) : v;
    }
    out.push_back(place(x[0].shape(), from));
  });
  return out;
}
std::vector<Tensor> index_oracle(const Args& a, const std::vector<Tensor>& x) {
  const std::vector<int64_t> places = index_places(a, x);
  return {rearranged(x[0], index(a)[0].shape, [&, n = size_t{0}](const Ints&) mutable { return places[n++]; })};
}
std::vector<Tensor> index_put_oracle(const Args& a, const std::vector<Tensor>& x) {
  const Tensor values = x[a.operand("values")].expand(indexing_of(a).result).contiguous();
  Reference target(x[0], {a.flag("accumulate") ? Reduce::add : Reduce::assign});
  int64_t n = 0;
  for (int64_t to : index_places(a, x)) target.put(to, values, n), ++n;
  return {target.result()};
}
std::vector<int64_t> tuple_places(const Args& a, const Tuples& t, const std::vector<Tensor>& x) {
  const std::vector<int64_t> values = x[1].to_ints();
  std::vector<int64_t> out;
  each_index(joined(t.places, t.block), [&](const Ints& i) {
    const Ints at(i.begin(), i.begin() + t.places.size());
    Ints from(i.begin(), i.begin() + t.batch);
    for (int64_t k = 0; k < t.length; ++k) {
      const int64_t v = values[static_cast<size_t>(place(t.places, at) * t.length + k)];
      from.push_back(v < 0 ? v + a.tensor("self").shape[t.batch + k] : v);
    }
    from.append(i.begin() + t.places.size(), i.end());
    out.push_back(place(x[0].shape(), from));
  });
  return out;
}
std::vector<Tensor> gather_nd_oracle(const Args& a, const std::vector<Tensor>& x) {
  const std::vector<int64_t> places = tuple_places(a, tuples_of(a, a.integer("batch_dims")), x);
  return {rearranged(x[0], gather_nd(a)[0].shape, [&, n = size_t{0}](const Ints&) mutable { return places[n++]; })};
}
std::vector<Tensor> scatter_nd_oracle(const Args& a, const std::vector<Tensor>& x) {
  Reference target(x[0], {reduction_of(a)});
  int64_t n = 0;
  for (int64_t to : tuple_places(a, tuples_of(a, 0), x)) target.put(to, x[2], n), ++n;
  return {target.result()};
}

void import_gather_nd(Importing& node) {
  node.output(0, node.emit("custom::gather_nd", {node.input(0), node.input(1), node.integer("batch_dims", 0)}));
}
void import_scatter_nd(Importing& node) {
  node.output(0, node.emit("custom::scatter_nd",
                           {node.input(0), node.input(1), node.input(2), node.text("reduction", "none")}));
}

}  // namespace

namespace decls {
Decls put() {
  Decls out = {
      gather_op<index_spec>("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", nbx::index, index_oracle,
                            index_samples),
      scatter_op<index_put_spec>(
          "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", index_put,
          index_put_oracle, index_put_samples),
      gather_op<gather_nd_spec>("custom::gather_nd(Tensor self, Tensor indices, int batch_dims=0) -> Tensor", gather_nd,
                                gather_nd_oracle, gather_nd_samples),
      scatter_op<scatter_nd_spec>(
          "custom::scatter_nd(Tensor self, Tensor indices, Tensor updates, str reduction='none') -> Tensor", scatter_nd,
          scatter_nd_oracle, scatter_nd_samples),
  };
  for (size_t i : {1, 3}) {
    out[i].tolerance = norm_wise(3e-7, 8e-4, 6e-3);
    out[i].dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int64};
  }
  out[2].imports = {{"GatherND", import_gather_nd, 11}};
  out[2].source = "ONNX GatherND";
  out[3].imports = {{"ScatterND", import_scatter_nd, 11}};
  out[3].source = "ONNX ScatterND";
  return out;
}
}  // namespace decls
}  // namespace nbx
