// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/pad/pad.h"

#include <algorithm>

#include "base/check.h"
#include "ops/shape/views.h"
#include "shape/strides.h"

namespace nbx {
namespace {

// ATen lists pads from the last dim on: (last before, last after, second last before, ...).
Pads aten_pads(const Args& a, const Ints& pad) {
  const Meta& x = a.tensor("self");
  require(pad.size() % 2 == 0, Code::value, "{}: pad {} has {} entries; it takes pairs (before, after)", a.op(),
          to_string(pad), pad.size());
  require(static_cast<int64_t>(pad.size()) / 2 <= x.rank(), Code::shape, "{}: pad {} is for {} dims, self has {} ({})",
          a.op(), to_string(pad), pad.size() / 2, x.rank(), to_string(x));
  Pads p{Ints(x.shape.size(), 0), Ints(x.shape.size(), 0)};
  for (size_t i = 0; i < pad.size(); i += 2) {
    const size_t d = x.shape.size() - 1 - i / 2;
    p.before[d] = pad[i];
    p.after[d] = pad[i + 1];
  }
  return p;
}

PadMode mode_of(const std::string& mode, const std::string& op) {
  if (mode == "constant") return PadMode::constant;
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "replicate" || mode == "edge") return PadMode::replicate;
  if (mode == "circular" || mode == "wrap") return PadMode::circular;
  fail(Code::value, "{}: mode '{}' is not known; it is constant, reflect, replicate (edge) or circular (wrap)", op,
       mode);
}

// ATen's limits, tighter than what the map could do.
void check_aten_mode(const Args& a, const Pads& p, PadMode mode) {
  const Meta& x = a.tensor("self");
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t n = x.shape[d], most = std::max(p.before[d], p.after[d]);
    if (mode == PadMode::reflect)
      require(most < n || most <= 0, Code::shape,
              "{}: padding {} of dim {} must be less than its extent {} to reflect ({})", a.op(), most, d, n,
              to_string(x));
    if (mode == PadMode::circular)
      require(most <= n, Code::shape, "{}: padding {} of dim {} wraps around its extent {} more than once ({})", a.op(),
              most, d, n, to_string(x));
  }
}

Scalar fill_of(const Args& a) { return a.has("value") ? a.scalar("value") : Scalar{int64_t{0}}; }

Metas constant_pad(const Args& a) {
  const Meta& x = a.tensor("self");
  return {x.with(padded_shape(x, aten_pads(a, a.ints("pad")), PadMode::constant, a.op()))};
}
Bound bind_constant_pad(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  return bind_padding(x, outputs[0], aten_pads(a, a.ints("pad")), PadMode::constant, item_bytes(fill_of(a), x.dtype));
}

Metas pad(const Args& a) {
  const Meta& x = a.tensor("self");
  const PadMode mode = mode_of(a.text("mode"), "pad");
  const Ints given = a.ints("pad");
  const Pads p = aten_pads(a, given);
  if (mode != PadMode::constant) {
    require(!a.has("value") || a.number("value") == 0, Code::value, "pad: mode {} takes no value", a.text("mode"));
    const int64_t dims = static_cast<int64_t>(given.size()) / 2;
    require(dims >= 1 && dims <= 3 && (x.rank() == dims + 1 || x.rank() == dims + 2), Code::shape,
            "pad: mode {} pads the last 1 to 3 dims of 2-d to 5-d tensors; pad has {} pairs for {}", a.text("mode"),
            dims, to_string(x));
    check_aten_mode(a, p, mode);
  }
  return {x.with(padded_shape(x, p, mode, "pad"))};
}
Bound bind_pad(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  return bind_padding(x, outputs[0], aten_pads(a, a.ints("pad")), mode_of(a.text("mode"), "pad"),
                      item_bytes(fill_of(a), x.dtype));
}

