// SPDX-License-Identifier: Apache-2.0
// Real models: a folder with a manifest.json, inputs and reference outputs in safetensors files. Each case runs once
// for each thread count; the first is held to the reference, the others to the bits of the first.
#include <fmt/format.h>
#include <nbx/session.h>

#include <sys/stat.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "golden/archive.h"
#include "golden/golden.h"
#include "io/nbx_json_value.h"
#include "io/safetensors.h"
#include "models/builders.h"
#include "ops/compare.h"
#if NBX_HAVE_ONNX
#include "io/onnx.h"
#endif

namespace nbx {

namespace {

using Json = nlohmann::json;

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

struct Wanted {
  std::string name;
  bool exact = false;
  double atol = 0, rtol = 0;
};

// The field, if it is there and of this kind; else an error (file) that names it and its value.
const Json& need(const Json& object, const char* field, bool (Json::*is)() const noexcept, const char* kind,
                 const std::string& where) {
  require(object.is_object(), Code::file, "{}: {} is no object", where, shown(object));
  const auto at = object.find(field);
  require(at != object.end(), Code::file, "{}: field '{}' is missing; it must be {}", where, field, kind);
  require(((*at).*is)(), Code::file, "{}: field '{}' is {}; it must be {}", where, field, shown(*at), kind);
  return *at;
}
std::string need_text(const Json& object, const char* field, const std::string& where) {
  return need(object, field, &Json::is_string, "text", where).get<std::string>();
}
double number_or_zero(const Json& object, const char* field, const std::string& where) {
  return object.contains(field) ? need(object, field, &Json::is_number, "a number", where).get<double>() : 0.0;
}
bool flag_or_false(const Json& object, const char* field, const std::string& where) {
  return object.contains(field) && need(object, field, &Json::is_boolean, "true or false", where).get<bool>();
}

bool file_exists(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0;
}

// The model behind a case's `graph`, or a reason why there is none.
std::shared_ptr<const Model> load(const Json& manifest, const std::string& weights, const std::string& graph,
                                  std::string& reason) {
  const size_t mark = graph.find('!');  // archive.tar.gz!member
  const std::string path = weights + "/" + graph.substr(0, mark);
  require(file_exists(path), Code::file, "{}: no such file; install the package {} into {}", path,
          manifest.value("/package/install"_json_pointer, std::string("of the manifest")), weights);
  const auto ends = [&](const char* suffix) {
    const std::string s = suffix;
    return graph.size() >= s.size() && graph.compare(graph.size() - s.size(), s.size(), s) == 0;
  };
  if (mark != std::string::npos) {
#if NBX_HAVE_ONNX
    if (ends(".onnx"))
      return Model::from_graph(import_onnx(read_tar_member(path, graph.substr(mark + 1)), std::string()));
#endif
    reason = "no reader for this format in an archive yet: " + graph;
    return nullptr;
  }
  if (ends(".onnx") || ends(".json")) return Model::load(path);
  if (auto built = examples::build_model(manifest.value("model", std::string()), path))
    return Model::from_graph(std::move(*built));
  reason = "no builder for this format yet: " + graph;
  return nullptr;
}

// A recording that is fed frame by frame, state carried along (silero-vad).
NamedTensors run_stream(Session& session, const NamedTensors& inputs) {
  const Tensor frames = inputs.at("frames");
  Tensor state = inputs.at("state0");
  const Model& model = session.model();
  std::vector<float> probs;
  NamedTensors out;
  std::vector<Tensor> results;
  for (int64_t i = 0; i < frames.dim(0); ++i) {
    std::vector<Tensor> given;
    for (const ValueInfo& v : model.inputs()) {
      if (v.name == "input") {
        given.push_back(frames.narrow(0, i, 1));
      } else if (v.name == "state") {
        given.push_back(state);
      } else if (v.name == "sr") {
        const Tensor& sr = inputs.at("sr");
        given.push_back(v.dims && v.dims->empty() ? sr.select(0, 0) : sr);
      } else {
        fail(Code::value, "a streamed model with an input '{}' is not known", v.name);
      }
    }
    results.clear();
    session.run(given, results);
    for (size_t o = 0; o < results.size(); ++o) {
      const std::string& name = model.outputs()[o].name;
      if (name == "output") probs.push_back(static_cast<float>(results[o].to_doubles().at(0)));
      if (name == "stateN") {
        state = results[o];
        if (i == 0) out.add("state_after_first", state.clone());
      }
      if (i == 12 && name != "output" && name != "stateN") out.add(name + "_frame12", results[o].clone());
    }
  }
  out.add("state_after_last", state.clone());
  out.add("probs", Tensor::of<float>({static_cast<int64_t>(probs.size())}, std::span<const float>(probs)));
  return out;
}

NamedTensors run_once(Session& session, const NamedTensors& inputs) {
  std::vector<Tensor> given, results;
  for (const ValueInfo& v : session.model().inputs()) given.push_back(inputs.at(v.name));
  session.run(given, results);
  NamedTensors out;
  for (size_t o = 0; o < results.size(); ++o) out.add(session.model().outputs()[o].name, results[o]);
  return out;
}

// "X.argmax" and "X.max": over the class axis, the last one.
Tensor over_classes(const Tensor& t, bool index) {
  const Tensor dense = t.contiguous();
  const int64_t classes = dense.dim(-1), rows = dense.numel() / classes;
  Shape shape(dense.shape().begin(), dense.shape().end() - 1);
  Tensor best = Tensor::empty(shape, DType::int64), largest = Tensor::empty(shape, DType::float32);
  const float* p = dense.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (p[r * classes + c] > p[r * classes + at]) at = c;
    best.mutable_data<int64_t>()[r] = at;
    largest.mutable_data<float>()[r] = p[r * classes + at];
  }
  return index ? best : largest;
}

Tensor result_for(const NamedTensors& results, const std::string& name) {
  if (const Tensor* t = results.find(name)) return *t;
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos)
    if (const Tensor* t = results.find(name.substr(0, dot))) {
      const std::string what = name.substr(dot + 1);
      if (what == "argmax" || what == "max") return over_classes(*t, what == "argmax");
    }
  fail(Code::value, "the model gives no '{}'; it gives {}", name, results.names());
}

