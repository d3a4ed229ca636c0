// SPDX-License-Identifier: Apache-2.0
// A graph with every shape known: cells (tensors) and steps (calls), made stage by stage. A stage ends where a value
// must be read before shapes or branches are known (a Reshape by a computed tensor, an If, NonZero); the next one
// starts from there.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace nbx {

struct Cell {
  Meta meta;           // concrete; meta.known when the value is known
  int root = -1;       // the cell that owns the bytes; itself unless a view
  int64_t offset = 0;  // views: bytes from the root's first element
  enum class Place { buffer, constant, external } place = Place::buffer;  // of the root
  int slot = -1;  // external: which address is given at run time
  std::string name;
};

struct Step {
  const OpDecl* op = nullptr;
  Args args;             // operand metas as in the cells
  std::vector<int> in;   // cells, one per operand
  std::vector<int> out;  // cells, one per result
  std::string name;
  const Kernel* kernel = nullptr;
};

// What must run on the host between two stages: an op whose output shape depends on values, or a loop.
struct HostCall {
  int frame = -1, node = -1;
  std::vector<Value> values;  // resolved; TensorRefs: cells
  std::vector<int> in;        // cells read
};

// A graph being worked through: the main one, or the body of a branch that is taken.
struct Frame {
  const Graph* graph = nullptr;
  std::vector<int> cell_of;  // graph tensor → cell, -1: not yet
};

// Where a path through the stages stands. Copied when a path forks.
struct PathState {
  std::vector<Cell> cells;
  std::vector<Frame> frames;
  struct Item {
    int frame = -1, node = -1;
    int inner = -1;  // >= 0: not a call: the results of body `inner` become the node's
  };
  std::vector<Item> pending;
  std::map<std::string, int64_t> symbols;  // resolved so far
  int slots = 0;                           // external addresses handed out
  std::vector<char> given;                 // graph outputs that an earlier stage has made
};

struct LowerOptions {
  bool fuse = true;
  std::string prefer;  // part of a kernel's name
  PackCache* packs = nullptr;
  int64_t fold_bytes = 64 << 10;  // known results up to this size are computed while lowering
};

struct Stage {
  std::vector<Step> steps;
  std::vector<int> wants;  // cells whose values decide what comes next
  std::vector<HostCall> host_calls;
  std::vector<std::pair<int, int>> outputs;  // graph output → cell, that became ready in this stage
  std::vector<int> live_out;                 // root cells (buffers) that later stages read
  bool finished = false;
};

// Slots: inputs first (in graph order), then outputs, then results of host calls as they come.
PathState begin_path(const Graph& graph, const Metas& inputs);
// Lowers all that can be; fuses; chooses kernels. Errors name the node.
Stage lower_stage(PathState& path, const LowerOptions& options);
// Continues after the values of `wants` are known and the host calls have run.
void resume_path(PathState& path, const Stage& stage, const std::vector<Tensor>& values,
                 const std::vector<Metas>& host_results);

// Passes over the steps of a stage; `needed`: root cells that are read after it.
// Activations that a graph spells out in products and sums become one call each.
void find_activations(std::vector<Step>& steps, const std::vector<Cell>& cells, const std::vector<char>& needed,
                      const LowerOptions& options);
void fuse_epilogues(std::vector<Step>& steps, std::vector<Cell>& cells, const std::vector<char>& needed,
                    const LowerOptions& options);
void fuse_pointwise(std::vector<Step>& steps, std::vector<Cell>& cells, const std::vector<char>& needed,
                    const LowerOptions& options);
// Copies before kernels that need dense operands; kernels chosen.
void choose_kernels(std::vector<Step>& steps, std::vector<Cell>& cells, const LowerOptions& options);

// A new cell for a result of a step.
int add_cell(std::vector<Cell>& cells, const Meta& meta, const std::vector<int>& operands, std::string name);

}  // namespace nbx
