// SPDX-License-Identifier: Apache-2.0
// Classes as rows with one place set.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/index/indices.h"
#include "ops/shape/items.h"
#include "ops/shape/views.h"
#include "shape/strides.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

Metas one_hot(const Args& a) {
  const Meta& x = a.tensor("self");
  require(x.dtype == DType::int64, Code::dtype, "one_hot: self must be int64, it is {}", name(x.dtype));
  int64_t classes = a.integer("num_classes");
  require(classes >= -1, Code::value,
          "one_hot: num_classes is {}; it must be positive, or -1 for as many as self needs", classes);
  if (classes == -1) {
    require(x.numel() > 0, Code::value,
            "one_hot: self has no elements to tell the number of classes from; give num_classes");
    require(x.known.defined(), Code::unsupported,
            "one_hot: without num_classes the shape depends on values that are not known when the program is planned");
    const std::vector<int64_t> values = x.known.to_ints();
    classes = *std::max_element(values.begin(), values.end()) + 1;
  }
  require(classes > 0 || x.numel() == 0, Code::value, "one_hot: num_classes {} leaves no class", classes);
  Shape shape = x.shape;
  shape.push_back(classes);
  return {x.with(shape)};
}

// ONNX: `depth` classes along a new axis; values = (off, on). An index outside [-depth, depth) sets nothing.
struct Layout {
  int64_t axis = 0, depth = 0, outer = 1, inner = 1;
};
Layout layout_of(const Args& a) {
  const Meta& indices = a.tensor("indices");
  Layout l;
  l.axis = wrap_dim(a.integer("axis"), indices.rank() + 1, "onnx_one_hot: axis");
  l.depth = a.scalar("depth").as_int();
  require(l.depth >= 0, Code::value, "onnx_one_hot: depth is {}", l.depth);
  for (int64_t d = 0; d < indices.rank(); ++d) (d < l.axis ? l.outer : l.inner) *= indices.shape[d];
  return l;
}
Metas onnx_one_hot(const Args& a) {
  const Meta &indices = a.tensor("indices"), &values = a.tensor("values");
  require(values.rank() == 1 && values.shape[0] == 2, Code::shape,
          "onnx_one_hot: values must be [2] (off, on), it is {}", to_string(values));
  require(!is_complex(indices.dtype) && indices.dtype != DType::bool_, Code::dtype,
          "onnx_one_hot: indices must be numbers, not {}", name(indices.dtype));
  const Layout l = layout_of(a);
  Shape shape = indices.shape;
  shape.insert(shape.begin() + l.axis, l.depth);
  return {values.with(shape)};
}

// to: (outer, depth, inner), filled with `off`; one place of each class column gets `on`.
template <class T>
void set_places(Team& team, const Layout& l, T off, T on, const int64_t* index, T* to) {
  parallel_rows(team, l.outer, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, l.depth * l.inner)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t o = begin; o < end; ++o) {
                    T* row = to + o * l.depth * l.inner;
                    std::fill_n(row, l.depth * l.inner, off);
                    for (int64_t i = 0; i < l.inner; ++i)
                      if (const int64_t k = index[o * l.inner + i]; k >= 0) row[k * l.inner + i] = on;
                  }
                });
}

int64_t one_hot_workspace(const Args& a) { return a.tensor("self").numel() * 8; }
Bound bind_one_hot(const Args& a, const Metas& outputs) {
  const Layout l{0, outputs[0].shape.back(), a.tensor("self").numel(), 1};
  const IndexReader reader = single_index(a, "self", l.depth, false, "the classes");
  return [=](const Run& r) {
    int64_t* index = reinterpret_cast<int64_t*>(r.workspace);
    reader.read(r, index);
    set_places<int64_t>(r.team, l, 0, 1, index, r.out<int64_t>(0));
  };
}
int64_t onnx_one_hot_workspace(const Args& a) { return a.tensor("indices").numel() * 8; }
Bound bind_onnx_one_hot(const Args& a, const Metas& outputs) {
  const Layout l = layout_of(a);
  const CopyRun to_int = copy_run(a.tensor("indices").dtype, DType::int64);
  const int64_t n = a.tensor("indices").numel(), size = itemsize(outputs[0].dtype);
  return [=](const Run& r) {
    int64_t* index = reinterpret_cast<int64_t*>(r.workspace);
    to_int(r.in<std::byte>(0), 1, reinterpret_cast<std::byte*>(index), 1, n);
    for (int64_t i = 0; i < n; ++i) {
      if (index[i] < 0) index[i] += l.depth;
      if (index[i] < 0 || index[i] >= l.depth) index[i] = -1;
    }
    with_item(static_cast<int>(size), [&](auto kind) {
      using T = decltype(kind);
      const T* values = r.in<T>(1);
      set_places<T>(r.team, l, values[0], values[1], index, r.out<T>(0));
    });
  };
}

