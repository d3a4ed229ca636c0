// SPDX-License-Identifier: Apache-2.0
#include "runtime/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <new>
#include <stdexcept>

#include "base/check.h"
#include "base/checked.h"
#include "memory/budget.h"

namespace nbx {

namespace {

// Which buffer each root cell of a stage uses, and from when to when.
class Lifetimes {
 public:
  Lifetimes(const Stage& stage, const std::vector<Cell>& cells, const std::vector<char>& outside)
      : stage_(stage), cells_(cells), outside_(outside), buffer_of_(cells.size(), -1), last_(cells.size(), -1) {
    const int end = static_cast<int>(stage.steps.size());
    for (int i = 0; i < end; ++i) {
      const Step& s = stage.steps[static_cast<size_t>(i)];
      for (const int c : s.in) last_[root(c)] = i;
      for (const int c : s.out) last_[root(c)] = std::max(last_[root(c)], i);
    }
    for (const int r : stage.live_out) last_[static_cast<size_t>(r)] = end;
    for (const auto& [position, c] : stage.outputs) last_[root(c)] = end;  // outputs that are copied out afterwards
  }

  int last(int root_cell) const { return last_[static_cast<size_t>(root_cell)]; }

  void carry(int root_cell, Buffer b) {
    b.first = 0;
    b.last = std::max(0, last_[static_cast<size_t>(root_cell)]);
    buffer_of_[static_cast<size_t>(root_cell)] = static_cast<int>(buffers.size());
    buffers.push_back(b);
    carried_ = buffers.size();
  }

  void add_steps() {
    for (size_t i = 0; i < stage_.steps.size(); ++i) {
      const Step& s = stage_.steps[i];
      for (const int c : s.out) {
        const size_t r = root(c);
        if (static_cast<int>(r) != c || outside_[r] || cells_[r].place != Cell::Place::buffer) continue;
        const int donor = in_place_donor(s, static_cast<int>(i), c);
        if (donor >= 0) {
          buffer_of_[r] = donor;
          buffers[static_cast<size_t>(donor)].last = std::max(buffers[static_cast<size_t>(donor)].last, last_[r]);
          continue;
        }
        buffer_of_[r] = static_cast<int>(buffers.size());
        buffers.push_back({cells_[r].meta.bytes(), static_cast<int>(i), std::max(last_[r], static_cast<int>(i)), -1});
      }
    }
  }

  int buffer_of(int root_cell) const { return buffer_of_[static_cast<size_t>(root_cell)]; }
  std::vector<Buffer> buffers;

 private:
  size_t root(int c) const { return static_cast<size_t>(cells_[static_cast<size_t>(c)].root); }

  // The buffer of an operand that dies here and that an elementwise result may overwrite: same extents, same width,
  // read at the very places that are written.
  int in_place_donor(const Step& s, int step, int out) const {
    if (s.out.size() != 1 || !(s.op->has(kInPlace) || s.op->has(kPointwise))) return -1;
    const Meta& result = cells_[static_cast<size_t>(out)].meta;
    const size_t candidates = s.op->has(kPointwise) ? s.in.size() : std::min<size_t>(1, s.in.size());
    for (size_t k = 0; k < candidates; ++k) {
      const Cell& c = cells_[static_cast<size_t>(s.in[k])];
      const int r = c.root;
      const int b = buffer_of_[static_cast<size_t>(r)];
      if (b < static_cast<int>(carried_) || c.place != Cell::Place::buffer || outside_[static_cast<size_t>(r)])
        continue;
      if (buffers[static_cast<size_t>(b)].last != step) continue;
      if (c.offset != 0 || c.meta.bytes() != buffers[static_cast<size_t>(b)].bytes) continue;
      if (c.meta.shape != result.shape || itemsize(c.meta.dtype) != itemsize(result.dtype) || !c.meta.contiguous())
        continue;
      bool read_otherwise = false;  // another operand sees the same buffer in another layout
      for (size_t o = 0; o < s.in.size(); ++o) {
        const int other = cells_[static_cast<size_t>(s.in[o])].root;
        if (o != k && buffer_of_[static_cast<size_t>(other)] == b && s.in[o] != s.in[k]) read_otherwise = true;
      }
      if (!read_otherwise) return b;
    }
    return -1;
  }

