// SPDX-License-Identifier: Apache-2.0
// ONNX ReverseSequence: of each batch entry, the first sequence_lens[b] steps come in reverse; the rest stays.
#include <algorithm>

#include "base/check.h"
#include "ops/index/indices.h"
#include "ops/shape/views.h"
#include "shape/strides.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const Meta &x = a.tensor("self"), &lens = a.tensor("sequence_lens");
  require(x.rank() >= 2, Code::shape, "reverse_sequence: self must have at least 2 dims, it is {}", to_string(x));
  const int64_t batch = wrap_dim(a.integer("batch_axis"), x.rank(), "reverse_sequence: batch_axis");
  const int64_t time = wrap_dim(a.integer("time_axis"), x.rank(), "reverse_sequence: time_axis");
  require(batch != time, Code::value, "reverse_sequence: batch_axis and time_axis are both {}", batch);
  require(lens.rank() == 1 && lens.shape[0] == x.shape[batch], Code::shape,
          "reverse_sequence: sequence_lens is {}, it must be [{}] (the extent of batch axis {} of {})", to_string(lens),
          x.shape[batch], batch, to_string(x));
  require_index(a, lens, "sequence_lens");
  return {x.like()};
}

int64_t workspace(const Args& a) { return a.tensor("sequence_lens").numel() * 8; }

Bound bind(const Args& a, const Metas& outputs) {
  const Meta& x = outputs[0];
  const int64_t batch = wrap_dim(a.integer("batch_axis"), x.rank(), "batch_axis");
  const int64_t time = wrap_dim(a.integer("time_axis"), x.rank(), "time_axis");
  // x as (outer, p, middle, q, inner), where p and q are the two axes in memory order.
  const int64_t first = std::min(batch, time), second = std::max(batch, time);
  int64_t outer = 1, middle = 1, inner = itemsize(x.dtype);
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != first && d != second) (d < first ? outer : d < second ? middle : inner) *= x.shape[d];
  const int64_t p = x.shape[first], q = x.shape[second], steps = x.shape[time];
  // Lengths are read as indices below steps + 1.
  const IndexReader reader =
      single_index(a, "sequence_lens", steps + 1, false, "the lengths of time axis " + std::to_string(time));
  const bool batch_first = batch < time;
  const int64_t rows = x.numel() == 0 ? 0 : outer * p * middle * q;
  return [=](const Run& r) {
    int64_t* lens = reinterpret_cast<int64_t*>(r.workspace);
    reader.read(r, lens);
    parallel_rows(
        r.team, rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, inner)), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t j = row % q, m = row / q % middle, i = row / q / middle % p, o = row / q / middle / p;
            const int64_t b = batch_first ? i : j, t = batch_first ? j : i;
            const int64_t from = t < lens[b] ? lens[b] - 1 - t : t;
            const int64_t source =
                batch_first ? ((o * p + i) * middle + m) * q + from : ((o * p + from) * middle + m) * q + j;
            std::copy_n(r.in<std::byte>(0) + source * inner, inner, r.out<std::byte>(0) + row * inner);
          }
        });
  };
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& x) {
  const int64_t batch = (a.integer("batch_axis") + x[0].rank()) % x[0].rank();
  const int64_t time = (a.integer("time_axis") + x[0].rank()) % x[0].rank();
  const std::vector<int64_t> lens = x[1].to_ints();
  return {rearranged(x[0], x[0].shape(), [&](Ints i) {
    const int64_t n = lens[static_cast<size_t>(i[batch])];
    if (i[time] < n) i[time] = n - 1 - i[time];
    return place(x[0].shape(), i);
  })};
}

void samples(SampleSink& s) {
  const auto lens = [](std::initializer_list<int64_t> v) {
    return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  s.add({randn({4, 4}), lens({1, 2, 3, 4}), val(1), val(0)});
  s.add({randn({4, 5}), lens({1, 5, 3, 0}), val(0), val(1)});
  s.add({randn({2, 3, 5, 4}), lens({3, 1, 5}), val(1), val(-2)});
  s.add({randn({2, 5, 3, 4}), lens({4, 0, 2}), val(2), val(1)});
  s.add({strided(randn({6, 7})), lens({7, 1, 2, 3, 4, 5}), val(0), val(1)});
  s.add({randn({0, 3}), lens({0, 0, 0}), val(1), val(0)});
  s.error(Code::index, {"reverse_sequence", "index 6", "[1]"}, {randn({2, 5}), lens({1, 6}), val(0), val(1)});
  s.error(Code::shape, {"[3]", "[2]"}, {randn({2, 5}), lens({1, 2, 3}), val(0), val(1)});
  s.error(Code::value, {"both 0"}, {randn({2, 5}), lens({1, 2}), val(0), val(0)});
}

void import(Importing& node) {
  node.output(0, node.emit("custom::reverse_sequence", {node.input(0), node.input(1), node.integer("batch_axis", 1),
                                                        node.integer("time_axis", 0)}));
}

}  // namespace

namespace decls {
Decls reverse_sequence() {
  Kernel rows = cpu("rows_cpu", bind);
  rows.workspace = workspace;
  Decls out = {movement_op(
      "custom::reverse_sequence(Tensor self, Tensor sequence_lens, int batch_axis=1, int time_axis=0) -> Tensor", infer,
      {rows}, oracle, samples)};
  out[0].cost = [](const Args& a, const Metas& o) {
    Cost c = copy_cost(a, o);
    c.workspace = workspace(a);
    return c;
  };
  out[0].imports = {{"ReverseSequence", import, 10}};
  out[0].source = "ONNX ReverseSequence";
  return out;
}
}  // namespace decls
}  // namespace nbx
