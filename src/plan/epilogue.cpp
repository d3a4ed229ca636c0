// SPDX-License-Identifier: Apache-2.0
// Bias, residual and activation move into the GEMM or convolution that makes their operand. Which of them an op takes,
// and what the call becomes, is in its declaration (with_epilogue); this pass only looks for the pairs.
#include <algorithm>

#include "ops/elementwise/activation.h"
#include "ops/registry.h"
#include "plan/lowered.h"

namespace nbx {

namespace {

// How many operands read each root cell.
std::vector<int> count_readers(const std::vector<Step>& steps, const std::vector<Cell>& cells) {
  std::vector<int> readers(cells.size(), 0);
  for (const Step& s : steps)
    for (const int c : s.in) ++readers[static_cast<size_t>(cells[static_cast<size_t>(c)].root)];
  return readers;
}

bool is_plain_add(const Step& s) {
  return s.op->parsed.space == "aten" && s.op->parsed.name == "add" && s.in.size() == 2 &&
         s.args.scalar("alpha").as_double() == 1.0;
}

// made * number or made + number, where the number is known.
bool scales_or_shifts(const Step& s, int made, const std::vector<Cell>& cells, EpilogueOffer& offer) {
  const bool product = s.op->parsed.space == "aten" && s.op->parsed.name == "mul" && s.in.size() == 2;
  if (!product && !is_plain_add(s)) return false;
  const Meta& other = cells[static_cast<size_t>(s.in[0] == made ? s.in[1] : s.in[0])].meta;
  if (!other.known.defined() || other.numel() != 1 || is_complex(other.dtype)) return false;
  const float number = static_cast<float>(other.known.item());
  offer.activation = {ActivationKind::none, product ? number : 1.0f, product ? 0.0f : number};
  return true;
}

// The step that makes `producer`'s result and applies `reader`, or nothing.
std::optional<Step> fused(const Step& producer, const Step& reader, int made, const std::vector<Cell>& cells,
                          const LowerOptions& options) {
  const auto meta = [&](int c) -> const Meta& { return cells[static_cast<size_t>(c)].meta; };
  const Meta& result = meta(reader.out[0]);
  if (result.dtype != meta(made).dtype || result.shape != meta(made).shape) return std::nullopt;
  Metas outputs;
  for (const int c : producer.out) outputs.push_back(meta(c));
  const int extra = static_cast<int>(producer.in.size());
  const auto taken = [&](const EpilogueOffer& offer) {
    return producer.op->with_epilogue(producer.args, outputs, offer, extra);
  };
  EpilogueOffer epilogue;
  int addend = -1;
  std::optional<FusedCall> call;
  if (const auto activation = reader.in.size() == 1 ? as_activation(*reader.op, reader.args) : std::nullopt) {
    epilogue.activation = *activation;
    call = taken(epilogue);
  } else if (scales_or_shifts(reader, made, cells, epilogue)) {
    call = taken(epilogue);
  }
  if (!call && is_plain_add(reader)) {
    addend = reader.in[0] == made ? reader.in[1] : reader.in[0];
    if (addend == made || meta(addend).weak) return std::nullopt;
    epilogue = {};
    epilogue.addend = &meta(addend);
    call = taken(epilogue);
  }
  if (!call) return std::nullopt;

  Step step;
  step.op = &require_op(call->op);
  step.name = producer.name + "+" + reader.op->parsed.name;
  std::vector<int> operands = producer.in;
  operands.push_back(addend);
  std::vector<int> sources;
  step.args = build_args(
      step.op->parsed, call->values, [&](TensorRef r) { return meta(operands[static_cast<size_t>(r.id)]); },
      options.packs, &sources);
  for (const int s : sources) {
    if (s < 0) return std::nullopt;  // a number among the operands: the op should have kept it a parameter
    step.in.push_back(operands[static_cast<size_t>(s)]);
  }
  step.out = reader.out;
  const Metas inferred = step.op->infer(step.args);
  NBX_ASSERT(inferred.size() == 1 && inferred[0].shape == result.shape && inferred[0].dtype == result.dtype);
  return step;
}

}  // namespace

void fuse_epilogues(std::vector<Step>& steps, std::vector<Cell>& cells, const std::vector<char>& needed,
                    const LowerOptions& options) {
  std::vector<int> readers = count_readers(steps, cells);
  std::vector<int> maker(cells.size(), -1);  // cell → step that makes it
  std::vector<char> gone(steps.size(), 0);
  for (size_t j = 0; j < steps.size(); ++j) {
    for (const int c : steps[j].in) {
      const int i = maker[static_cast<size_t>(c)];
      if (i < 0 || !steps[static_cast<size_t>(i)].op->with_epilogue || steps[j].out.size() != 1) continue;
      const Cell& cell = cells[static_cast<size_t>(c)];
      const bool only_reader = cell.root == c && readers[static_cast<size_t>(c)] == 1 &&
                               !(static_cast<size_t>(c) < needed.size() && needed[static_cast<size_t>(c)]);
      if (!only_reader) continue;
      auto step = fused(steps[static_cast<size_t>(i)], steps[j], c, cells, options);
      if (!step) continue;
      steps[j] = std::move(*step);
      gone[static_cast<size_t>(i)] = 1;
      break;
    }
    for (const int c : steps[j].out) maker[static_cast<size_t>(c)] = static_cast<int>(j);
  }
  size_t kept = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) steps[kept] = std::move(steps[i]);
    ++kept;
  }
  steps.resize(kept);
}

}  // namespace nbx