// One line a wrong output; empty when all are right.
std::vector<std::string> compare(const NamedTensors& results, const NamedTensors& reference,
                                 const std::vector<Wanted>& wanted) {
  std::vector<std::string> wrong;
  for (const Wanted& w : wanted) {
    const Tensor got = result_for(results, w.name);
    const Tensor& want = reference.at(w.name);
    if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
      wrong.push_back(fmt::format("{}: is {}, expected {}", w.name, describe(got), describe(want)));
      continue;
    }
    const Comparison c = compare_close(got, want, w.exact ? 0 : w.atol, w.exact ? 0 : w.rtol);
    if (!c.ok) wrong.push_back(fmt::format("{}: {} (atol {:g}, rtol {:g})", w.name, c.text(), w.atol, w.rtol));
  }
  return wrong;
}

void run_case(const Json& manifest, const Json& c, const std::string& where, const std::string& folder,
              const std::string& weights, const std::string& graph, const std::vector<int>& threads, Counts& counts) {
  const std::string label =
      fmt::format("{}/{} {}", manifest.value("model", "?"), c.value("name", "?"), graph.substr(graph.rfind('/') + 1));
  try {
    std::string reason;
    const auto model = load(manifest, weights, graph, reason);
    if (!model) {
      fmt::print("skip {}: {}\n", label, reason);
      ++counts.skipped;
      return;
    }
    const NamedTensors inputs = read_safetensors(folder + "/" + need_text(c, "inputs_file", where)).tensors;
    const std::string outputs_file = folder + "/" + need_text(c, "outputs_file", where);
    const NamedTensors reference = read_safetensors(outputs_file).tensors;
    std::vector<Wanted> wanted;
    for (const Json& o : need(c, "outputs", &Json::is_array, "a list", where)) {
      const std::string at = where + ".outputs";
      wanted.push_back({need_text(o, "name", at), flag_or_false(o, "exact", at), number_or_zero(o, "atol", at),
                        number_or_zero(o, "rtol", at)});
      require(reference.find(wanted.back().name) != nullptr, Code::file, "{}: there is no tensor '{}'; it has {}",
              outputs_file, wanted.back().name, reference.names());
    }
    require(!wanted.empty(), Code::file, "{}: field 'outputs' is empty; nothing would be tested", where);
    std::optional<NamedTensors> first;
    std::vector<std::string> wrong;
    for (const int n : threads) {
      SessionOptions options;
      options.threads = n;
      Session session(model, options);
      const NamedTensors results =
          flag_or_false(c, "stateful", where) ? run_stream(session, inputs) : run_once(session, inputs);
      if (!first) {
        first = results;
        wrong = compare(results, reference, wanted);
        continue;
      }
      for (const auto& [name, tensor] : results)
        if (!same_bits(tensor, first->at(name)))
          wrong.push_back(fmt::format("{}: other bits with {} threads than with {}", name, n, threads[0]));
    }
    if (wrong.empty()) {
      ++counts.passed;
      fmt::print("pass {}\n", label);
      return;
    }
    ++counts.failed;
    for (const std::string& w : wrong) fmt::print("FAIL {}: {}\n", label, w);
  } catch (const Error& e) {
    if (e.code() == Code::file) throw;  // what should be tested cannot be read: no verdict on nbx
    ++counts.failed;
    fmt::print("FAIL {}: {}\n", label, e.what());
  }
}

}  // namespace

}  // namespace nbx

