// SPDX-License-Identifier: Apache-2.0
#include "ops/eager.h"

#include <fmt/format.h>

namespace nbx {

Call make_call(const OpDecl& op, std::vector<SampleArg> args, SampleKeywords keywords) {
  Call call;
  call.op = &op;
  const auto lower = [&](SampleArg& arg) -> Value {
    if (auto* v = std::get_if<Value>(&arg)) return std::move(*v);
    if (auto* t = std::get_if<Tensor>(&arg)) {
      if (!t->defined()) return None{};
      call.tensors.push_back(*t);
      return TensorRef{static_cast<int>(call.tensors.size()) - 1};
    }
    TensorRefs refs;
    for (const Tensor& t : std::get<std::vector<Tensor>>(arg)) {
      if (t.defined()) call.tensors.push_back(t);
      refs.push_back(TensorRef{t.defined() ? static_cast<int>(call.tensors.size()) - 1 : -1});
    }
    return refs;
  };
  std::vector<Value> positional;
  for (SampleArg& a : args) positional.push_back(lower(a));
  std::vector<std::pair<std::string, Value>> named;
  for (auto& [param, a] : keywords) named.emplace_back(param, lower(a));
  call.values = bind_values(op.parsed, std::move(positional), std::move(named));
  return call;
}

Args known_args(const Call& call) {
  return build_args(call.op->parsed, call.values,
                    [&](TensorRef r) { return Meta::of(call.tensors[static_cast<size_t>(r.id)], true); });
}

const Kernel& choose_kernel(const OpDecl& op, const Args& args, DeviceKind device, const std::string& name) {
  std::string refusals;
  for (const Kernel& k : op.kernels) {
    if (k.device != device || (!name.empty() && k.name != name)) continue;
    const Serves serves = k.serves ? k.serves(args) : yes;
    if (serves.ok) return k;
    refusals += fmt::format("{}{}: {}", refusals.empty() ? "" : "; ", k.name, serves.reason);
  }
  std::string operands;
  for (const Meta& m : args.operands()) operands += (operands.empty() ? "" : ", ") + to_string(m);
  fail(Code::unsupported, "{}: no kernel{} serves ({}){}", op.parsed.full_name(), name.empty() ? "" : " '" + name + "'",
       operands, refusals.empty() ? "" : ": " + refusals);
}

std::vector<Tensor> run_call(const Call& call, const EagerOptions& options) {
  const OpDecl& op = *call.op;
  std::vector<int> sources;
  Args args = build_args(
      op.parsed, call.values, [&](TensorRef r) { return Meta::of(call.tensors[static_cast<size_t>(r.id)], true); },
      nullptr, &sources);
  std::vector<Tensor> operands;
  for (const Meta& m : args.operands()) operands.push_back(m.known);

  Metas outputs = op.infer(args);
  std::vector<Tensor> results;
  bool launches = outputs.empty();
  for (const Meta& m : outputs) {
    if (m.alias >= 0) {
      const Tensor& base = operands[static_cast<size_t>(m.alias)];
      results.push_back(base.as_strided(m.shape, m.strides, base.offset() + m.offset));
    } else {
      results.push_back(Tensor::empty(m.shape, m.dtype));
      launches = true;
    }
  }
  if (!launches) return results;

  const Kernel& kernel = choose_kernel(op, args, DeviceKind::cpu, options.kernel);
  if (!kernel.strided) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].is_contiguous()) continue;
      operands[i] = operands[i].contiguous();
      const bool weak = args.operands()[i].weak;
      args.operands()[i] = Meta::of(operands[i], true);
      args.operands()[i].weak = weak;
    }
  }
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& t : operands) in.push_back(t.raw());
  for (size_t i = 0; i < results.size(); ++i)
    out.push_back(outputs[i].alias >= 0 ? const_cast<void*>(results[i].raw()) : results[i].raw_mutable());
  const int64_t workspace_bytes = kernel.workspace ? kernel.workspace(args) : 0;
  std::shared_ptr<Storage> workspace = workspace_bytes > 0 ? Storage::allocate(workspace_bytes) : nullptr;
  static thread_local Team alone(1);
  Team& team = options.team ? *options.team : alone;
  const Bound bound = kernel.bind(args, outputs);
  bound(Run{in.data(), out.data(), workspace ? workspace->data() : nullptr, team});
  return results;
}

std::vector<Tensor> call(std::string_view op, std::vector<SampleArg> args, SampleKeywords keywords,
                         const EagerOptions& options) {
  return run_call(make_call(require_op(op), std::move(args), std::move(keywords)), options);
}

}  // namespace nbx
