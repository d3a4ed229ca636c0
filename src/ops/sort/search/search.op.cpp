// SPDX-License-Identifier: Apache-2.0
// searchsorted and bucketize: where values belong in sorted boundaries. `right`: after equal ones. NaN belongs at the
// end.
#include <algorithm>
#include <cmath>

#include "ops/declare.h"
#include "ops/reduce/blocks.h"

namespace nbx {
namespace {

struct SearchSpec {
  int sorted = 0, values = 1, sorter = -1;  // operands
  bool right = false;
  int64_t rows = 1, n = 0, per_row = 1;  // rows of boundaries (1: shared by all values), values a row
  DType out = DType::int64;
  Shape shape;
};

SearchSpec search_spec(const Args& a) {
  const std::string op = a.op();
  const auto has = [&](const char* param) { return a.schema().find(param) >= 0; };
  const char* sorted = op == "bucketize" ? "boundaries" : "sorted_sequence";
  SearchSpec s;
  s.sorted = a.operand(sorted);
  s.values = a.operand("self");
  const Meta &b = a.tensor(sorted), &v = a.tensor("self");
  require(!is_complex(b.dtype) && !is_complex(v.dtype), Code::dtype, "{}: {} and {} have no order", op, to_string(b),
          to_string(v));
  require(b.rank() >= 1, Code::shape, "{}: {} is 0-d; it needs a dim of sorted values", op, sorted);
  require(op != "bucketize" || b.rank() == 1, Code::shape, "bucketize: boundaries is {}; it must have one dim",
          to_string(b));
  s.right = a.flag("right");
  if (has("side") && a.has("side")) {
    const std::string side = a.text("side");
    require(side == "left" || side == "right", Code::value, "{}: side is '{}'; use left or right", op, side);
    require(!(side == "left" && s.right), Code::value, "{}: side is 'left' and right is True; they must agree", op);
    s.right = side == "right";
  }
  if (has("sorter") && a.has("sorter")) {
    s.sorter = a.operand("sorter");
    require(a.tensor("sorter").shape == b.shape && a.tensor("sorter").dtype == DType::int64, Code::shape,
            "{}: sorter is {}; it must be int64 {} like {}", op, to_string(a.tensor("sorter")), to_string(b.shape),
            sorted);
  }
  s.shape = v.shape;
  s.n = b.shape.back();
  if (b.rank() > 1) {
    require(v.rank() == b.rank() && std::equal(b.shape.begin(), b.shape.end() - 1, v.shape.begin()), Code::shape,
            "{}: {} is {} and self is {}; all dims but the last must be equal", op, sorted, to_string(b), to_string(v));
    s.per_row = v.shape.back();
    for (size_t d = 0; d + 1 < b.shape.size(); ++d) s.rows *= b.shape[d];
  } else {
    s.per_row = v.numel();
  }
  if (a.flag("out_int32")) s.out = DType::int32;
  return s;
}

template <class T>
bool less(T a, T b) {
  return b != b ? a == a : a < b;
}

// The first of n boundaries, found through at(i), that is not before v.
template <class T, class At>
int64_t place(int64_t n, T v, bool right, At at) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (right ? !less(v, at(middle)) : less(at(middle), v))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class T>
struct Job {
  SearchSpec s;
  Source<T> boundaries, values;
  Sink<int64_t> sink;

  void operator()(const Run& run) const {
    parallel_rows(run.team, s.rows * s.per_row, 2048, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / s.per_row * s.n;
        T v;
        values.copy(run.inputs[s.values], i, 1, 1, &v);
        const int64_t found = place(s.n, v, s.right, [&](int64_t j) {
          T b;
          int64_t at = j;
          if (s.sorter >= 0) {
            at = run.in<int64_t>(s.sorter)[row + j];
            require(at >= 0 && at < s.n, Code::index,
                    "searchsorted: sorter holds {}, the sorted sequence has {} elements a row", at, s.n);
          }
          boundaries.copy(run.inputs[s.sorted], row + at, 1, 1, &b);
          return b;
        });
        sink.write(&found, 1, run.outputs[0], i);
      }
    });
  }
};

Metas infer(const Args& a) {
  const SearchSpec s = search_spec(a);
  return {Meta(s.out, s.shape)};
}

