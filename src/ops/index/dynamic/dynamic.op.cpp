// SPDX-License-Identifier: Apache-2.0
// Results whose size depends on values: nonzero, masked_select, Compress, bincount. Order is row-major always.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "ops/index/dynamic/dynamic.h"
#include "ops/index/indices.h"
#include "ops/shape/items.h"
#include "ops/shape/views.h"
#include "shape/broadcast.h"
#include "shape/strides.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

constexpr int64_t kBlock = 16384;  // elements counted by one chunk

// Is element i other than zero? -0.0 is zero, NaN is not.
using IsSetFn = bool (*)(const void*, int64_t);
template <class T, int drop>  // drop: low bits to keep after the sign is shifted out
bool bits_set(const void* data, int64_t i) {
  return static_cast<T>(static_cast<const T*>(data)[i] << drop) != 0;
}
bool pair_set(const void* data, int64_t i, IsSetFn part) { return part(data, 2 * i) || part(data, 2 * i + 1); }
IsSetFn is_set(DType dtype) {
  const bool sign = is_floating(dtype);
  switch (dtype) {
    case DType::complex64:
      return [](const void* d, int64_t i) { return pair_set(d, i, bits_set<uint32_t, 1>); };
    case DType::complex128:
      return [](const void* d, int64_t i) { return pair_set(d, i, bits_set<uint64_t, 1>); };
    default:
      break;
  }
  switch (itemsize(dtype)) {
    case 1:
      return sign ? bits_set<uint8_t, 1> : bits_set<uint8_t, 0>;
    case 2:
      return sign ? bits_set<uint16_t, 1> : bits_set<uint16_t, 0>;
    case 4:
      return sign ? bits_set<uint32_t, 1> : bits_set<uint32_t, 0>;
    default:
      return sign ? bits_set<uint64_t, 1> : bits_set<uint64_t, 0>;
  }
}
int64_t count_set(const Tensor& t) {
  const Tensor dense = t.contiguous();
  const IsSetFn set = is_set(dense.dtype());
  int64_t n = 0;
  for (int64_t i = 0; i < dense.numel(); ++i) n += set(dense.raw(), i);
  return n;
}
const Tensor& known(const Args& a, const char* param) {
  const Meta& m = a.tensor(param);
  require(m.known.defined(), Code::internal, "{}: the values of {} are not known", a.op(), param);
  return m.known;
}

Metas nonzero(const Args& a) {
  return {Meta(DType::int64, Shape{count_set(known(a, "self")), a.tensor("self").rank()})};
}
int64_t blocks_workspace(const Args& a) { return (ceil_div(a.tensor("self").numel(), kBlock) + 1) * 8; }
// Blocks are counted side by side, their places follow from a running sum, then each block writes its own.
Bound bind_nonzero(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  const int64_t n = x.numel(), rank = x.rank(), total = outputs[0].shape[0];
  const IsSetFn set = is_set(x.dtype);
  const Shape shape = x.shape;
  const std::string op = a.op();
  return [=](const Run& r) {
    const void* data = r.in<std::byte>(0);
    int64_t* starts = reinterpret_cast<int64_t*>(r.workspace);
    const int64_t blocks = ceil_div(n, kBlock);
    parallel_rows(r.team, blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        int64_t found = 0;
        for (int64_t i = b * kBlock; i < std::min(n, (b + 1) * kBlock); ++i) found += set(data, i);
        starts[b] = found;
      }
    });
    int64_t sum = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t found = starts[b];
      starts[b] = sum;
      sum += found;
    }
    require(sum == total, Code::internal, "{}: {} elements are set, {} were planned", op, sum, total);
    parallel_rows(r.team, blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        int64_t* to = r.out<int64_t>(0) + starts[b] * rank;
        for (int64_t i = b * kBlock; i < std::min(n, (b + 1) * kBlock); ++i) {
          if (!set(data, i)) continue;
          int64_t rest = i;
          for (int64_t d = rank; d-- > 0; rest /= shape[d]) to[d] = rest % shape[d];
          to += rank;
        }
      }
    });
  };
}
std::vector<Tensor> nonzero_oracle(const Args& a, const std::vector<Tensor>& x) {
  std::vector<int64_t> out;
  const Tensor values = known(a, "self").contiguous();
  const std::vector<double> real = is_complex(x[0].dtype()) ? std::vector<double>{} : x[0].to_doubles();
  int64_t n = 0, rows = 0;
  each_index(x[0].shape(), [&](const Ints& i) {
    if (real[static_cast<size_t>(n++)] == 0) return;
    ++rows;
    out.insert(out.end(), i.begin(), i.end());
  });
  return {Tensor::of<int64_t>({rows, x[0].rank()}, out)};
}