template <PadMode mode, int dims>
Metas pad_nd(const Args& a) {
  const Meta& x = a.tensor("self");
  const Ints padding = a.ints("padding");
  require(padding.size() == 2 * dims, Code::value, "{}: padding {} must have {} entries", a.op(), to_string(padding),
          2 * dims);
  require(x.rank() == dims + 1 || x.rank() == dims + 2, Code::shape, "{}: self must have {} or {} dims, it is {}",
          a.op(), dims + 1, dims + 2, to_string(x));
  const Pads p = aten_pads(a, padding);
  check_aten_mode(a, p, mode);
  return {x.with(padded_shape(x, p, mode, a.op()))};
}
template <PadMode mode>
Bound bind_pad_nd(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  return bind_padding(x, outputs[0], aten_pads(a, a.ints("padding")), mode, {});
}

// ONNX: all befores, then all afters, of `axes`.
Pads onnx_pads(const Args& a) {
  const Meta& x = a.tensor("self");
  const Ints pads = a.ints("pads");
  Ints axes = a.ints("axes");
  if (!a.has("axes"))
    for (int64_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  else if (!axes.empty())
    axes = wrap_dims(axes, x.rank(), "onnx_pad: axes");
  require(pads.size() == 2 * axes.size(), Code::shape, "onnx_pad: pads {} must have {} entries for axes {} of {}",
          to_string(pads), 2 * axes.size(), to_string(axes), to_string(x));
  Pads p{Ints(x.shape.size(), 0), Ints(x.shape.size(), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    p.before[axes[i]] = pads[i];
    p.after[axes[i]] = pads[i + axes.size()];
  }
  return p;
}
Metas onnx_pad(const Args& a) {
  const Meta& x = a.tensor("self");
  return {x.with(padded_shape(x, onnx_pads(a), mode_of(a.text("mode"), "onnx_pad"), "onnx_pad"))};
}
Bound bind_onnx_pad(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  return bind_padding(x, outputs[0], onnx_pads(a), mode_of(a.text("mode"), "onnx_pad"),
                      item_bytes(fill_of(a), x.dtype));
}

// CenterCropPad: half of the difference on either side, the smaller half first.
Pads center_pads(const Args& a) {
  const Meta& x = a.tensor("self");
  const Ints shape = a.ints("shape");
  Ints axes = a.ints("axes");
  if (!a.has("axes"))
    for (int64_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  else if (!axes.empty())
    axes = wrap_dims(axes, x.rank(), "center_crop_pad: axes");
  require(shape.size() == axes.size(), Code::shape, "center_crop_pad: shape {} for axes {} of {}", to_string(shape),
          to_string(axes), to_string(x));
  check_shape(shape, "center_crop_pad: shape");
  Pads p{Ints(x.shape.size(), 0), Ints(x.shape.size(), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t d = axes[i], n = x.shape[d], missing = shape[i] - n;
    p.before[d] = missing >= 0 ? missing / 2 : -((n - shape[i]) / 2);
    p.after[d] = missing - p.before[d];
  }
  return p;
}
Metas center_crop_pad(const Args& a) {
  const Meta& x = a.tensor("self");
  return {x.with(padded_shape(x, center_pads(a), PadMode::constant, "center_crop_pad"))};
}
Bound bind_center_crop_pad(const Args& a, const Metas& outputs) {
  const Meta& x = a.tensor("self");
  return bind_padding(x, outputs[0], center_pads(a), PadMode::constant, {});
}

// The oracle walks from place to source one step at a time.
Tensor padded(const Tensor& x, const Pads& p, PadMode mode, double fill) {
  Shape shape = x.shape();
  for (size_t d = 0; d < shape.size(); ++d) shape[d] += p.before[d] + p.after[d];
  return rearranged(
      x, shape,
      [&](Ints index) -> int64_t {
        for (size_t d = 0; d < index.size(); ++d) {
          int64_t i = index[d] - p.before[d];
          const int64_t n = x.shape()[d];
          if (mode == PadMode::circular) {  // around the part that a crop leaves
            const int64_t first = std::max<int64_t>(0, -p.before[d]), past = n + std::min<int64_t>(0, p.after[d]);
            while (i < first) i += past - first;
            while (i >= past) i -= past - first;
          }
          while (i < 0 || i >= n) {
            if (mode == PadMode::constant) return -1;
            if (mode == PadMode::replicate) i += i < 0 ? 1 : -1;
            if (mode == PadMode::reflect) i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
          }
          index[d] = i;
        }
        return place(x.shape(), index);
      },
      fill);
}
double oracle_fill(const Args& a) { return fill_of(a).as_double(); }
std::vector<Tensor> constant_pad_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {padded(x[0], aten_pads(a, a.ints("pad")), PadMode::constant, oracle_fill(a))};
}
std::vector<Tensor> pad_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {padded(x[0], aten_pads(a, a.ints("pad")), mode_of(a.text("mode"), "pad"), oracle_fill(a))};
}
template <PadMode mode>
std::vector<Tensor> pad_nd_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {padded(x[0], aten_pads(a, a.ints("padding")), mode, 0)};
}
std::vector<Tensor> onnx_pad_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {padded(x[0], onnx_pads(a), mode_of(a.text("mode"), "onnx_pad"), oracle_fill(a))};
}
std::vector<Tensor> center_oracle(const Args& a, const std::vector<Tensor>& x) {
  return {padded(x[0], center_pads(a), PadMode::constant, 0)};
}

