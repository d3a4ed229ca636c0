// SPDX-License-Identifier: Apache-2.0
// What must not pass as success: output that is lost, references that test nothing, options that mean nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "cli/command.h"
#include "io/npz.h"
#include "ops/eager.h"
#include "support/temp_folder.h"

namespace nbx::cli {
namespace {

const std::string kModel = std::string(NBX_SOURCE_DIR) + "/tests/package/model.json";  // y = relu(x), float32[2, 3]

int exit_code_of(const std::string& arguments) {
  const int status = std::system((std::string(NBX_BINARY_DIR) + "/bin/" + arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

void refused(const Result& r, const std::string& part) {
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("json.exception"), std::string::npos) << r.err;
}

TEST(Strict, AFullStandardOutputIsAnErrorOfEveryCommand) {
  const TempFolder folder;
  const std::string nowhere = " > /dev/full 2> " + (folder / "err");
  for (const char* command :
       {"nbx devices", "nbx ops", "nbx ops --json", "nbx --help", "nbx run --help", "nbx-golden --help"}) {
    EXPECT_EQ(exit_code_of(command + nowhere), 2) << command;
    EXPECT_NE(TempFolder::read(folder / "err").find("standard output"), std::string::npos) << command;
  }
  EXPECT_EQ(exit_code_of("nbx inspect " + kModel + nowhere), 2);
}

TEST(Strict, OptionsThatWouldMeanNothingAreRefused) {
  const TempFolder folder;
  NamedTensors x;
  x.add("x", Tensor::zeros({2, 3}, DType::float32));
  write_npz(folder / "x.npz", x);
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", kModel, "-i", folder / "x.npz"});
    return run("nbx", more);
  };
  EXPECT_EQ(with({}).code, 0);
  refused(with({"-o", ""}), "empty");
  refused(with({"--profile", ""}), "empty");
  refused(with({"--prefer", "nosuch"}), "'nosuch'");
  refused(with({"-o", folder / "a.npz", "--profile", folder / "a.npz"}), "the same file");
  refused(with({"--table", "--json"}), "--table");
  refused(with({"-i", "x="}), "no file name");
  refused(with({"--memory-limit", "many"}), "many");
}

TEST(Strict, ShapesAreReadWhole) {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"inspect", kModel});
    return run("nbx", more);
  };
  EXPECT_EQ(with({"--plan", "--shape", "x=2,3"}).code, 0);
  refused(with({"--shape", "x=2,3"}), "--plan");
  refused(with({"--plan", "--shape", "x=2,3,"}), "integers");
  refused(with({"--plan", "--shape", "x=2,9223372036854775808"}), "integers");
  refused(with({"--plan", "--shape", "x=2,3", "--shape", "x=2,3"}), "twice");
}

TEST(Strict, ACompressedInputIsHeldToTheModelBeforeItIsUnpacked) {
  // 400 MB of zeros behind a name that the model knows; packed, they are a few hundred kilobytes.
  const TempFolder folder;
  const std::string path = folder / "large.npz";
  const std::string script =
      "import numpy as np; np.savez_compressed('" + path + "', x=np.zeros(100000000, 'float32'))";
  if (std::system((std::string(NBX_SOURCE_DIR) + "/.venv/bin/python -c \"" + script + "\" 2> /dev/null").c_str()) != 0)
    GTEST_SKIP() << "no Python with numpy in .venv";
  const Result r = run("nbx", {"run", kModel, "-i", path});
  refused(r, "the rank is 1");
#if !NBX_SANITIZED
  EXPECT_LT(r.peak_kib, 100 * 1024);
#endif
}

TEST(Strict, AManifestThatTestsNothingIsAnErrorThatNamesTheField) {
  const TempFolder folder;
  const auto with = [&](const std::string& text) {
    write(folder / "manifest.json", text);
    return run("nbx-golden", {"model", folder / "", "--weights", folder / ""});
  };
  refused(with("{}"), "'cases'");
  refused(with(R"({"cases": []})"), "'cases'");
  refused(with(R"({"cases": null})"), "'cases'");
  refused(with(R"({"cases": [{}]})"), "'graph'");
  refused(with(R"({"cases": [{"graph": []}]})"), "'graph'");
  refused(with(R"({"cases": [{"graph": 3}]})"), "'graph'");
  refused(with(R"({"cases": [{"graph": "absent.onnx"}]})"), "absent.onnx");
  write(folder / "m.json", TempFolder::read(kModel));
  refused(with(R"({"cases": [{"graph": "m.json", "inputs_file": 3}]})"), "'inputs_file' is '3'");
  refused(with(R"({"cases": [{"graph": "m.json", "inputs_file": "absent.safetensors"}]})"), "absent.safetensors");
  refused(run("nbx-golden", {"model", folder / "none", "--weights", folder / ""}), "manifest.json");
}

TEST(Strict, APromotionTableWithAPartMissingIsAnError) {
  const TempFolder folder;
  write(folder / "p.json", R"({"default_dtype": "float32", "promote_types": {}})");
  refused(run("nbx-golden", {"promotion", folder / "p.json"}), "'promote_types'");
  refused(run("nbx-golden", {"promotion", folder / ""}), folder / "");
}

}  // namespace
}  // namespace nbx::cli