// self and mask broadcast together; the elements where the mask is set.
Metas masked_select(const Args& a) {
  const Meta &x = a.tensor("self"), &mask = a.tensor("mask");
  require(mask.dtype == DType::bool_, Code::dtype, "masked_select: mask must be bool, it is {}", name(mask.dtype));
  const Shape shape = broadcast(x.shape, mask.shape, "masked_select");
  const int64_t own = mask.numel(), all = numel(shape);
  return {x.with(Shape{own == 0 ? 0 : count_set(known(a, "mask")) * (all / own)})};
}
Bound bind_masked_select(const Args& a, const Metas& outputs) {
  const Meta &x = a.tensor("self"), &mask = a.tensor("mask");
  const Shape shape = broadcast(x.shape, mask.shape, "masked_select");
  const Loops loops = coalesce(shape,
                               {broadcast_strides(mask.shape, mask.strides, shape, "masked_select"),
                                broadcast_strides(x.shape, x.strides, shape, "masked_select")},
                               /*reorder=*/false);
  const int64_t total = outputs[0].numel(), size = itemsize(x.dtype);
  return [=](const Run& r) {
    if (loops.numel == 0) return;
    with_item(static_cast<int>(size), [&](auto kind) {
      using T = decltype(kind);
      const T* from = r.in<T>(0);
      const bool* set = r.in<bool>(1);
      T *to = r.out<T>(0), *end = to + total;
      const size_t outer = loops.shape.empty() ? 0 : loops.shape.size() - 1;
      const int64_t inner = loops.shape.empty() ? 1 : loops.shape.back();
      const int64_t mask_step = loops.shape.empty() ? 0 : loops.strides[0].back();
      const int64_t step = loops.shape.empty() ? 0 : loops.strides[1].back();
      for (int64_t row = 0; row < loops.numel / inner; ++row) {
        int64_t m = 0, f = 0, rest = row;
        for (size_t d = outer; d-- > 0; rest /= loops.shape[d]) {
          m += rest % loops.shape[d] * loops.strides[0][d];
          f += rest % loops.shape[d] * loops.strides[1][d];
        }
        for (int64_t i = 0; i < inner && to < end; ++i)
          if (set[m + i * mask_step]) *to++ = from[f + i * step];
      }
    });
  };
}
std::vector<Tensor> masked_select_oracle(const Args&, const std::vector<Tensor>& x) {
  const Shape shape = broadcast(x[0].shape(), x[1].shape(), "masked_select");
  const Tensor values = x[0].expand(shape).contiguous();
  const std::vector<int64_t> mask = x[1].expand(shape).to_ints();
  std::vector<int64_t> places;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i] != 0) places.push_back(static_cast<int64_t>(i));
  return {rearranged(values, Shape{static_cast<int64_t>(places.size())},
                     [&](const Ints& i) { return places[static_cast<size_t>(i[0])]; })};
}