template <PadMode mode, int dims>
OpDecl pad_nd_op(const char* name) {
  return movement_op(
      "aten::" + std::string(name) + std::to_string(dims) + "d(Tensor self, int[] padding) -> Tensor",
      pad_nd<mode, dims>, {cpu("pad_cpu", bind_pad_nd<mode>)}, pad_nd_oracle<mode>,
      mode == PadMode::reflect ? +[](SampleSink& s) { reflection_pad_samples(dims, s); }
                               : +[](SampleSink& s) { replication_pad_samples(dims, s); });
}

void import_pad(Importing& node) {
  if (node.opset() < 11) {
    node.output(0, node.emit("custom::onnx_pad", {node.input(0), node.ints("pads"), node.text("mode", "constant"),
                                                  node.number("value", 0.0), None{}}));
    return;
  }
  const auto from = [&](int i) { return node.has_input(i) ? Value(FromTensor{node.input(i)}) : Value(None{}); };
  node.output(0,
              node.emit("custom::onnx_pad", {node.input(0), from(1), node.text("mode", "constant"), from(2), from(3)}));
}
void import_center_crop_pad(Importing& node) {
  const Value axes = node.has("axes") ? Value(node.ints("axes")) : Value(None{});
  node.output(0, node.emit("custom::center_crop_pad", {node.input(0), FromTensor{node.input(1)}, axes}));
}

}  // namespace

namespace decls {
Decls pad() {
  Decls out = {
      movement_op("aten::constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", constant_pad,
                  {cpu("pad_cpu", bind_constant_pad)}, constant_pad_oracle, constant_pad_samples),
      movement_op("aten::pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor", nbx::pad,
                  {cpu("pad_cpu", bind_pad)}, pad_oracle, pad_samples),
      movement_op(
          "custom::onnx_pad(Tensor self, int[] pads, str mode='constant', Scalar? value=None, int[]? axes=None) "
          "-> Tensor",
          onnx_pad, {cpu("pad_cpu", bind_onnx_pad)}, onnx_pad_oracle, onnx_pad_samples),
      movement_op("custom::center_crop_pad(Tensor self, int[] shape, int[]? axes=None) -> Tensor", center_crop_pad,
                  {cpu("pad_cpu", bind_center_crop_pad)}, center_oracle, center_crop_pad_samples),
      pad_nd_op<PadMode::reflect, 1>("reflection_pad"),
      pad_nd_op<PadMode::reflect, 2>("reflection_pad"),
      pad_nd_op<PadMode::reflect, 3>("reflection_pad"),
      pad_nd_op<PadMode::replicate, 1>("replication_pad"),
      pad_nd_op<PadMode::replicate, 2>("replication_pad"),
      pad_nd_op<PadMode::replicate, 3>("replication_pad"),
  };
  out[2].imports = {{"Pad", import_pad, 2}};
  out[2].source = "ONNX Pad";
  out[3].imports = {{"CenterCropPad", import_center_crop_pad, 18}};
  out[3].source = "ONNX CenterCropPad";
  return out;
}
}  // namespace decls
}  // namespace nbx
