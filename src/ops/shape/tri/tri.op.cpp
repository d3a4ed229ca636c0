// SPDX-License-Identifier: Apache-2.0
// The upper or lower triangle of each matrix; what is outside becomes 0 (a NaN there goes, too).
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/shape/views.h"

namespace nbx {
namespace {

Metas infer(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.rank() >= 2, Code::shape, "{}: self must have at least 2 dims, it is {}", a.op(), to_string(x));
  return {x.like()};
}

// Kept columns of row i: [i + k, n) above, [0, i + k + 1) below, clamped. k may be any int64.
template <bool upper>
int64_t border(int64_t i, int64_t k, int64_t rows, int64_t columns) {
  k = std::clamp(k, -rows - 1, columns + 1);
  return std::clamp<int64_t>(i + k + (upper ? 0 : 1), 0, columns);
}

template <bool upper>
Bound bind(const Args& a, const Metas& outputs) {
  const Meta& x = outputs[0];
  const int64_t columns = x.dim(-1), rows = x.dim(-2), size = itemsize(x.dtype), k = a.integer("diagonal");
  const int64_t all = columns == 0 ? 0 : x.numel() / columns;
  return [=](const Run& r) {
    const std::byte* from = r.in<std::byte>(0);
    std::byte* to = r.out<std::byte>(0);
    parallel_rows(r.team, all, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, columns * size)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      const int64_t at = row * columns * size,
                                    edge = border<upper>(row % rows, k, rows, columns) * size;
                      const int64_t width = columns * size;
                      if (upper) {
                        std::memset(to + at, 0, static_cast<size_t>(edge));
                        std::memcpy(to + at + edge, from + at + edge, static_cast<size_t>(width - edge));
                      } else {
                        std::memcpy(to + at, from + at, static_cast<size_t>(edge));
                        std::memset(to + at + edge, 0, static_cast<size_t>(width - edge));
                      }
                    }
                  });
  };
}

template <bool upper>
std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& x) {
  const double k = static_cast<double>(a.integer("diagonal"));
  return {rearranged(x[0], x[0].shape(), [&](const Ints& i) {
    const double above = static_cast<double>(i[i.size() - 1] - i[i.size() - 2]);
    return (upper ? above >= k : above <= k) ? place(x[0].shape(), i) : -1;
  })};
}

void samples(SampleSink& s) {
  for (int k : {-4, -1, 0, 1, 2, 5}) s.add({randn({3, 4}), val(k)});
  s.add({randn({4, 3}), val(-2)});
  s.add({randn({2, 3, 5, 5}), val(1)});
  s.add({randn({0, 3}), val(0)});
  s.add({randn({3, 0}), val(0)});
  s.add({randn({2, 2}), val(INT64_MAX)});
  s.add({randn({2, 2}), val(INT64_MIN)});
  s.add({strided(randn({5, 6})), val(-1)});
  s.add_as_is({special_floats().unsqueeze(0).expand({3, special_floats().numel()}), val(1)});
  s.error(Code::shape, {"[3]"}, {randn({3})});
}

void import_trilu(Importing& node) {
  const Value k = node.has_input(1) ? Value(FromTensor{node.input(1)}) : Value(int64_t{0});
  node.output(0, node.emit(node.integer("upper", 1) != 0 ? "aten::triu" : "aten::tril", {node.input(0), k}));
}

}  // namespace

namespace decls {
Decls tri() {
  Decls out = {movement_op("aten::triu(Tensor self, int diagonal=0) -> Tensor", infer, {cpu("rows_cpu", bind<true>)},
                           oracle<true>, samples),
               movement_op("aten::tril(Tensor self, int diagonal=0) -> Tensor", infer, {cpu("rows_cpu", bind<false>)},
                           oracle<false>, samples)};
  out[0].imports = {{"Trilu", import_trilu, 14}};
  out[0].source = "ONNX Trilu";
  return out;
}
}  // namespace decls
}  // namespace nbx
