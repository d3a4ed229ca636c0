// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nbx/session.h>

#include <mutex>

#include "base/check.h"
#include "runtime/runner.h"

namespace nbx {

namespace {

void check_input(const ValueInfo& info, DType dtype, const Shape& shape) {
  // No text is made unless something is wrong: this runs before every run.
  if (info.dtype && *info.dtype != dtype)
    fail(Code::dtype, "input '{}' is {}, the model wants {}", info.name, describe(dtype, shape), to_string(info));
  if (!info.dims) return;
  bool fits = info.dims->size() == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = (*info.dims)[d].extent < 0 || (*info.dims)[d].extent == shape[d];
  if (!fits)
    fail(Code::shape, "input '{}' is {}, the model wants {}", info.name, describe(dtype, shape), to_string(info));
}

}  // namespace

struct Session::Impl {
  std::shared_ptr<const Model> model;
  Team team;
  Runner runner;
  std::mutex mutex;
  bool profiling = false;
  std::vector<ProfileEvent> events;

  Impl(std::shared_ptr<const Model> m, const SessionOptions& options)
      : model(std::move(m)),
        team(options.threads > 0 ? options.threads : usable_cores()),
        runner(model->graph(), model->packs(), team, options) {}

  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs) {
    const auto& infos = model->inputs();
    require(inputs.size() == infos.size(), Code::value, "model '{}' has {} inputs, {} are given", model->name(),
            infos.size(), inputs.size());
    for (size_t i = 0; i < infos.size(); ++i) {
      if (!inputs[i].defined())
        fail(Code::value, "input '{}' is missing; the model wants {}", infos[i].name, to_string(infos[i]));
      check_input(infos[i], inputs[i].dtype(), inputs[i].shape());
    }
    std::lock_guard lock(mutex);
    events.clear();
    runner.profile(profiling ? &events : nullptr);
    runner.run(inputs, outputs);
  }
};

Session::Session(std::shared_ptr<const Model> model, SessionOptions options) {
  require(model != nullptr, Code::value, "Session: the model is null");
  require(options.threads >= 0 && options.threads <= 1024, Code::value,
          "Session: threads is {}; 0 (one per core) to 1024 are allowed", options.threads);
  require(options.memory_limit >= 0, Code::value, "Session: memory_limit is {}; 0 (no limit) or a number of bytes",
          options.memory_limit);
  impl_ = std::make_unique<Impl>(std::move(model), options);
}
Session::~Session() = default;

std::vector<Tensor> Session::run(const std::vector<std::pair<std::string, Tensor>>& inputs) {
  const auto& infos = impl_->model->inputs();
  std::vector<Tensor> ordered(infos.size());
  for (const auto& [input, tensor] : inputs) {
    size_t i = 0;
    while (i < infos.size() && infos[i].name != input) ++i;
    if (i == infos.size()) {
      std::string known;
      for (const ValueInfo& v : infos) known += (known.empty() ? "" : ", ") + to_string(v);
      fail(Code::value, "model '{}' has no input '{}'; it has {}", impl_->model->name(), input, known);
    }
    ordered[i] = tensor;
  }
  std::vector<Tensor> outputs;
  impl_->run(ordered, outputs);
  return outputs;
}

void Session::run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs) { impl_->run(inputs, outputs); }
void Session::cancel() { impl_->runner.cancel(); }
const Model& Session::model() const { return *impl_->model; }
int Session::threads() const { return impl_->team.threads(); }

SessionStats Session::stats() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->runner.stats();
}

void Session::profile(bool on) {
  std::lock_guard lock(impl_->mutex);
  impl_->profiling = on;
}

const std::vector<ProfileEvent>& Session::last_profile() const { return impl_->events; }

std::string Session::describe_program(const std::vector<std::pair<std::string, std::pair<DType, Shape>>>& inputs) {
  const auto& infos = impl_->model->inputs();
  Metas metas;
  for (const ValueInfo& info : infos) {
    bool found = false;
    for (const auto& [input, type] : inputs) {
      if (input != info.name) continue;
      check_input(info, type.first, type.second);
      metas.emplace_back(type.first, type.second);
      found = true;
      break;
    }
    require(found, Code::value, "no shape is given for input '{}'; the model wants {}", info.name, to_string(info));
  }
  std::lock_guard lock(impl_->mutex);
  return impl_->runner.describe(metas);
}

}  // namespace nbx
