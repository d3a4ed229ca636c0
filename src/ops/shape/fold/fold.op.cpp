// SPDX-License-Identifier: Apache-2.0
// Sliding windows laid back over the picture and added up where they overlap (ONNX Col2Im, ATen col2im).
#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/checked.h"
#include "ops/shape/views.h"
#include "shape/strides.h"
#include "tensor/copy.h"

namespace nbx {
namespace {

struct Folding {
  int64_t batch = 1, channels = 0;
  bool batched = true;
  Ints image, block, dilation, before, after, stride, steps;  // a dim each; steps: windows along it
  int64_t pixels = 1, taps = 1, windows = 1;
};

Ints spread(const Args& a, const char* param, size_t dims, int64_t otherwise) {
  Ints v = a.ints(param);
  if (v.empty()) v.assign(dims, otherwise);
  if (v.size() == 1) v.assign(dims, v[0]);
  require(v.size() == dims, Code::shape, "{}: {} {} must have {} entries", a.op(), param, to_string(v), dims);
  return v;
}

Folding folding_of(const Args& a) {
  const Meta& x = a.tensor("self");
  const bool onnx = a.op() == "onnx_col2im";
  Folding f;
  f.image = a.ints(onnx ? "image_shape" : "output_size");
  const size_t dims = f.image.size();
  check_shape(f.image, a.op() + ": the picture's shape");
  f.block = spread(a, onnx ? "block_shape" : "kernel_size", dims, 1);
  f.dilation = spread(a, onnx ? "dilations" : "dilation", dims, 1);
  f.stride = spread(a, onnx ? "strides" : "stride", dims, 1);
  const Ints pads = onnx ? a.ints("pads") : spread(a, "padding", dims, 0);
  for (size_t d = 0; d < dims; ++d) {
    const bool both = onnx && !pads.empty();
    require(!both || pads.size() == 2 * dims, Code::shape, "{}: pads {} must have {} entries", a.op(), to_string(pads),
            2 * dims);
    f.before.push_back(pads.empty() ? 0 : pads[d]);
    f.after.push_back(pads.empty() ? 0 : both ? pads[d + dims] : pads[d]);
    require(f.block[d] > 0 && f.dilation[d] > 0 && f.stride[d] > 0, Code::value,
            "{}: block {}, dilation {} and stride {} must be positive", a.op(), to_string(f.block),
            to_string(f.dilation), to_string(f.stride));
    const int64_t room = f.image[d] + f.before[d] + f.after[d] - f.dilation[d] * (f.block[d] - 1) - 1;
    f.steps.push_back(room < 0 ? 0 : room / f.stride[d] + 1);
    f.pixels *= f.image[d];
    f.taps *= f.block[d];
    f.windows *= f.steps[d];
  }
  f.batched = x.rank() == 3;
  require(x.rank() == 3 || x.rank() == 2, Code::shape, "{}: self must be (batch, channels x window, windows), it is {}",
          a.op(), to_string(x));
  f.batch = f.batched ? x.shape[0] : 1;
  require(x.dim(-2) % f.taps == 0, Code::shape, "{}: the {} rows of {} do not divide by the window's {} elements",
          a.op(), x.dim(-2), to_string(x), f.taps);
  require(x.dim(-1) == f.windows, Code::shape, "{}: {} has {} windows, a picture of {} has {}", a.op(), to_string(x),
          x.dim(-1), to_string(f.image), f.windows);
  f.channels = x.dim(-2) / f.taps;
  return f;
}

Metas infer(const Args& a) {
  const Meta& x = a.tensor("self");
  const Folding f = folding_of(a);
  require(is_floating(x.dtype), Code::dtype, "{}: self must be floating, it is {}", a.op(), name(x.dtype));
  Shape shape = f.batched ? Shape{f.batch, f.channels} : Shape{f.channels};
  shape.append(f.image.begin(), f.image.end());
  return {x.with(shape)};
}

// fn(window, pixel) for all windows that have tap `tap` inside the picture.
template <class Fn>
void each_pixel(const Folding& f, int64_t tap, Fn&& fn) {
  const size_t dims = f.image.size();
  std::array<int64_t, kMaxRank> offset{};
  for (size_t d = dims; d-- > 0; tap /= f.block[d]) offset[d] = tap % f.block[d] * f.dilation[d] - f.before[d];
  for (int64_t w = 0; w < f.windows; ++w) {
    int64_t rest = w, pixel = 0, size = 1;
    bool inside = true;
    for (size_t d = dims; d-- > 0; rest /= f.steps[d]) {
      const int64_t at = rest % f.steps[d] * f.stride[d] + offset[d];
      inside = inside && at >= 0 && at < f.image[d];
      pixel += at * size;
      size *= f.image[d];
    }
    if (inside) fn(w, pixel);
  }
}

DType sum_type(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }
int64_t workspace(const Args& a) {
  const DType dtype = a.tensor("self").dtype;
  return dtype == sum_type(dtype) ? 0 : infer(a)[0].numel() * 4;
}

template <class A>
Bound folded(const Folding& f, DType dtype, DType sums) {
  const CopyRun widen = copy_run(dtype, sums), narrow = copy_run(sums, dtype);
  const int64_t size = itemsize(dtype);
  const bool direct = dtype == sums;
  // One worker owns a plane: its sums are made tap by tap.
  return [=](const Run& r) {
    parallel_rows(r.team, f.pixels == 0 ? 0 : f.batch * f.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        A* to = (direct ? r.out<A>(0) : reinterpret_cast<A*>(r.workspace)) + plane * f.pixels;
        std::fill_n(to, f.pixels, A{0});
        for (int64_t tap = 0; tap < f.taps; ++tap) {
          const std::byte* from = r.in<std::byte>(0) + (plane * f.taps + tap) * f.windows * size;
          each_pixel(f, tap, [&](int64_t window, int64_t pixel) {
            A v;
            widen(from + window * size, 1, reinterpret_cast<std::byte*>(&v), 1, 1);
            to[pixel] += v;
          });
        }
        if (!direct)
          narrow(reinterpret_cast<const std::byte*>(to), 1, r.out<std::byte>(0) + plane * f.pixels * size, 1, f.pixels);
      }
    });
  };
}
Bound bind(const Args& a, const Metas&) {
  const DType dtype = a.tensor("self").dtype, sums = sum_type(dtype);
  const Folding f = folding_of(a);
  return sums == DType::float64 ? folded<double>(f, dtype, sums) : folded<float>(f, dtype, sums);
}

