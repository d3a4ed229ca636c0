// SPDX-License-Identifier: Apache-2.0
// The node tests that the onnx package generates (scripts/make_node_tests.py writes them). A case whose ops are all
// claimed must pass. A case that is not supported must be in the list, and one that is in the list must not be
// supported: the list says what is missing today.
#include <fmt/format.h>
#include <nbx/session.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/atomic_file.h"
#include "base/check.h"
#include "golden/golden.h"
#include "ops/compare.h"
#if NBX_HAVE_ONNX
#include "io/onnx.h"
#endif

#if NBX_HAVE_ONNX
namespace nbx {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Reasons of the list that hold although the op is claimed: the case's numbers are those of another generator.
constexpr const char* kRandom = "random: ";

struct Outcome {
  enum class Kind { passed, failed, skipped } kind = Kind::passed;
  std::string text;
};
Outcome skip(std::string why) { return {Outcome::Kind::skipped, std::move(why)}; }
Outcome wrong(std::string why) { return {Outcome::Kind::failed, std::move(why)}; }

// Paths of other machines have no place in a list that is checked in.
std::string without(std::string text, const std::string& part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
  return text;
}

// Two steps of a half type are allowed at least: the generator rounds after every operation, and where a sum
// lies near the middle of two values, any other order of adding takes the other one.
double rtol_for(DType dtype, double rtol) {
  if (dtype == DType::bfloat16) return std::max(rtol, 0x1p-6);
  return dtype == DType::float16 ? std::max(rtol, 0x1p-9) : rtol;
}

std::string differs(const Tensor& got, const Tensor& want, double atol, double rtol) {
  if (!got.defined()) return "no result";
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return fmt::format("is {}, should be {}", describe(got), describe(want));
  const Comparison c = compare_close(got, want, atol, rtol_for(want.dtype(), rtol));
  return c.ok ? std::string() : c.text();
}

Outcome run_case(const fs::path& folder) {
  Json about;
  std::ifstream(folder / "case.json") >> about;
  for (const char* role : {"inputs", "outputs"})
    for (const Json& kind : about.at(role))
      if (kind != "tensor") return skip(fmt::format("{} that are no tensors ({})", role, kind.get<std::string>()));
  std::vector<Tensor> inputs, outputs, wanted;
  std::shared_ptr<const Model> model;
  const std::string prefix = (folder / "model.onnx").string() + ": ";
  try {
    model = Model::load((folder / "model.onnx").string());
    for (const auto& [role, list] : {std::pair("input", &inputs), std::pair("output", &wanted)})
      for (size_t i = 0; i < about.at(std::string(role) + "s").size(); ++i)
        list->push_back(read_onnx_tensor((folder / fmt::format("{}_{}.pb", role, i)).string()));
  } catch (const Error& e) {
    const std::string text = without(without(e.what(), prefix), folder.string() + "/");
    return e.code() == Code::unsupported ? skip(without(text, "not supported: ")) : wrong(text);
  }
  try {
    if (inputs.size() != model->inputs().size())
      return wrong(fmt::format("the case has {} inputs, the model {}", inputs.size(), model->inputs().size()));
    SessionOptions options;
    options.threads = 1;
    Session session(model, options);
    session.run(inputs, outputs);
  } catch (const Error& e) {
    return e.code() == Code::unsupported ? skip(e.what()) : wrong(e.what());
  }
  if (outputs.size() != wanted.size())
    return wrong(fmt::format("{} outputs, should be {}", outputs.size(), wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string text =
        differs(outputs[i], wanted[i], about.at("atol").get<double>(), about.at("rtol").get<double>());
    if (!text.empty()) return wrong(fmt::format("output {}: {}", model->outputs()[i].name, text));
  }
  return {};
}

// "name  reason" a line, # comments.
std::map<std::string, std::string> read_list(const std::string& path) {
  std::ifstream in(path);
  require(in.good(), Code::file, "{}: cannot be read", path);
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    const size_t reason = space == std::string::npos ? space : line.find_first_not_of(' ', space);
    require(reason != std::string::npos, Code::file, "{}: the line '{}' has no reason", path, line);
    require(out.emplace(line.substr(0, space), line.substr(reason)).second, Code::file, "{}: {} is listed twice", path,
            line.substr(0, space));
  }
  return out;
}

struct Options {
  std::string folder, list, write_list, only;
};

Options parse(int argc, char** argv) {
  constexpr const char* kUsage = "usage: nbx-golden onnx-node DIR [--list FILE] [--write-list FILE] [--only PART]";
  Options o;
  for (int i = 0; i < argc; ++i) {
    const std::string arg = argv[i];
    std::string* to = arg == "--list"         ? &o.list
                      : arg == "--write-list" ? &o.write_list
                      : arg == "--only"       ? &o.only
                                              : nullptr;
    if (!to) {
      require(o.folder.empty() && arg.rfind("--", 0) != 0, Code::value, "unexpected argument '{}'; {}", arg, kUsage);
      o.folder = arg;
      continue;
    }
    require(++i < argc, Code::value, "{} needs a value; {}", arg, kUsage);
    *to = argv[i];
  }
  require(!o.folder.empty(), Code::value, "{}", kUsage);
  return o;
}

int run(const Options& o) {
  require(fs::is_directory(o.folder), Code::file, "{}: no such folder; scripts/make_node_tests.py makes it", o.folder);
  const auto listed = o.list.empty() ? std::map<std::string, std::string>() : read_list(o.list);
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(o.folder))
    if (entry.is_directory() && entry.path().filename().string().find(o.only) != std::string::npos)
      cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  int passed = 0, failed = 0;
  std::map<std::string, std::string> skipped, current;  // as listed, and as found
  const auto report = [&](const std::string& name, const std::string& text) {
    ++failed;
    fmt::print("FAIL {}: {}\n", name, text);
    std::fflush(stdout);
  };
  for (const fs::path& path : cases) {
    const std::string name = path.filename().string();
    const auto entry = listed.find(name);
    if (entry != listed.end() && entry->second.rfind(kRandom, 0) == 0) {
      skipped.emplace(name, entry->second);
      current.emplace(name, entry->second);
      continue;
    }
    Outcome outcome;
    try {
      outcome = run_case(path);
    } catch (const std::exception& e) {
      outcome = wrong(e.what());
    }
    if (outcome.kind == Outcome::Kind::failed) report(name, outcome.text);
    if (outcome.kind == Outcome::Kind::skipped) {
      current.emplace(name, outcome.text);
      if (o.list.empty() || entry != listed.end())
        skipped.emplace(name, outcome.text);
      else
        report(name, "is not supported, but not in " + o.list + ": " + outcome.text);
    }
    if (outcome.kind != Outcome::Kind::passed) continue;
    if (entry == listed.end())
      ++passed;
    else
      report(name, "passes: take it out of " + o.list);
  }
  for (const auto& [name, reason] : listed)
    if (o.only.empty() && !fs::is_directory(fs::path(o.folder) / name))
      report(name, "is in " + o.list + ", but there is no such case");
  std::string text =
      "# Node tests of the onnx package that nbx does not support yet: case, reason. Checked by nbx-golden "
      "onnx-node.\n";
  for (const auto& [name, reason] : current) text += fmt::format("{} {}\n", name, reason);
  for (const auto& [name, reason] : skipped)
    if (o.list.empty() || !o.only.empty()) fmt::print("skip {}: {}\n", name, reason);
  if (!o.write_list.empty()) write_file_atomically(o.write_list, text);
  std::map<std::string, int> reasons;
  for (const auto& [name, reason] : skipped) ++reasons[reason.substr(0, reason.find(" ('"))];
  for (const auto& [reason, count] : reasons) fmt::print("skipped {}: {}\n", count, reason);
  fmt::print("{} passed, {} failed, {} skipped\n", passed, failed, skipped.size());
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace nbx

int golden_onnx_node(int argc, char** argv) { return nbx::run(nbx::parse(argc, argv)); }
#else
int golden_onnx_node(int, char**) {
  nbx::fail(nbx::Code::unsupported, "this nbx is built without ONNX import (NBX_WITH_ONNX)");
}
#endif