  const Stage& stage_;
  const std::vector<Cell>& cells_;
  const std::vector<char>& outside_;
  std::vector<int> buffer_of_;
  std::vector<int> last_;
  size_t carried_ = 0;
};

}  // namespace

std::vector<int64_t> Program::lay_out(const Stage& stage, const std::vector<Cell>& cells,
                                      const std::vector<Buffer>& carried, const std::vector<int>& carried_cells,
                                      int first_output_slot) {
  offset_of_.assign(cells.size(), -1);
  slot_of_.assign(cells.size(), -1);
  bytes_of_.assign(cells.size(), 0);
  std::vector<char> made_here(cells.size(), 0), outside(cells.size(), 0), later(cells.size(), 0);
  for (const Step& s : stage.steps)
    for (const int c : s.out) made_here[static_cast<size_t>(c)] = 1;
  for (const int r : stage.live_out) later[static_cast<size_t>(r)] = 1;
  for (size_t i = 0; i < cells.size(); ++i)
    if (cells[i].place == Cell::Place::external) slot_of_[i] = cells[static_cast<size_t>(cells[i].root)].slot;

  for (const auto& [position, c] : stage.outputs) {
    const Cell& cell = cells[static_cast<size_t>(c)];
    const size_t r = static_cast<size_t>(cell.root);
    const bool whole = cell.offset == 0 && cell.meta.contiguous() && cell.meta.bytes() == cells[r].meta.bytes();
    if (cell.place == Cell::Place::buffer && !cell.meta.known.defined() && made_here[r] && whole && !outside[r] &&
        !later[r]) {
      outside[r] = 1;
      slot_of_[r] = first_output_slot + position;
    } else {
      copied_outputs_.emplace_back(position, c);
    }
  }

  Lifetimes lifetimes(stage, cells, outside);
  for (size_t i = 0; i < carried.size(); ++i) lifetimes.carry(carried_cells[i], carried[i]);
  lifetimes.add_steps();
  std::vector<int> workspace_buffer(stage.steps.size(), -1);
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    const Step& s = stage.steps[i];
    const int64_t bytes = s.kernel->workspace ? s.kernel->workspace(s.args) : 0;
    if (bytes <= 0) continue;
    workspace_buffer[i] = static_cast<int>(lifetimes.buffers.size());
    lifetimes.buffers.push_back({bytes, static_cast<int>(i), static_cast<int>(i), -1});
  }
  layout_ = place(lifetimes.buffers);
  for (size_t i = 0; i < cells.size(); ++i) {
    const int b = lifetimes.buffer_of(static_cast<int>(i));
    if (b < 0) continue;
    offset_of_[i] = lifetimes.buffers[static_cast<size_t>(b)].offset;
    bytes_of_[i] = lifetimes.buffers[static_cast<size_t>(b)].bytes;
  }
  std::vector<int64_t> workspace(stage.steps.size(), -1);
  for (size_t i = 0; i < workspace.size(); ++i)
    if (workspace_buffer[i] >= 0) workspace[i] = lifetimes.buffers[static_cast<size_t>(workspace_buffer[i])].offset;
  return workspace;
}

Layout plan_layout(const Stage& stage, const std::vector<Cell>& cells, int first_output_slot) {
  Program program;
  program.lay_out(stage, cells, {}, {}, first_output_slot);
  return program.layout_;
}

