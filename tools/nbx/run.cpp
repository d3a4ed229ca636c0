// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "base/atomic_file.h"
#include "base/check.h"
#include "io/load_inputs.h"
#include "memory/process.h"
#include "nbx/command.h"
#include "ops/registry.h"

namespace nbx::command {

namespace {

std::vector<InputSpec> specs_of(const Model& model) {
  std::vector<InputSpec> specs;
  for (const ValueInfo& v : model.inputs()) {
    InputSpec s;
    s.name = v.name;
    s.type.dtype = v.dtype;
    if (v.dims) {
      s.type.dims.emplace();
      for (const auto& d : *v.dims) s.type.dims->push_back({d.extent, d.symbol});
    }
    specs.push_back(std::move(s));
  }
  return specs;
}

// For people: what is in a result, at a glance.
struct Summary {
  double min = std::numeric_limits<double>::infinity(), max = -min, mean = 0;
  int64_t nans = 0;
};
Summary summarise(const Tensor& t) {
  Summary s;
  int64_t n = 0;
  for (const double v : t.to_doubles()) {
    if (std::isnan(v)) {
      ++s.nans;
      continue;
    }
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
    s.mean += v;
    ++n;
  }
  s.mean = n ? s.mean / static_cast<double>(n) : std::nan("");
  return s;
}

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

void write_trace(const std::string& path, const std::vector<ProfileEvent>& events) {
  Json trace;
  trace["displayTimeUnit"] = "ms";
  trace["traceEvents"] = Json::array();
  const double start = events.empty() ? 0 : events.front().start_us;
  for (const ProfileEvent& e : events) {
    Json j;
    j["name"] = e.name;
    j["cat"] = e.op;
    j["ph"] = "X";
    j["pid"] = 1;
    j["tid"] = 1;
    j["ts"] = e.start_us - start;
    j["dur"] = e.duration_us;
    j["args"] = {{"op", e.op}, {"kernel", e.kernel}, {"bytes", e.bytes}, {"flops", e.flops}};
    trace["traceEvents"].push_back(std::move(j));
  }
  write_file_atomically(path, trace.dump(1) + "\n");
}

// What would fail after the work is refused before it.
void check_target(const std::string& path, bool is_output) {
  if (path.empty()) return;
  const std::filesystem::path target(path);
  std::string suffix = target.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (is_output && suffix != ".npz" && suffix != ".safetensors" && suffix != ".npy")
    throw Error(Code::value, path + ": outputs are written to .npz, .safetensors or .npy");
  std::error_code ignored;
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, ignored))
    throw Error(Code::file, path + ": there is no folder " + folder.string());
  if (std::filesystem::is_directory(target, ignored)) throw Error(Code::file, path + ": this is a folder; name a file");
  if (access(folder.c_str(), W_OK) != 0) throw Error(Code::file, path + ": no file can be made in " + folder.string());
}

void check_prefer(const std::string& part) {
  for (const OpDecl* op : all_ops())
    for (const Kernel& kernel : op->kernels)
      if (kernel.name.find(part) != std::string::npos) return;
  fail(Code::value, "--prefer '{}': no kernel has this in its name; nbx ops lists them", part);
}

}  // namespace

