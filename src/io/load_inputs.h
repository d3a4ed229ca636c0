// SPDX-License-Identifier: Apache-2.0
// Files → the inputs of a model, outputs → a file: what `nbx run -i ... -o ...` does.
//
// An argument is "NAME=FILE" for one input, or "FILE": a .safetensors or .npz whose tensors are matched to the inputs
// by name, or any one file when the model still lacks one input only. A named argument wins over a matched tensor.
//   .npy .npz .safetensors   tensors as they are: dtype and shape must fit what the model declares; nothing is
//   converted .png .jpg .jpeg          batch 1, RGB (grey when the model declares 1 channel). Channels first unless the
//   declared shape
//                            has its 1 or 3 last; rank 3 is without batch, rank 2 grey [H, W]. float inputs get value /
//                            255, uint8 inputs the bytes. Sizes are not changed: a fixed height or width must fit.
//   .wav .flac .aiff         channels averaged to one, float; rank 1 [n], rank 2 [1, n], rank 3 [1, 1, n] or [1, n, 1]
//   when
//                            the last extent is declared 1. The rate is not changed, and told in a note.
// Errors (file, value, dtype, shape) name file, input and both values.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "io/limits.h"
#include "io/named_tensors.h"

namespace nbx {

struct InputSpec {
  std::string name;
  TypeSpec type;
};
std::vector<InputSpec> input_specs(const Graph& graph);

struct LoadedInputs {
  NamedTensors tensors;            // one for each input, in the order of the specs
  std::vector<std::string> notes;  // for the user: tensors not used, rates, channels mixed
};
LoadedInputs load_inputs(const std::vector<std::string>& arguments, const std::vector<InputSpec>& inputs,
                         const Limits& limits = {});

// One file as a value of `input`.
Tensor load_input(const std::string& path, const InputSpec& input, std::vector<std::string>& notes,
                  const Limits& limits = {});
// Error (dtype or shape) unless `tensor` fits the declared type; `where` names the file.
void check_input(const std::string& where, const InputSpec& input, const Tensor& tensor);

// .npz, .safetensors, or .npy for a single tensor; atomic. Error (value) for another suffix.
void save_outputs(const std::string& path, const NamedTensors& outputs);

}  // namespace nbx
