// SPDX-License-Identifier: Apache-2.0
#include "runtime/record.h"

#include "plan/lowered.h"
#include "runtime/program.h"

namespace nbx {

Recording record_launches(const Graph& graph, const Metas& inputs, const Profile& profile, LaunchSink& sink,
                          const SessionOptions& options) {
  PathState path = begin_path(graph, inputs);
  const Stage stage = lower_stage(path, lower_options(options));
  const Layout layout = plan_layout(stage, path.cells, static_cast<int>(graph.inputs.size()));
  for (const Step& step : stage.steps) {
    Metas outputs;
    for (const int c : step.out) outputs.push_back(path.cells[static_cast<size_t>(c)].meta);
    LaunchRecord record;
    record.op = step.op->parsed.full_name();
    record.node = step.name;
    record.kernel = step.kernel->name;
    KeySink keys;
    step.op->keys(step.args, outputs, profile, keys);
    for (const LaunchKey& key : keys.keys()) record.keys.push_back(to_string(key));
    const Cost cost = step.op->cost(step.args, outputs);
    record.bytes = cost.read + cost.written;
    record.flops = cost.flops;
    record.workspace = step.kernel->workspace ? step.kernel->workspace(step.args) : 0;
    sink.launch(std::move(record));
  }
  return {stage.finished, layout.arena_bytes, layout.lower_bound};
}

}  // namespace nbx