// ONNX Compress: the places of an axis (of the flattened tensor without one) where the condition is set. The condition
// may be shorter than the axis.
struct Kept {
  Shape shape;  // self, flattened without an axis
  int64_t axis = 0;
  std::vector<int64_t> places;
};
Kept kept_of(const Args& a) {
  const Meta &x = a.tensor("self"), &condition = a.tensor("condition");
  require(condition.rank() == 1 && condition.dtype == DType::bool_, Code::shape,
          "compress: condition must be bool with one dim, it is {}", to_string(condition));
  Kept k{Shape{x.numel()}, 0, {}};
  if (a.has("axis")) {
    require(x.rank() > 0, Code::shape, "compress: self is 0-d; it has no axis");
    k = {x.shape, wrap_dim(a.integer("axis"), x.rank(), "compress: axis"), {}};
  }
  const std::vector<int64_t> set = known(a, "condition").to_ints();
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i] == 0) continue;
    require(static_cast<int64_t>(i) < k.shape[k.axis], Code::index,
            "compress: the condition is set at {}, axis {} of {} has extent {}", i, k.axis, to_string(x),
            k.shape[k.axis]);
    k.places.push_back(static_cast<int64_t>(i));
  }
  return k;
}
Metas compress(const Args& a) {
  Kept k = kept_of(a);
  k.shape[k.axis] = static_cast<int64_t>(k.places.size());
  return {a.tensor("self").with(k.shape)};
}
GatherSpec compress_spec(const Args& a) {
  Kept k = kept_of(a);
  GatherSpec s;
  const Strides strides = contiguous_strides(k.shape);
  s.index.op = a.op();
  s.index.count = static_cast<int64_t>(k.places.size());
  s.index.fixed = std::make_shared<const std::vector<int64_t>>(k.places);
  s.itemsize = itemsize(a.tensor("self").dtype);
  s.walk = k.shape;
  s.walk[k.axis] = s.index.count;
  s.base = strides;
  s.pace = strides[k.axis];
  s.base[k.axis] = 0;
  s.places.assign(k.shape.size(), 0);
  s.places[k.axis] = 1;
  return s;
}
std::vector<Tensor> compress_oracle(const Args& a, const std::vector<Tensor>& x) {
  const Tensor self = a.has("axis") ? x[0] : x[0].view({x[0].numel()});
  const int64_t axis = a.has("axis") ? (a.integer("axis") + self.rank()) % self.rank() : 0;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x[1].numel(); ++i)
    if (x[1].to_ints()[static_cast<size_t>(i)] != 0) places.push_back(i);
  Shape shape = self.shape();
  shape[axis] = static_cast<int64_t>(places.size());
  return {rearranged(self, shape, [&](Ints i) {
    i[axis] = places[static_cast<size_t>(i[axis])];
    return place(self.shape(), i);
  })};
}