namespace {

// Before anything is bound, for a kernel may make tables of the size of its result: the plan and the outputs together.
void check_budget(const Stage& stage, const std::vector<Cell>& cells, int64_t arena_bytes) {
  int64_t bytes = arena_bytes;
  bool fits = true;
  for (const auto& [position, c] : stage.outputs)
    fits = fits && checked_add(bytes, cells[static_cast<size_t>(c)].meta.bytes(), bytes);
  if (fits && memory_allows(bytes)) return;
  const Cell* largest = nullptr;
  const auto look = [&](int c) {
    const Cell& cell = cells[static_cast<size_t>(c)];
    if (!largest || cell.meta.bytes() > largest->meta.bytes()) largest = &cell;
  };
  for (const Step& s : stage.steps)
    for (const int c : s.out) look(c);
  for (const auto& [position, c] : stage.outputs) look(c);
  const std::string needed = fits ? fmt::format("{} bytes", bytes) : "more than 2^63 bytes";
  require(largest != nullptr, Code::budget, "the plan needs {}, {} are available", needed, memory_available());
  fail(Code::budget, "the plan and its outputs need {}, {} are available; the largest result is {} {}", needed,
       memory_available(), largest->name, to_string(largest->meta));
}

// Errors of a node say which.
[[noreturn]] void fail_at(const std::string& node, const Error& e) {
  const std::string what = e.what();
  if (e.code() == Code::cancelled || what.rfind("node '", 0) == 0) throw e;
  throw Error(e.code(), fmt::format("node '{}': {}", node, what));
}

}  // namespace

Program::Program(const Stage& stage, const std::vector<Cell>& cells, const std::vector<Buffer>& carried,
                 const std::vector<int>& carried_cells, int first_output_slot) {
  const std::vector<int64_t> workspace = lay_out(stage, cells, carried, carried_cells, first_output_slot);
  check_budget(stage, cells, layout_.arena_bytes);
  size_t ins = 0, outs = 0;
  for (const Step& s : stage.steps) {
    ins += s.in.size();
    outs += s.out.size();
  }
  in_.assign(ins, nullptr);
  out_.assign(outs, nullptr);
  ins = outs = 0;
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    const Step& s = stage.steps[i];
    Launch l;
    l.in = ins;
    l.out = outs;
    l.workspace = workspace[i];
    Metas outputs;
    for (const int c : s.out) outputs.push_back(cells[static_cast<size_t>(c)].meta);
    try {
      l.bound = s.kernel->bind(s.args, outputs);
    } catch (const Error& e) {
      fail_at(s.name, e);
    } catch (const std::bad_alloc&) {
      fail(Code::budget, "node '{}': no memory is left for the tables of {}", s.name, s.op->parsed.full_name());
    } catch (const std::length_error&) {
      fail(Code::budget, "node '{}': no memory is left for the tables of {}", s.name, s.op->parsed.full_name());
    }
    l.name = s.name;
    l.op = s.op->parsed.full_name();
    l.kernel = s.kernel->name;
    const Cost cost = s.op->cost(s.args, outputs);
    l.bytes = cost.read + cost.written;
    l.flops = cost.flops;
    l.in_cells = s.in;
    l.out_cells = s.out;
    for (const int c : s.in) locate(c, cells, false, ins++);
    for (const int c : s.out) locate(c, cells, true, outs++);
    launches_.push_back(std::move(l));
  }
}

void Program::locate(int c, const std::vector<Cell>& cells, bool output, size_t index) {
  const Cell& cell = cells[static_cast<size_t>(c)];
  const size_t r = static_cast<size_t>(cell.root);
  if (!output && cell.meta.known.defined()) {
    in_[index] = cell.meta.known.raw();
    constants_.push_back(cell.meta.known);
  } else if (slot_of_[r] >= 0) {
    patches_.push_back({output, index, slot_of_[r], cell.offset});
  } else {
    NBX_ASSERT(offset_of_[r] >= 0);
    fixups_.push_back({output, index, offset_of_[r] + cell.offset});
  }
}

void Program::bind(Arena& arena) {
  arena.ensure(layout_.arena_bytes > 0 ? layout_.arena_bytes : 1);
  base_ = arena.base();
  for (const Fixup& f : fixups_) {
    if (f.output)
      out_[f.index] = base_ + f.offset;
    else
      in_[f.index] = base_ + f.offset;
  }
}