int run(const RunOptions& o) {
  check_target(o.output, true);
  check_target(o.profile, false);
  std::error_code none;
  require(o.output.empty() || o.profile.empty() ||
              std::filesystem::weakly_canonical(o.output, none) != std::filesystem::weakly_canonical(o.profile, none),
          Code::value, "{}: --output and --profile name the same file", o.output);
  if (!o.prefer.empty()) check_prefer(o.prefer);
  require(!(o.json && o.table), Code::value, "--table is for people and --json for machines; leave one out");
  const int64_t before = resident_bytes().value_or(0);
  Progress progress;
  progress.show(fmt::format("loading {} ...", o.model));
  const double t0 = now_ms();
  std::shared_ptr<const Model> model;
  with_file(o.model, [&] { model = Model::load(o.model); });
  SessionOptions options;
  options.threads = o.threads;
  options.fuse = !o.no_fuse;
  options.prefer = o.prefer;
  options.memory_limit = static_cast<int64_t>(std::min<uint64_t>(o.memory_limit, INT64_MAX));
  Session session(model, options);
  const double load_ms = now_ms() - t0;

  LoadedInputs loaded = load_inputs(o.inputs, specs_of(*model));
  progress.clear();
  for (const std::string& note : loaded.notes) fmt::print(stderr, "nbx: note: {}\n", note);
  std::vector<Tensor> inputs;
  for (const auto& entry : loaded.tensors) inputs.push_back(entry.second);

  const Interruptible guard(session);
  std::vector<Tensor> outputs;
  const auto run_once = [&] {
    with_file(o.model, [&] { session.run(inputs, outputs); });
    // An interrupt between two runs finds none to stop.
    if (Interruptible::interrupted()) throw Error(Code::cancelled, o.model + ": interrupted");
  };
  progress.show("first run ...");
  const double t1 = now_ms();
  run_once();
  const double first_ms = now_ms() - t1;
  std::vector<double> times;
  if (o.repeat > 0) {
    run_once();  // the warm-up
    double told = now_ms();
    for (int i = 0; i < o.repeat; ++i) {
      const double start = now_ms();
      run_once();
      times.push_back(now_ms() - start);
      if (now_ms() - told > 200) {
        progress.show(fmt::format("run {} of {} ...", i + 1, o.repeat));
        told = now_ms();
      }
    }
  }
  if (!o.profile.empty() || o.table) {
    session.profile(true);
    run_once();
    session.profile(false);
    if (!o.profile.empty()) write_trace(o.profile, session.last_profile());
  }
  progress.clear();

  const auto& infos = model->outputs();
  if (!o.output.empty()) {
    NamedTensors named;
    for (size_t i = 0; i < infos.size(); ++i) named.add(infos[i].name, outputs[i]);
    save_outputs(o.output, named);
  }
  const SessionStats stats = session.stats();
  const int64_t peak = std::max<int64_t>(0, peak_resident_bytes().value_or(0) - before);
  const double min_ms = times.empty() ? first_ms : *std::min_element(times.begin(), times.end());
  double median_ms = first_ms;
  if (!times.empty()) {
    std::sort(times.begin(), times.end());
    const size_t m = times.size() / 2;
    median_ms = times.size() % 2 ? times[m] : (times[m - 1] + times[m]) / 2;
  }

  if (o.json) {
    Json j;
    j["model"] = o.model;
    j["threads"] = session.threads();
    j["load_ms"] = load_ms;
    j["ms"] = {{"first", first_ms}, {"min", min_ms}, {"median", median_ms}};
    j["repeat"] = o.repeat;
    j["peak_bytes"] = peak;
    j["planned_bytes"] = stats.arena_bytes;
    j["lower_bound_bytes"] = stats.lower_bound_bytes;
    j["parameter_bytes"] = model->parameter_bytes();
    j["outputs"] = Json::array();
    for (size_t i = 0; i < infos.size(); ++i) {
      const Summary s = summarise(outputs[i]);
      Json out;
      out["name"] = infos[i].name;
      out["dtype"] = nbx::name(outputs[i].dtype());
      out["shape"] = std::vector<int64_t>(outputs[i].shape().begin(), outputs[i].shape().end());
      out["min"] = number(s.min);
      out["max"] = number(s.max);
      out["mean"] = number(s.mean);
      out["nans"] = s.nans;
      j["outputs"].push_back(std::move(out));
    }
    fmt::print("{}\n", j.dump(1));
    return 0;
  }
  for (size_t i = 0; i < infos.size(); ++i) {
    const Summary s = summarise(outputs[i]);
    fmt::print("{}: {}  min {:.6g}  max {:.6g}  mean {:.6g}{}\n", infos[i].name, describe(outputs[i]), s.min, s.max,
               s.mean, s.nans ? fmt::format("  NaN {}", s.nans) : "");
    if (o.output.empty() && outputs[i].numel() <= 64) fmt::print("{}\n", to_string(outputs[i]));
  }
  if (!o.output.empty()) fmt::print("written to {}\n", o.output);
  fmt::print("load {:.1f} ms, first run {:.2f} ms", load_ms, first_ms);
  if (o.repeat > 0) fmt::print(", {} more: min {:.3f} ms, median {:.3f} ms", o.repeat, min_ms, median_ms);
  fmt::print(", {} threads, peak memory {}, planned {}\n", session.threads(), human_bytes(peak),
             human_bytes(stats.arena_bytes));
  if (o.table) print_profile(session.last_profile(), session.threads());
  return 0;
}

}  // namespace nbx::command