std::vector<Tensor> one_hot_oracle(const Args& a, const std::vector<Tensor>& x) {
  const Shape shape = one_hot(a)[0].shape;
  const std::vector<int64_t> classes = x[0].to_ints();
  std::vector<int64_t> out;
  for (int64_t c : classes)
    for (int64_t k = 0; k < shape.back(); ++k) out.push_back(k == c);
  return {Tensor::of<int64_t>(shape, out)};
}
std::vector<Tensor> onnx_one_hot_oracle(const Args& a, const std::vector<Tensor>& x) {
  const Layout l = layout_of(a);
  const std::vector<double> classes = x[0].to_doubles();
  const double depth = static_cast<double>(l.depth);
  return {rearranged(x[a.operand("values")], onnx_one_hot(a)[0].shape, [&](Ints i) {
    const double k = static_cast<double>(i[l.axis]);
    i.erase(i.begin() + l.axis);
    const double c = std::trunc(classes[static_cast<size_t>(place(x[0].shape(), i))]);
    return static_cast<int64_t>(c == k || c + depth == k);
  })};
}

void one_hot_samples(SampleSink& s) {
  s.add({rand_ints({3, 4}, 0, 5)});
  s.add({rand_ints({7}, 0, 5), val(9)});
  s.add({Tensor::scalar<int64_t>(2), val(3)});
  s.add({rand_ints({0}, 0, 2), val(3)});
  s.error(Code::index, {"one_hot", "index 4", "[1]"}, {Tensor::of<int64_t>({2}, {0, 4}), val(3)});
  s.error(Code::value, {"num_classes"}, {rand_ints({0}, 0, 2)});
  s.error(Code::dtype, {"int32"}, {rand_ints({2}, 0, 2, DType::int32), val(3)});
}
void onnx_one_hot_samples(SampleSink& s) {
  const Tensor off_on = Tensor::of<float>({2}, {-1.0f, 2.5f});
  s.add({rand_ints({2, 3}, -5, 5), val(5), off_on});
  s.add({rand_ints({2, 3}, -9, 9, DType::int32), val(4.0), off_on, val(0)});  // indices outside set nothing
  s.add({rand_ints({2, 3}, 0, 5), val(5), off_on, val(-2)});
  s.add({Tensor::scalar<int64_t>(1), val(3), off_on});
  s.add({rand_ints({2, 2}, 0, 3).to(DType::float64), val(3), Tensor::of<int32_t>({2}, {0, 1})});
  s.error(Code::shape, {"values"}, {rand_ints({2}, 0, 3), val(3), Tensor::of<float>({1}, {1.0f})});
  s.error(Code::index, {"axis"}, {rand_ints({2}, 0, 3), val(3), off_on, val(2)});
}

void import_one_hot(Importing& node) {
  node.output(0, node.emit("custom::onnx_one_hot",
                           {node.input(0), FromTensor{node.input(1)}, node.input(2), node.integer("axis", -1)}));
}

}  // namespace

namespace decls {
Decls one_hot() {
  Kernel ids = cpu("rows_cpu", bind_one_hot), onnx = cpu("rows_cpu", bind_onnx_one_hot);
  ids.workspace = one_hot_workspace;
  onnx.workspace = onnx_one_hot_workspace;
  Decls out = {movement_op("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", nbx::one_hot, {ids},
                           one_hot_oracle, one_hot_samples),
               movement_op("custom::onnx_one_hot(Tensor indices, Scalar depth, Tensor values, int axis=-1) -> Tensor",
                           onnx_one_hot, {onnx}, onnx_one_hot_oracle, onnx_one_hot_samples)};
  out[0].cost = [](const Args& a, const Metas& o) {
    Cost c = copy_cost(a, o);
    c.workspace = one_hot_workspace(a);
    return c;
  };
  out[1].cost = [](const Args& a, const Metas& o) {
    Cost c = copy_cost(a, o);
    c.workspace = onnx_one_hot_workspace(a);
    return c;
  };
  out[0].dtypes = {DType::float32};
  out[1].imports = {{"OneHot", import_one_hot, 9}};
  out[1].source = "ONNX OneHot";
  return out;
}
}  // namespace decls
}  // namespace nbx
