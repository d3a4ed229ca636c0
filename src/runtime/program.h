// SPDX-License-Identifier: Apache-2.0
// Program: a flat list of bound kernels with resolved addresses. Addresses that are given at each run (inputs, outputs,
// results of host calls) are patched before it starts; nothing else is decided while it runs.
#pragma once
#include <nbx/session.h>

#include <atomic>
#include <string>
#include <vector>

#include "memory/arena.h"
#include "plan/lowered.h"
#include "plan/offsets.h"

namespace nbx {

// What a session's options say to the lowering.
inline LowerOptions lower_options(const SessionOptions& options, PackCache* packs = nullptr) {
  LowerOptions lower;
  lower.fuse = options.fuse;
  lower.prefer = options.prefer;
  lower.packs = packs;
  return lower;
}

// The arena of a first stage, with nothing bound or packed.
Layout plan_layout(const Stage& stage, const std::vector<Cell>& cells, int first_output_slot);

class Program {
 public:
  // `carried`: buffers of earlier stages that are still needed, with offsets; they are kept in place. `carried_cells`:
  // their cells. `first_output_slot`: outputs are written to slot first_output_slot + position.
  Program(const Stage& stage, const std::vector<Cell>& cells, const std::vector<Buffer>& carried,
          const std::vector<int>& carried_cells, int first_output_slot);

  const Layout& layout() const { return layout_; }
  // Resolves arena addresses. The arena's base must not move afterwards.
  void bind(Arena& arena);

  void run(std::byte* const* slots, Team& team, const std::atomic<bool>& cancelled, std::vector<ProfileEvent>* profile);

  // Where a cell's first element is, for cells this program or an earlier one made.
  std::byte* address(int cell, const std::vector<Cell>& cells, std::byte* arena, std::byte* const* slots) const;
  // Outputs that the kernels do not write themselves: copied from their cell after the run.
  const std::vector<std::pair<int, int>>& copied_outputs() const { return copied_outputs_; }
  // What the next stages find in place.
  std::pair<std::vector<Buffer>, std::vector<int>> carry(const Stage& stage) const;
  std::string text(const std::vector<Cell>& cells) const;

 private:
  struct Launch {
    Bound bound;
    size_t in = 0, out = 0;  // first address
    int64_t workspace = -1;  // arena offset
    std::string name, op, kernel;
    int64_t bytes = 0, flops = 0;
    std::vector<int> in_cells, out_cells;  // for text
  };
  struct Patch {
    bool output;  // of out_ or in_
    size_t index;
    int slot;
    int64_t offset;  // bytes
  };
  friend Layout plan_layout(const Stage&, const std::vector<Cell>&, int);
  Program() = default;
  // Where everything lies; the answer: the arena offset of each step's workspace, -1.
  std::vector<int64_t> lay_out(const Stage& stage, const std::vector<Cell>& cells, const std::vector<Buffer>& carried,
                               const std::vector<int>& carried_cells, int first_output_slot);
  void locate(int cell, const std::vector<Cell>& cells, bool output, size_t index);

  std::vector<Launch> launches_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::vector<Patch> patches_;
  struct Fixup {
    bool output;
    size_t index;
    int64_t offset;  // in the arena
  };
  std::vector<Fixup> fixups_;
  std::vector<Tensor> constants_;
  std::vector<std::pair<int, int>> copied_outputs_;
  std::vector<int64_t> offset_of_;  // root cell → arena offset, -1
  std::vector<int> slot_of_;        // root cell → slot, -1
  std::vector<int64_t> bytes_of_;
  Layout layout_;
  std::byte* base_ = nullptr;
};

}  // namespace nbx