Bound bind(const Args& a, const Metas& outputs) {
  const SearchSpec s = search_spec(a);
  const DType b = a.operands()[static_cast<size_t>(s.sorted)].dtype,
              v = a.operands()[static_cast<size_t>(s.values)].dtype;
  const Sink<int64_t> sink(outputs[0].dtype);
  if (!is_floating(b) && !is_floating(v)) return Job<int64_t>{s, Source<int64_t>(b), Source<int64_t>(v), sink};
  return Job<double>{s, Source<double>(b), Source<double>(v), sink};
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& operands) {
  const SearchSpec s = search_spec(a);
  const auto b = operands[static_cast<size_t>(s.sorted)].to_doubles(),
             v = operands[static_cast<size_t>(s.values)].to_doubles();
  const auto order = s.sorter < 0 ? std::vector<int64_t>() : operands[static_cast<size_t>(s.sorter)].to_ints();
  std::vector<int64_t> out;
  for (size_t i = 0; i < v.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / s.per_row * s.n;
    int64_t count = 0;  // boundaries before v: sorted, so counting is searching
    for (int64_t j = 0; j < s.n; ++j) {
      const double x = b[static_cast<size_t>(row + (order.empty() ? j : order[static_cast<size_t>(row + j)]))];
      count += s.right ? !less(v[i], x) : less(x, v[i]);
    }
    out.push_back(count);
  }
  return {Tensor::of<int64_t>(s.shape, std::span<const int64_t>(out))};
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  int64_t steps = 1;
  for (int64_t n = search_spec(a).n; n > 0; n /= 2) ++steps;
  c.flops = outputs[0].numel() * steps;
  return c;
}

Tensor rising(const Shape& shape) {
  Tensor t = Tensor::empty(shape, DType::float32);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.mutable_data<float>()[i] = static_cast<float>(i % shape.back() / 2) * 0.5f - 1;
  return t;
}
void sorted_samples(SampleSink& s) {
  for (const bool right : {false, true}) {
    s.add({rising({9}), randn({3, 4})}, {{"right", val(right)}});
    s.add({rising({3, 9}), randn({3, 40})}, {{"right", val(right)}, {"out_int32", val(true)}});
    s.add({rising({9}), rising({9})}, {{"right", val(right)}});
    s.add({rising({9}), special_floats()}, {{"right", val(right)}});
  }
  s.add({Tensor::of<int64_t>({4}, {4, 1, 3, 2}), Tensor::of<int64_t>({2}, {2, 5})},
        {{"sorter", Tensor::of<int64_t>({4}, {1, 3, 2, 0})}});
  s.error(Code::shape, {"[2, 9]", "[3, 4]"}, {rising({2, 9}), randn({3, 4})});
  s.error(Code::value, {"'left'"}, {rising({9}), randn({4})}, {{"right", val(true)}, {"side", val("left")}});
}
void sorted_scalar_samples(SampleSink& s) {
  s.add_as_is({rising({9}), val(0.5)});
  s.add_as_is({rising({9}), val(0.5)}, {{"side", val("right")}});
}
void bucket_samples(SampleSink& s) {
  for (const bool right : {false, true}) s.add({randn({3, 4}), rising({9})}, {{"right", val(right)}});
  s.add({randn({3, 4}), Tensor::empty({0}, DType::float32)});
  s.error(Code::shape, {"[2, 9]"}, {randn({3}), rising({2, 9})});
}
void bucket_scalar_samples(SampleSink& s) {
  s.add_as_is({val(0.5), rising({9})});
  s.add_as_is({val(0.5), rising({9})}, {{"right", val(true)}});
}

OpDecl declared(const char* schema, SamplesFn samples) {
  OpDecl d;
  d.schema = schema;
  d.infer = infer;
  d.cost = cost;
  d.keys = shape_keys;
  d.kernels = {cpu("search_cpu", bind)};
  d.oracle = oracle;
  d.samples = samples;
  d.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  d.source = "ATen";
  return d;
}

}  // namespace

namespace decls {

Decls search() {
  const std::string sorted = "aten::searchsorted", options = ", *, bool out_int32=False, bool right=False",
                    more = ", str? side=None, Tensor? sorter=None) -> Tensor";
  return {
      declared((sorted + ".Tensor(Tensor sorted_sequence, Tensor self" + options + more).c_str(), sorted_samples),
      declared((sorted + ".Scalar(Tensor sorted_sequence, Tensor self" + options + more).c_str(),
               sorted_scalar_samples),
      declared(("aten::bucketize.Tensor(Tensor self, Tensor boundaries" + options + ") -> Tensor").c_str(),
               bucket_samples),
      declared(("aten::bucketize.Scalar(Tensor self, Tensor boundaries" + options + ") -> Tensor").c_str(),
               bucket_scalar_samples),
  };
}

}  // namespace decls
}  // namespace nbx
