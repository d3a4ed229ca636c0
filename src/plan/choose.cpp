// SPDX-License-Identifier: Apache-2.0
// Kernels are chosen, and operands that a kernel cannot read by their strides are made dense, once for all readers.
#include "ops/eager.h"
#include "plan/lowered.h"

namespace nbx {

namespace {

const Kernel& preferred(const OpDecl& op, const Args& args, const std::string& prefer) {
  if (!prefer.empty())
    for (const Kernel& k : op.kernels)
      if (k.device == DeviceKind::cpu && k.name.find(prefer) != std::string::npos && (!k.serves || k.serves(args).ok))
        return k;
  return choose_kernel(op, args, DeviceKind::cpu);
}

}  // namespace

void choose_kernels(std::vector<Step>& steps, std::vector<Cell>& cells, const LowerOptions& options) {
  std::vector<Step> out;
  out.reserve(steps.size());
  std::map<int, int> dense;  // cell → its dense copy
  const OpDecl* clone = nullptr;
  for (Step& s : steps) {
    s.kernel = &preferred(*s.op, s.args, options.prefer);
    if (!s.kernel->strided) {
      for (size_t i = 0; i < s.in.size(); ++i) {
        const Meta meta = s.args.operands()[i];
        if (meta.contiguous()) continue;
        const auto found = dense.find(s.in[i]);
        int copy = found == dense.end() ? -1 : found->second;
        if (copy < 0 && meta.known.defined()) {
          Cell c;
          c.meta = Meta::of(meta.known.contiguous(), true);
          c.meta.weak = meta.weak;
          c.place = Cell::Place::constant;
          copy = c.root = static_cast<int>(cells.size());
          c.name = cells[static_cast<size_t>(s.in[i])].name;
          cells.push_back(std::move(c));
        } else if (copy < 0) {
          if (!clone) clone = &require_op("aten::contiguous");
          Step move;
          move.op = clone;
          move.in = {s.in[i]};
          move.name = cells[static_cast<size_t>(s.in[i])].name + ".dense";
          move.args = build_args(
              clone->parsed, bind_values(clone->parsed, {TensorRef{0}}), [&](TensorRef) { return meta; },
              options.packs);
          const Metas made = clone->infer(move.args);
          NBX_ASSERT(made.size() == 1 && made[0].alias < 0);
          copy = add_cell(cells, made[0], move.in, move.name);
          move.out = {copy};
          move.kernel = &preferred(*clone, move.args, {});
          NBX_ASSERT(move.kernel->strided);
          out.push_back(std::move(move));
        }
        dense[s.in[i]] = copy;
        s.in[i] = copy;
        s.args.operands()[i] = cells[static_cast<size_t>(copy)].meta;
      }
    }
    out.push_back(std::move(s));
  }
  steps = std::move(out);
}

}  // namespace nbx
