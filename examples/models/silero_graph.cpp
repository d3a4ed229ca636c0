// SPDX-License-Identifier: Apache-2.0
// silero-vad at 16 kHz, from the architecture that the package describes beside its safetensors file: a Fourier
// transform as a convolution, its magnitude, four convolutions, an LSTM cell, and the probability of speech.
#include "models/build.h"
#include "models/builders.h"

namespace nbx::examples {
namespace {

constexpr int64_t kBins = 129, kHidden = 128;

TensorRef part(Build& b, TensorRef x, int64_t dim, int64_t begin, int64_t end) {
  return b.op("aten::slice.Tensor", {x, dim, begin, end});
}
TensorRef square(Build& b, TensorRef x) { return b.op("aten::mul.Tensor", {x, x}); }

struct Cell {
  TensorRef hidden, cell;
};
// Gates in PyTorch's order: in, forget, cell, out.
Cell lstm(Build& b, TensorRef x, TensorRef h, TensorRef c) {
  const auto gates_of = [&](TensorRef value, const std::string& side) {
    return b.op("aten::linear", {value, b.weight("lstm_cell.weight_" + side, {4 * kHidden, kHidden}),
                                 b.weight("lstm_cell.bias_" + side, {4 * kHidden})});
  };
  const TensorRef gates = b.op("aten::add.Tensor", {gates_of(x, "ih"), gates_of(h, "hh")});
  const auto gate = [&](int64_t i, const char* form) {
    return b.op(form, {part(b, gates, 1, i * kHidden, (i + 1) * kHidden)});
  };
  const TensorRef in = gate(0, "aten::sigmoid"), forget = gate(1, "aten::sigmoid"), fresh = gate(2, "aten::tanh"),
                  out = gate(3, "aten::sigmoid");
  const TensorRef kept = b.op("aten::mul.Tensor", {forget, c}), added = b.op("aten::mul.Tensor", {in, fresh});
  const TensorRef cell = b.op("aten::add.Tensor", {kept, added});
  return {b.op("aten::mul.Tensor", {out, b.op("aten::tanh", {cell})}), cell};
}

}  // namespace

Graph build_silero(const std::string& safetensors) {
  Build b("silero-vad", safetensors);
  const TensorRef input = b.input("input", DType::float32, {{1, {}}, {576, {}}});
  const TensorRef state = b.input("state", DType::float32, {{2, {}}, {1, {}}, {kHidden, {}}});

  TensorRef x = b.op("aten::unsqueeze", {input, int64_t{1}});
  x = b.op("aten::pad", {x, Ints{0, 64}, std::string("reflect")});
  x = b.conv1d(x, "stft_conv", {2 * kBins, 1, 256}, 128, 0, /*bias=*/false);  // [1, real and imaginary bins, 4]
  const TensorRef real = square(b, part(b, x, 1, 0, kBins)), imaginary = square(b, part(b, x, 1, kBins, 2 * kBins));
  const TensorRef magnitude = b.op("aten::sqrt", {b.op("aten::add.Tensor", {real, imaginary})});

  struct Layer {
    const char* name;
    int64_t outputs, inputs, stride;
  };
  x = magnitude;
  for (const Layer& layer : {Layer{"conv1", 128, kBins, 1}, Layer{"conv2", 64, 128, 2}, Layer{"conv3", 64, 64, 2},
                             Layer{"conv4", 128, 64, 1}})
    x = b.op("aten::relu", {b.conv1d(x, layer.name, {layer.outputs, layer.inputs, 3}, layer.stride, 1)});
  const TensorRef encoder = b.op("aten::squeeze.dim", {x, int64_t{-1}});

  const auto row = [&](int64_t i) { return b.op("aten::select.int", {state, int64_t{0}, i}); };
  const Cell next = lstm(b, encoder, row(0), row(1));
  const TensorRef active = b.op("aten::relu", {b.op("aten::unsqueeze", {next.hidden, int64_t{-1}})});
  const TensorRef speech = b.op("aten::sigmoid", {b.conv1d(active, "final_conv", {1, kHidden, 1}, 1, 0)});  // [1, 1, 1]
  b.output("output", b.op("aten::mean.dim", {b.op("aten::squeeze.dim", {speech, int64_t{1}}), Ints{1}, true}));
  b.output("stateN", b.op("aten::stack", {TensorRefs{next.hidden, next.cell}, int64_t{0}}));
  b.output("magnitude", magnitude);
  b.output("encoder", encoder);
  return b.finish();
}

}  // namespace nbx::examples
