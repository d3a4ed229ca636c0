// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdlib>
#include <map>

#include "backend/null/device.h"
#include "graph/graph.h"
#include "io/load_graph.h"
#include "io/nbx_json.h"
#include "nbx/command.h"
#include "runtime/record.h"

namespace nbx::command {

namespace {

void count_ops(const Graph& g, std::map<std::string, int>& counts) {
  for (const Node& n : g.nodes) {
    ++counts[n.op->parsed.full_name()];
    for (const auto& body : n.bodies) count_ops(*body, counts);
  }
}

// "name=1,3,48,160", for each input; a free extent that is not given is 1.
std::vector<std::pair<std::string, std::pair<DType, Shape>>> shapes_for(const Model& model,
                                                                        const std::vector<std::string>& given) {
  std::map<std::string, Shape> by_name;
  for (const std::string& text : given) {
    const size_t eq = text.rfind('=');
    if (eq == std::string::npos)
      throw Error(Code::value, "--shape '" + text + "': NAME=d0,d1,... is needed, for example x=1,3,48,160");
    Shape shape;
    size_t at = eq + 1;
    while (at < text.size()) {
      char* end = nullptr;
      errno = 0;
      const long long v = std::strtoll(text.c_str() + at, &end, 10);
      if (end == text.c_str() + at || v < 0 || errno == ERANGE || (*end != ',' && *end != '\0') ||
          (*end == ',' && end[1] == '\0'))
        throw Error(Code::value, "--shape '" + text + "': extents are integers of 0 or more with commas between them");
      shape.push_back(v);
      at = static_cast<size_t>(end - text.c_str()) + 1;
    }
    if (!by_name.emplace(text.substr(0, eq), shape).second)
      throw Error(Code::value, "--shape '" + text + "': this input's shape is given twice");
  }
  std::vector<std::pair<std::string, std::pair<DType, Shape>>> out;
  for (const ValueInfo& v : model.inputs()) {
    Shape shape;
    if (const auto it = by_name.find(v.name); it != by_name.end()) {
      shape = it->second;
      by_name.erase(it);
    } else if (v.dims) {
      for (const auto& d : *v.dims) shape.push_back(d.extent >= 0 ? d.extent : 1);
    } else {
      throw Error(Code::value, "input '" + v.name + "' has no declared rank; give --shape " + v.name + "=d0,d1,...");
    }
    out.push_back({v.name, {v.dtype.value_or(DType::float32), shape}});
  }
  if (!by_name.empty())
    throw Error(Code::value, "--shape names '" + by_name.begin()->first + "', which is no input of the model");
  return out;
}

void show_launches(const Model& model, const InspectOptions& o) {
  Metas inputs;
  for (const auto& [name, type] : shapes_for(model, o.shapes)) inputs.emplace_back(type.first, type.second);
  NullDevice device;
  const Recording r = record_launches(model.graph(), inputs, Profile{}, device);
  if (o.json) {
    Json j;
    j["complete"] = r.complete;
    j["arena_bytes"] = r.arena_bytes;
    j["lower_bound_bytes"] = r.lower_bound_bytes;
    j["launches"] = Json::array();
    for (const LaunchRecord& l : device.launches())
      j["launches"].push_back({{"op", l.op},
                               {"node", l.node},
                               {"kernel", l.kernel},
                               {"keys", l.keys},
                               {"bytes", l.bytes},
                               {"flops", l.flops},
                               {"workspace", l.workspace}});
    fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  std::vector<std::vector<std::string>> rows{{"op", "kernel", "bytes", "flops", "keys"}};
  for (const LaunchRecord& l : device.launches()) {
    std::string keys;
    for (const std::string& k : l.keys) keys += (keys.empty() ? "" : "; ") + k;
    rows.push_back({l.op, l.kernel, fmt::format("{}", l.bytes), fmt::format("{}", l.flops), keys});
  }
  fmt::print("{}{} launches, arena {}, lower bound {}{}\n", table(rows), device.launches().size(),
             human_bytes(r.arena_bytes), human_bytes(r.lower_bound_bytes),
             r.complete ? "" : "; what follows depends on values");
}

}  // namespace

int inspect(const InspectOptions& o) {
  Progress progress;
  progress.show(fmt::format("loading {} ...", o.model));
  if (!o.save.empty()) {
    Graph graph;
    with_file(o.model, [&] { graph = load_graph(o.model); });
    progress.clear();
    write_nbx_json(graph, o.save);
    fmt::print("written to {}\n", o.save);
    return 0;
  }
  if (!o.shapes.empty() && !o.plan && !o.launches)
    throw Error(Code::value, "--shape '" + o.shapes[0] + "' says for what to plan; give --plan or --launches with it");
  std::shared_ptr<const Model> model;
  with_file(o.model, [&] { model = Model::load(o.model); });
  progress.clear();
  if (o.launches) {
    with_file(o.model, [&] { show_launches(*model, o); });
    return 0;
  }
  std::map<std::string, int> counts;
  count_ops(model->graph(), counts);
  std::string plan;
  if (o.plan) {
    SessionOptions options;
    options.threads = 1;
    Session session(model, options);
    with_file(o.model, [&] { plan = session.describe_program(shapes_for(*model, o.shapes)); });
  }
  if (o.json) {
    Json j;
    j["model"] = o.model;
    j["name"] = model->name();
    j["source"] = model->graph().source;
    j["inputs"] = Json::array();
    j["outputs"] = Json::array();
    for (const auto& v : model->inputs()) j["inputs"].push_back(json_of(v));
    for (const auto& v : model->outputs()) j["outputs"].push_back(json_of(v));
    j["parameter_bytes"] = model->parameter_bytes();
    j["nodes"] = model->graph().nodes.size();
    j["ops"] = counts;
    j["metadata"] = Json::object();
    for (const auto& [key, value] : model->metadata()) j["metadata"][key] = value;
    if (o.plan) j["plan"] = plan;
    fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  if (o.text) {
    fmt::print("{}", to_text(model->graph()));
    return 0;
  }
  if (o.plan) {
    fmt::print("{}", plan);
    return 0;
  }
  fmt::print("{} ({})\n", model->name().empty() ? o.model : model->name(), model->graph().source);
  fmt::print("parameters: {}\n", human_bytes(model->parameter_bytes()));
  for (const auto& v : model->inputs()) fmt::print("input   {}\n", to_string(v));
  for (const auto& v : model->outputs()) fmt::print("output  {}\n", to_string(v));
  for (const auto& [key, value] : model->metadata())
    fmt::print("metadata {}: {}\n", key, value.size() > 60 ? fmt::format("{} bytes", value.size()) : value);
  std::vector<std::vector<std::string>> rows{{"op", "nodes"}};
  for (const auto& [op, n] : counts) rows.push_back({op, fmt::format("{}", n)});
  fmt::print("{}", table(rows));
  return 0;
}

}  // namespace nbx::command