int golden_model(int argc, char** argv) {
  using namespace nbx;
  std::string folder, weights;
  std::vector<int> threads{1, 2};
  for (int i = 0; i < argc; ++i) {
    const std::string arg = argv[i];
    if ((arg == "--weights" || arg == "--threads") && i + 1 < argc) {
      const std::string value = argv[++i];
      if (arg == "--weights") {
        weights = value;
        continue;
      }
      threads.clear();
      for (size_t at = 0; at < value.size();) {
        char* end = nullptr;
        const long n = std::strtol(value.c_str() + at, &end, 10);
        require(end != value.c_str() + at && n >= 1 && n <= 1024, Code::value,
                "--threads '{}': numbers of 1 to 1024 with commas", value);
        threads.push_back(static_cast<int>(n));
        at = static_cast<size_t>(end - value.c_str()) + 1;
      }
    } else if (folder.empty() && arg[0] != '-') {
      folder = arg;
    } else {
      fail(Code::value, "model: unexpected argument '{}'; usage: nbx-golden model DIR --weights DIR [--threads 1,2]",
           arg);
    }
  }
  require(!folder.empty() && !weights.empty() && !threads.empty(), Code::value,
          "usage: nbx-golden model DIR --weights DIR [--threads 1,2]");
  const std::string path = folder + "/manifest.json";
  std::ifstream in(path);
  require(in.good() && std::filesystem::is_regular_file(path), Code::file, "{}: cannot be read as a file", path);
  Json manifest;
  try {
    manifest = Json::parse(in);
  } catch (const Json::exception& e) {
    fail(Code::file, "{}: {}", path, e.what());
  }
  Counts counts;
  try {
    const Json& cases = need(manifest, "cases", &Json::is_array, "a list", path);
    require(!cases.empty(), Code::file, "{}: field 'cases' is empty; nothing would be tested", path);
    for (size_t i = 0; i < cases.size(); ++i) {
      const Json& c = cases[i];
      const std::string where = fmt::format("{}: cases[{}]", path, i);
      require(c.is_object() && c.contains("graph"), Code::file, "{}: field 'graph' is missing", where);
      const Json& graph = c.at("graph");
      const Json list = graph.is_string() ? Json::array({graph}) : graph;
      require(list.is_array() && !list.empty(), Code::file,
              "{}: field 'graph' is {}; it must be a file name or a list of them", where, shown(graph));
      for (const Json& g : list) {
        require(g.is_string(), Code::file, "{}: field 'graph' holds {}; it must be a file name", where, shown(g));
        run_case(manifest, c, where, folder, weights, g.get<std::string>(), threads, counts);
      }
    }
  } catch (const Json::exception& e) {
    fail(Code::file, "{}: {}", path, e.what());
  }
  fmt::print("{} passed, {} failed, {} skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed ? 1 : 0;
}
