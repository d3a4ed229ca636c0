// SPDX-License-Identifier: Apache-2.0
// Runner: a graph made ready for the shapes it meets. Programs form a tree: the root for the input shapes, and below
// each program whose end waits for values (If, computed shapes, NonZero) one for each answer seen. Running a known path
// looks up and launches; it plans and allocates nothing.
#pragma once
#include <nbx/session.h>

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "memory/arena.h"
#include "plan/lowered.h"
#include "runtime/program.h"

namespace nbx {

class Runner {
 public:
  // `stop`: the flag of the run that this one is part of, for the body of a loop; null: its own, which `cancel` sets.
  Runner(const Graph& graph, PackCache& packs, Team& team, const SessionOptions& options,
         const std::atomic<bool>* stop = nullptr);
  ~Runner();

  // In graph order; see Session::run for what happens to `outputs`.
  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs);
  void cancel() { cancelled_ = true; }
  void profile(std::vector<ProfileEvent>* into) { profile_ = into; }
  SessionStats stats() const;
  std::string describe(const Metas& inputs);

 private:
  struct Node;  // a program and what can follow it
  struct Root;

  Node& root_for(std::span<const Tensor> inputs);
  std::unique_ptr<Node> make_node(PathState path, std::vector<Buffer> carried, std::vector<int> carried_cells);
  Node& child_for(Node& node);
  void copy_output(const Node& node, int cell, const Tensor& to) const;
  void run_host_calls(Node& node);
  std::vector<Tensor> host_call(const HostCall& call, Node& node);
  std::vector<Tensor> run_loop(const nbx::Node& node, const std::vector<Value>& values, const Node& at);
  std::vector<Tensor> run_scan(const nbx::Node& node, const std::vector<Value>& values, const Node& at);
  Tensor cell_tensor(const Node& node, int cell) const;
  Runner& body_runner(const Graph& body);

  const Graph& graph_;
  PackCache& packs_;
  Team& team_;
  SessionOptions options_;
  Arena arena_;
  std::vector<std::unique_ptr<Root>> roots_;  // most recently used last
  std::map<const Graph*, std::unique_ptr<Runner>> bodies_;
  std::vector<std::byte*> slots_;  // addresses of inputs, outputs, host results
  std::vector<Tensor> held_;       // host results of the current run, by slot
  std::atomic<bool> cancelled_{false};
  const std::atomic<bool>& stop_;
  std::vector<ProfileEvent>* profile_ = nullptr;
  SessionStats stats_;
};

}  // namespace nbx
