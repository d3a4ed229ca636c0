// SPDX-License-Identifier: Apache-2.0
// Running models: a Model is loaded once and shared; a Session owns threads, one arena and the programs it has made.
//
//   auto model = nbx::Model::load("model.onnx");
//   nbx::Session session(model, {.threads = 2});
//   auto outputs = session.run({{"x", nbx::Tensor::zeros({1, 3, 48, 160}, nbx::DType::float32)}});
#pragma once
#include <nbx/tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nbx {

struct Graph;
class PackCache;

// An input or output as the model declares it. dims: absent when the rank is unknown; an extent of -1 is free, and free
// extents with the same symbol must be equal.
struct ValueInfo {
  std::string name;
  std::optional<DType> dtype;
  struct Dim {
    int64_t extent = -1;
    std::string symbol;
  };
  std::optional<std::vector<Dim>> dims;
};
std::string to_string(const ValueInfo& info);  // "x: float32[batch, 3, ?, 48]"

// Immutable; may be used by several sessions and threads.
class Model {
 public:
  // .onnx, or nbx .json with its .safetensors beside it. Errors (file, unsupported) name the file and what is wrong.
  static std::shared_ptr<const Model> load(const std::string& path);
  static std::shared_ptr<const Model> from_graph(Graph graph);
  ~Model();

  const std::string& name() const;
  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;
  const std::vector<std::pair<std::string, std::string>>& metadata() const;
  int64_t parameter_bytes() const;  // distinct constants
  const Graph& graph() const;       // after the load passes
  PackCache& packs() const;

 private:
  Model();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct SessionOptions {
  int threads = 0;        // 0: one per core that this process may use
  int max_programs = 32;  // input shapes kept ready; the least recently used goes first
  bool fuse = true;       // off: every op by itself (to compare, to debug)
  std::string prefer;     // name part of kernels to prefer where they serve: "onednn"
  // Bytes for activations: the arena of a plan, and what a loop holds between iterations. A plan that needs more is
  // refused (budget) before it runs. Weights are not counted. 0: what the machine has.
  int64_t memory_limit = 0;
};

struct SessionStats {
  int64_t arena_bytes = 0;        // the largest plan so far
  int64_t lower_bound_bytes = 0;  // of that plan: no plan can need less
  int64_t packed_bytes = 0;       // weights in kernel layout
  int programs = 0;               // ready
  int64_t runs = 0;
};

// One op's share of the last run that was profiled.
struct ProfileEvent {
  std::string name, op, kernel;
  double start_us = 0, duration_us = 0;
  int64_t bytes = 0, flops = 0;
};

// One run at a time: calls from several threads take turns.
class Session {
 public:
  explicit Session(std::shared_ptr<const Model> model, SessionOptions options = {});
  ~Session();

  // By name; every input must be given. Results in the model's order, fresh tensors.
  std::vector<Tensor> run(const std::vector<std::pair<std::string, Tensor>>& inputs);
  // In the model's order. An output that is defined, dense and of the right shape and dtype is written in place, any
  // other is replaced; a run with the shapes of an earlier one that reuses its outputs allocates nothing.
  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs);

  // Asks the current run to stop at the next op; that run ends with an error (cancelled). From any thread.
  void cancel();

  const Model& model() const;
  int threads() const;
  SessionStats stats() const;
  // While on, each run records its ops.
  void profile(bool on);
  const std::vector<ProfileEvent>& last_profile() const;
  // What the program for these input shapes launches: one line an op, with plan offsets; made without running when the
  // model's shapes do not depend on values, else up to the first value that is needed.
  std::string describe_program(const std::vector<std::pair<std::string, std::pair<DType, Shape>>>& inputs);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nbx
