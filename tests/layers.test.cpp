// SPDX-License-Identifier: Apache-2.0
// The layers of the library: a file includes only from its own layer or from those below (src/README.md). Unit tests
// are free: they are no part of the library.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// Bottom up; folders of one row see each other.
const std::vector<std::vector<std::string>> kLayers = {
    {"base"},                               //
    {"facts", "dtype", "shape", "random"},  //
    {"memory"},                             //
    {"backend"},                            //
    {"tensor"},                             //
    {"ops"},                                //
    {"graph", "io"},                        //
    {"plan", "census", "tune"},             //
    {"runtime"},                            //
};
// The part of the library that a public header speaks for.
const std::map<std::string, std::string> kPublicHeaders = {
    {"error.h", "base"},      {"small_vector.h", "base"}, {"version.h", "base"},
    {"span.h", "base"},       {"dtype.h", "dtype"},       {"shape.h", "shape"},
    {"tensor.h", "tensor"},   {"ops.h", "ops"},           {"graph.h", "graph"},
    {"io.h", "io"},           {"plan.h", "plan"},         {"program.h", "runtime"},
    {"session.h", "runtime"}, {"model.h", "runtime"},     {"profile.h", "runtime"},
    {"nbx.h", "runtime"},     {"c_api.h", "runtime"},     {"device.h", "backend"},
};

int layer_of(const std::string& folder) {
  for (size_t i = 0; i < kLayers.size(); ++i)
    if (std::find(kLayers[i].begin(), kLayers[i].end(), folder) != kLayers[i].end()) return static_cast<int>(i);
  return -1;
}

// The folder an include names: "ops/declare.h" -> ops, <nbx/tensor.h> -> tensor; "" for the outside world.
std::string included_folder(const std::string& line) {
  const size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string::npos || line[hash] != '#') return {};
  const size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == std::string::npos || line.compare(word, 7, "include") != 0) return {};
  const size_t open = line.find_first_of("\"<", word);
  const size_t close = open == std::string::npos ? open : line.find_first_of("\">", open + 1);
  if (close == std::string::npos) return {};
  const std::string name = line.substr(open + 1, close - open - 1);
  if (name.rfind("nbx/", 0) == 0) {
    const auto known = kPublicHeaders.find(name.substr(4));
    return known == kPublicHeaders.end() ? "a public header without a layer: " + name : known->second;
  }
  const size_t slash = name.find('/');
  return line[open] == '<' || slash == std::string::npos ? std::string{} : name.substr(0, slash);
}

// One line for each include of `text` that goes up; `path` is relative to src/ or is "nbx/<header>".
std::vector<std::string> violations(const std::string& path, const std::string& text) {
  std::vector<std::string> found;
  const std::string own =
      path.rfind("nbx/", 0) == 0 ? included_folder("#include <" + path + ">") : path.substr(0, path.find('/'));
  const int layer = layer_of(own);
  if (layer < 0) return {path + " is in no layer: " + own + "; name it in tests/layers.test.cpp and src/README.md"};
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string folder = included_folder(line);
    if (folder.empty() || folder == "hwy") continue;
    const int below = layer_of(folder);
    const std::string where = path + ":" + std::to_string(number) + ": ";
    if (below < 0) found.push_back(where + "includes from no layer: " + folder);
    if (below > layer) found.push_back(where + own + " includes from " + folder + ", which is above it");
  }
  return found;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_source(const fs::path& path) { return path.extension() == ".h" || path.extension() == ".cpp"; }

TEST(Layers, EveryIncludeOfTheLibraryGoesToItsOwnLayerOrBelow) {
  int seen = 0;
  for (const char* root : {"src", "include"}) {
    const fs::path base = fs::path(NBX_SOURCE_DIR) / root;
    for (const auto& entry : fs::recursive_directory_iterator(base)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() || !is_source(entry.path()) || name.find(".test.") != std::string::npos) continue;
      ++seen;
      for (const std::string& text : violations(fs::relative(entry.path(), base).string(), read(entry.path())))
        ADD_FAILURE() << text;
    }
  }
  EXPECT_GT(seen, 20) << "the sources were not found";
}

TEST(Layers, EveryFolderOfTheSourcesHasALayer) {
  for (const auto& entry : fs::directory_iterator(fs::path(NBX_SOURCE_DIR) / "src"))
    if (entry.is_directory()) {
      EXPECT_GE(layer_of(entry.path().filename().string()), 0) << entry.path().filename();
    }
}

TEST(Layers, AnIncludeThatGoesUpIsFoundWithFileAndLine) {
  const auto found =
      violations("shape/strides.cpp", "#include <vector>\n#include \"base/check.h\"\n#include \"ops/declare.h\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "shape/strides.cpp:3: shape includes from ops, which is above it");
  EXPECT_EQ(violations("dtype/table.cpp", "#  include <nbx/tensor.h>\n").size(), 1u);
  EXPECT_EQ(violations("nbx/dtype.h", "#include <nbx/tensor.h>\n").size(), 1u);
}

TEST(Layers, IncludesOfTheSameLayerAndOfTheOutsideAreFine) {
  EXPECT_TRUE(violations("graph/graph.cpp", "#include \"io/npy.h\"\n#include <fmt/core.h>\n#include \"onnx-ml.pb.h\"\n")
                  .empty());
  EXPECT_TRUE(violations("dtype/promotion.cpp", "#include \"shape/strides.h\"\n#include <hwy/highway.h>\n").empty());
}

TEST(Layers, AnUnknownFolderOrPublicHeaderMustBeGivenALayer) {
  EXPECT_EQ(violations("helpers/a.cpp", "").size(), 1u);
  EXPECT_EQ(violations("ops/cost.cpp", "#include <nbx/unheard_of.h>\n").size(), 1u);
}

}  // namespace