void Program::run(std::byte* const* slots, Team& team, const std::atomic<bool>& cancelled,
                  std::vector<ProfileEvent>* profile) {
  for (const Patch& p : patches_) {
    std::byte* at = slots[p.slot] ? slots[p.slot] + p.offset : nullptr;
    if (p.output)
      out_[p.index] = at;
    else
      in_[p.index] = at;
  }
  using Clock = std::chrono::steady_clock;
  const std::string* at = nullptr;
  try {
    for (const Launch& l : launches_) {
      at = &l.name;
      if (cancelled.load(std::memory_order_relaxed)) fail(Code::cancelled, "the run was cancelled before '{}'", l.name);
      const Run run{in_.data() + l.in, out_.data() + l.out, l.workspace >= 0 ? base_ + l.workspace : nullptr, team};
      if (!profile) {
        l.bound(run);
        continue;
      }
      const auto start = Clock::now();
      l.bound(run);
      const auto stop = Clock::now();
      const auto us = [](auto d) { return std::chrono::duration<double, std::micro>(d).count(); };
      profile->push_back({l.name, l.op, l.kernel, us(start.time_since_epoch()), us(stop - start), l.bytes, l.flops});
    }
  } catch (const Error& e) {
    fail_at(*at, e);
  }
}

std::byte* Program::address(int c, const std::vector<Cell>& cells, std::byte* arena, std::byte* const* slots) const {
  const Cell& cell = cells[static_cast<size_t>(c)];
  const size_t r = static_cast<size_t>(cell.root);
  if (cell.place == Cell::Place::external) return slots[cell.slot] ? slots[cell.slot] + cell.offset : nullptr;
  if (r < slot_of_.size() && slot_of_[r] >= 0) return slots[slot_of_[r]] + cell.offset;
  NBX_ASSERT(r < offset_of_.size() && offset_of_[r] >= 0);
  return arena + offset_of_[r] + cell.offset;
}

std::pair<std::vector<Buffer>, std::vector<int>> Program::carry(const Stage& stage) const {
  std::vector<Buffer> buffers;
  std::vector<int> cells;
  for (const int r : stage.live_out) {
    if (offset_of_[static_cast<size_t>(r)] < 0) continue;  // in an external place
    buffers.push_back({bytes_of_[static_cast<size_t>(r)], 0, 0, offset_of_[static_cast<size_t>(r)]});
    cells.push_back(r);
  }
  return {std::move(buffers), std::move(cells)};
}

std::string Program::text(const std::vector<Cell>& cells) const {
  const auto label = [&](int c) {
    const Cell& cell = cells[static_cast<size_t>(c)];
    const size_t r = static_cast<size_t>(cell.root);
    std::string where;
    if (cell.meta.known.defined())
      where = "const";
    else if (slot_of_[r] >= 0)
      where = fmt::format("slot{}", slot_of_[r]);
    else
      where = fmt::format("@{}", offset_of_[r]);
    if (cell.offset) where += fmt::format("+{}", cell.offset);
    return fmt::format("{} {}", to_string(cell.meta), where);
  };
  std::string out =
      fmt::format("arena {} lower_bound {} launches {}\n", layout_.arena_bytes, layout_.lower_bound, launches_.size());
  for (const Launch& l : launches_) {
    out += fmt::format("  {} [{}] {}:", l.op, l.kernel, l.name);
    for (const int c : l.in_cells) out += " " + label(c) + ",";
    out += " ->";
    for (const int c : l.out_cells) out += " " + label(c) + ",";
    if (l.workspace >= 0) out += fmt::format(" workspace @{}", l.workspace);
    out += "\n";
  }
  for (const auto& [position, c] : copied_outputs_) out += fmt::format("  copy {} -> output {}\n", label(c), position);
  return out;
}

}  // namespace nbx