std::vector<Tensor> oracle(const Args& a, const std::vector<Tensor>& x) {
  const Folding f = folding_of(a);
  const Meta out = infer(a)[0];
  std::vector<double> sums(static_cast<size_t>(out.numel()), 0);
  const std::vector<double> values = x[0].to_doubles();
  for (int64_t plane = 0; plane < f.batch * f.channels; ++plane)
    for (int64_t tap = 0; tap < f.taps; ++tap)
      each_pixel(f, tap, [&](int64_t window, int64_t pixel) {
        sums[static_cast<size_t>(plane * f.pixels + pixel)] +=
            values[static_cast<size_t>((plane * f.taps + tap) * f.windows + window)];
      });
  return {Tensor::of<double>(out.shape, sums)};
}

Cost cost(const Args& a, const Metas& outputs) {
  Cost c = copy_cost(a, outputs);
  c.flops = a.tensor("self").numel();
  c.workspace = workspace(a);
  return c;
}

void onnx_samples(SampleSink& s) {
  s.add({randn({1, 5, 5}), ints({5, 5}), ints({1, 5})});
  s.add({randn({2, 8, 9}), ints({4, 4}), ints({2, 2})});
  s.add({randn({1, 18, 4}), ints({6, 6}), ints({3, 3}), ints({1, 1}), ints({0, 0, 0, 0}), ints({3, 3})});
  s.add({randn({1, 4, 16}), ints({5, 5}), ints({2, 2}), ints({2, 2}), ints({1, 0, 0, 1}), ints({1, 1})});
  s.add({randn({1, 10, 12}), ints({3, 4, 5}), ints({1, 1, 5})});
  s.error(Code::shape, {"windows", "9"}, {randn({1, 4, 8}), ints({4, 4}), ints({2, 2})});
  s.error(Code::shape, {"divide by"}, {randn({1, 5, 9}), ints({4, 4}), ints({2, 2})});
}
void aten_samples(SampleSink& s) {
  s.add({randn({2, 12, 9}), ints({4, 4}), ints({2, 2}), ints({1, 1}), ints({0, 0}), ints({1, 1})});
  s.add({randn({12, 16}), ints({6, 6}), ints({2, 2}), ints({1, 1}), ints({1, 1}), ints({2, 2})});
  s.error(Code::value, {"stride"},
          {randn({4, 9}), ints({4, 4}), ints({2, 2}), ints({1, 1}), ints({0, 0}), ints({0, 1})});
}

void import_col2im(Importing& node) {
  node.output(0, node.emit("custom::onnx_col2im",
                           {node.input(0), FromTensor{node.input(1)}, FromTensor{node.input(2)},
                            node.ints("dilations", Ints{}), node.ints("pads", Ints{}), node.ints("strides", Ints{})}));
}

OpDecl op(const char* schema, SamplesFn samples) {
  Kernel planes = cpu("planes_cpu", bind);
  planes.workspace = workspace;
  OpDecl out = movement_op(schema, infer, {planes}, oracle, samples);
  out.cost = cost;
  out.tolerance = norm_wise(4e-7, 8e-4, 6e-3);
  out.dtypes = {DType::float32, DType::float16, DType::bfloat16, DType::float64};
  return out;
}

}  // namespace

namespace decls {
Decls fold() {
  Decls out = {
      op("custom::onnx_col2im(Tensor self, int[] image_shape, int[] block_shape, int[] dilations=[], int[] pads=[], "
         "int[] strides=[]) -> Tensor",
         onnx_samples),
      op("aten::col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
         "stride) -> Tensor",
         aten_samples)};
  out[0].imports = {{"Col2Im", import_col2im, 18}};
  out[0].source = "ONNX Col2Im";
  return out;
}
}  // namespace decls
}  // namespace nbx