// How often each number comes, or the sum of its weights.
int64_t bins_of(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.rank() == 1, Code::shape, "bincount: self must have one dim, it is {}", to_string(x));
  require(is_integral(x.dtype), Code::dtype, "bincount: self must be integers, it is {}", name(x.dtype));
  const int64_t least = a.integer("minlength");
  require(least >= 0, Code::value, "bincount: minlength {} is negative", least);
  if (const Meta* w = a.optional_tensor("weights"))
    require(w->shape == x.shape && !is_complex(w->dtype), Code::shape, "bincount: weights ({}) must be like self ({})",
            to_string(*w), to_string(x));
  int64_t most = -1;
  const std::vector<int64_t> values = known(a, "self").to_ints();
  for (size_t i = 0; i < values.size(); ++i) {
    require(values[i] >= 0, Code::value, "bincount: self[{}] is {}; negative numbers have no bin", i, values[i]);
    most = std::max(most, values[i]);
  }
  require(most < INT64_MAX, Code::shape, "bincount: {} needs too many bins", most);
  return std::max(most + 1, least);
}
Metas bincount(const Args& a) {
  const Meta* w = a.optional_tensor("weights");
  const DType dtype = !w ? DType::int64 : w->dtype == DType::float32 ? DType::float32 : DType::float64;
  return {Meta(dtype, Shape{bins_of(a)})};
}
Bound bind_bincount(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  const Meta* w = a.optional_tensor("weights");
  const CopyRun to_int = copy_run(x.dtype, DType::int64);
  const CopyRun to_double = w ? copy_run(w->dtype, DType::float64) : nullptr;
  const int64_t n = x.numel(), bins = outputs[0].numel(), size = itemsize(x.dtype), w_size = w ? itemsize(w->dtype) : 0;
  const bool single = outputs[0].dtype == DType::float32;
  return [=](const Run& r) {
    std::memset(r.out<std::byte>(0), 0, static_cast<size_t>(bins * (single ? 4 : 8)));
    for (int64_t i = 0; i < n; ++i) {
      int64_t bin = 0;
      to_int(r.in<std::byte>(0) + i * size, 1, reinterpret_cast<std::byte*>(&bin), 1, 1);
      if (!to_double) {
        ++r.out<int64_t>(0)[bin];
        continue;
      }
      double weight = 0;
      to_double(r.in<std::byte>(1) + i * w_size, 1, reinterpret_cast<std::byte*>(&weight), 1, 1);
      if (single)
        r.out<float>(0)[bin] += static_cast<float>(weight);
      else
        r.out<double>(0)[bin] += weight;
    }
  };
}
std::vector<Tensor> bincount_oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t bins = bins_of(a);
  std::vector<double> sums(static_cast<size_t>(bins), 0);
  for (int64_t i = 0; i < x[0].numel(); ++i)
    sums[static_cast<size_t>(x[0].to_ints()[static_cast<size_t>(i)])] +=
        x.size() > 1 ? x[1].to_doubles()[static_cast<size_t>(i)] : 1;
  const Tensor out = Tensor::of<double>({bins}, sums);
  return {x.size() > 1 ? out : out.to(DType::int64)};
}

void import_nonzero(Importing& node) {
  const TensorRef rows = node.emit("aten::nonzero", {node.input(0)});
  node.output(0, node.emit("aten::permute", {rows, Ints{1, 0}}));
}
void import_compress(Importing& node) {
  const Value axis = node.has("axis") ? Value(node.integer("axis")) : Value(None{});
  node.output(0, node.emit("custom::compress", {node.input(0), node.input(1), axis}));
}

}  // namespace

namespace decls {
Decls dynamic() {
  Kernel blocks = cpu("blocks_cpu", bind_nonzero);
  blocks.workspace = blocks_workspace;
  Decls out = {
      movement_op("aten::nonzero(Tensor self) -> Tensor", nonzero, {blocks}, nonzero_oracle, nonzero_samples),
      movement_op("aten::masked_select(Tensor self, Tensor mask) -> Tensor", masked_select,
                  {cpu("rows_cpu", bind_masked_select, /*strided=*/true)}, masked_select_oracle, masked_select_samples),
      gather_op<compress_spec>("custom::compress(Tensor self, Tensor condition, int? axis=None) -> Tensor", compress,
                               compress_oracle, compress_samples),
      movement_op("aten::bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor", bincount,
                  {cpu("counts_cpu", bind_bincount)}, bincount_oracle, bincount_samples),
  };
  for (OpDecl& op : out) op.flags |= kDynamic;
  out[3].tolerance = ulps(2, 1);
  out[3].tolerance.f32 = {0, 1e-30, 3e-7};
  out[3].dtypes = {DType::float32, DType::float64, DType::int32};
  out[0].cost = [](const Args& a, const Metas& o) {
    Cost c = copy_cost(a, o);
    c.workspace = blocks_workspace(a);
    return c;
  };
  out[0].imports = {{"NonZero", import_nonzero, 9}};
  out[0].source = "ONNX NonZero";
  out[2].imports = {{"Compress", import_compress, 9}};
  out[2].source = "ONNX Compress";
  return out;
}
}  // namespace decls
}  // namespace nbx
