// SPDX-License-Identifier: Apache-2.0
// Fused chains: many pointwise calls as one custom::pointwise(Tensor[] inputs, str program) -> Tensor[].
//
// The program is text, one call a line of `;`, in the form the ops have in a graph:
//     v0 = aten::mul.Tensor(%0, %1); v1 = aten::add.Tensor(v0, 0.5, alpha=2); v2 = aten::relu(v1); return v2, v0
// %k is input k, vk the result of call k. It says no shapes and no dtypes: each call's own infer derives them, and each
// call's own rounding to its dtype is kept, so a fused chain gives the bits of the calls run one by one.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/declare.h"

namespace nbx {

// One call of a chain, in the caller's numbering of tensors.
struct ChainStep {
  const OpDecl* op = nullptr;
  const Args* args = nullptr;  // bound, with concrete operand metas
  std::span<const int> in;     // the tensor of each of args->operands(); ignored where that is a plain number (weak)
  int out = -1;                // the tensor this call makes
};

// What to call instead: inputs are tensors of the caller's numbering, results come in the order they were asked for.
struct Fused {
  std::vector<int> inputs;
  std::string program;
};

// May this call be part of a chain at all? (A pointwise op of this family on real tensors, numbers known.)
bool can_join(const OpDecl& op, const Args& args);

// The chain as one call. `steps` in topological order; `results`: the tensors (outs of steps) that are read outside.
// nullopt when a step cannot join, or too many values would be alive at once. The caller sees to it that each result
// has the shape that all inputs broadcast to (custom::pointwise refuses others), and that a step read by nobody is left
// out.
std::optional<Fused> fuse(std::span<const ChainStep> steps, std::span<const int> results);

namespace pointwise {

// A program, parsed. TensorRef ids in `values`: inputs first, then the calls in order.
struct Chain {
  struct Call {
    const OpDecl* op = nullptr;
    std::vector<Value> values;
  };
  int inputs = 0;
  std::vector<Call> calls;
  std::vector<int> results;  // indices of calls
};
// Error (value) naming the text and what is wrong with it; error (unsupported) for an op that is no pointwise op.
Chain parse_chain(std::string_view program, int inputs);
std::string print_chain(const Chain& chain);

}  // namespace pointwise
}  // namespace nbx
