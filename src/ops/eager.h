// SPDX-License-Identifier: Apache-2.0
// Calling an op now: the same declarations, bound and run once.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ops/declare.h"
#include "ops/registry.h"

namespace nbx {

// Tensors in `values` are TensorRefs into `tensors`. Values must fit the schema (positional, then keywords).
struct Call {
  const OpDecl* op = nullptr;
  std::vector<Value> values;    // one per parameter
  std::vector<Tensor> tensors;  // operands, in the order of the refs
};
Call make_call(const OpDecl& op, std::vector<SampleArg> args, SampleKeywords keywords = {});

struct EagerOptions {
  Team* team = nullptr;  // null: the calling thread alone
  std::string kernel;    // empty: the first that serves
};
std::vector<Tensor> run_call(const Call& call, const EagerOptions& options = {});
std::vector<Tensor> call(std::string_view op, std::vector<SampleArg> args, SampleKeywords keywords = {},
                         const EagerOptions& options = {});

// The args of a call with every operand's value known: what infer and oracles of dynamic ops read.
Args known_args(const Call& call);
// The kernel that serves: by name, else the first of `device`; error (unsupported) with all refusals.
const Kernel& choose_kernel(const OpDecl& op, const Args& args, DeviceKind device, const std::string& name = {});

}  // namespace nbx
