// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <nlohmann/json.hpp>

#include "io/npy.h"
#include "io/npz.h"
#include "io/safetensors.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx::cli {

Result run(const std::string& program, const std::vector<std::string>& arguments, int interrupt_after_ms) {
  const TempFolder folder;
  const std::string path = std::string(NBX_BINARY_DIR) + "/bin/" + program, out = folder / "out", err = folder / "err";
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), 2);
    execv(path.c_str(), argv.data());
    _exit(127);
  }
  const auto start = std::chrono::steady_clock::now();
  bool interrupted = interrupt_after_ms < 0, ended = false;
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, WNOHANG, &usage) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto gone =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
    if (!interrupted && gone >= interrupt_after_ms) interrupted = kill(child, SIGINT) == 0;
    if (!ended && gone > 60'000) {
      ended = kill(child, SIGKILL) == 0;
      ADD_FAILURE() << program << " did not end within a minute";
    }
  }
  Result result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = TempFolder::read(out);
  result.err = TempFolder::read(err);
  result.peak_kib = usage.ru_maxrss;
  return result;
}

namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

}  // namespace

std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string field(int number, uint64_t value) { return varint(static_cast<uint64_t>(number) << 3) + varint(value); }

std::string onnx_node(const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, const std::string& attributes) {
  std::string out;
  for (const std::string& name : inputs) out += field(1, name);
  for (const std::string& name : outputs) out += field(2, name);
  return out + field(4, op) + attributes;
}
std::string onnx_ints(const std::string& name, const std::vector<int64_t>& values) {
  return field(1, values.size()) + field(2, uint64_t{7}) + field(8, name) + field(9, raw(values));
}
std::string onnx_scalar(const std::string& name, int64_t value) {
  return field(2, uint64_t{7}) + field(8, name) + field(9, raw(std::vector<int64_t>{value}));
}
std::string onnx_floats(const std::string& name, const std::vector<float>& values) {
  return field(1, values.size()) + field(2, uint64_t{1}) + field(8, name) + field(9, raw(values));
}
std::string onnx_value(const std::string& name, int type, const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t d : dims) shape += field(1, d < 0 ? std::string() : field(1, static_cast<uint64_t>(d)));
  return field(1, name) + field(2, field(1, field(1, static_cast<uint64_t>(type)) + field(2, shape)));
}
std::string OnnxGraph::bytes() const {
  std::string out;
  for (const std::string& n : nodes) out += field(1, n);
  out += field(2, std::string("g"));
  for (const std::string& t : initializers) out += field(5, t);
  for (const std::string& v : inputs) out += field(11, v);
  for (const std::string& v : outputs) out += field(12, v);
  return out;
}
std::string onnx_model(const OnnxGraph& graph, const std::string& functions) {
  return field(1, uint64_t{10}) + field(7, graph.bytes()) + field(8, field(2, uint64_t{21})) +
         field(8, field(1, std::string("my")) + field(2, uint64_t{1})) + functions;
}

namespace {

// y = relu(x), z = x + x.
std::string two_outputs() {
  OnnxGraph g;
  g.nodes = {onnx_node("Relu", {"x"}, {"y"}), onnx_node("Add", {"x", "x"}, {"z"})};
  g.inputs = {onnx_value("x", 1, {2, 3})};
  g.outputs = {onnx_value("y", 1, {2, 3}), onnx_value("z", 1, {2, 3})};
  return onnx_model(g);
}

class Command : public ::testing::Test {
 protected:
  Command() {
    write_npy(folder / "x.npy", x);
    NamedTensors named;
    named.add("x", x);
    named.add("unused", Tensor::zeros({4}, DType::int8));
    write_npz(folder / "x.npz", named);
    write_safetensors(folder / "x.safetensors", named);
  }

  // One line that begins as all errors do and names each part; exit code 2; nothing on stdout.
  static void refuses(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
    const Result r = run("nbx", arguments);
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err.rfind("nbx: error: ", 0), 0u) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    for (const std::string& part : parts) EXPECT_NAMES(r.err, part);
  }
  Result runs(std::vector<std::string> arguments) {
    const Result r = run("nbx", arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    return r;
  }

  TempFolder folder;
  std::string model = folder.write("m.onnx", two_outputs());
  Tensor x = Tensor::of<float>({2, 3}, {-1, 0, 1, 2, -3, 4});
};

TEST_F(Command, RunPrintsTheOutputsAndTheTimes) {
  const Result r = runs({"run", model, "-i", "x=" + (folder / "x.npy")});
  EXPECT_NAMES(r.out, "y: float32[2, 3]");
  EXPECT_NAMES(r.out, "z: float32[2, 3]");
  EXPECT_NAMES(r.out, "first run");
  EXPECT_EQ(r.err, "");
}

TEST_F(Command, OutputsAreTheSameInEveryContainerAndAreRight) {
  const std::vector<double> y{0, 0, 1, 2, 0, 4}, z{-2, 0, 2, 4, -6, 8};
  for (const char* file : {"x.npy", "x.npz", "x.safetensors"}) {
    runs({"run", model, "-i", std::string(file) == "x.npy" ? "x=" + (folder / file) : folder / file, "-o",
          folder / "o.npz"});
    const NamedTensors got = read_npz(folder / "o.npz");
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].second.to_doubles(), y);
    EXPECT_EQ(got[1].second.to_doubles(), z);
  }
  runs({"run", model, "-i", folder / "x.npz", "-o", folder / "o.safetensors"});
  EXPECT_EQ(read_safetensors(folder / "o.safetensors").tensors.size(), 2u);
}

TEST_F(Command, TensorsThatAreNoInputsAreIgnoredWithANote) {
  const Result r = runs({"run", model, "-i", folder / "x.npz"});
  EXPECT_EQ(r.err.rfind("nbx: note: ", 0), 0u) << r.err;
  EXPECT_NAMES(r.err, "unused");
}

TEST_F(Command, TheReportForMachinesHasTimesAndMemory) {
  const Result r = runs({"run", model, "-i", "x=" + (folder / "x.npy"), "--repeat", "5", "--threads", "2", "--json"});
  const auto j = nlohmann::json::parse(r.out);
  EXPECT_GE(j["ms"]["median"].get<double>(), j["ms"]["min"].get<double>());
  EXPECT_GT(j["ms"]["first"].get<double>(), 0);
  EXPECT_GT(j["load_ms"].get<double>(), 0);
  EXPECT_GE(j["peak_bytes"].get<int64_t>(), 0);
  EXPECT_GE(j["planned_bytes"].get<int64_t>(), 0);
  EXPECT_EQ(j["threads"], 2);
  EXPECT_EQ(j["repeat"], 5);
  ASSERT_EQ(j["outputs"].size(), 2u);
  EXPECT_EQ(j["outputs"][0]["name"], "y");
  EXPECT_EQ(j["outputs"][0]["shape"], (std::vector<int>{2, 3}));
}

TEST_F(Command, AProfileIsAChromeTraceWithBytesAndFlops) {
  runs({"run", model, "-i", "x=" + (folder / "x.npy"), "--no-fuse", "--profile", folder / "p.json"});
  const auto j = nlohmann::json::parse(TempFolder::read(folder / "p.json"));
  ASSERT_EQ(j["traceEvents"].size(), 2u);
  for (const auto& e : j["traceEvents"]) {
    EXPECT_EQ(e["ph"], "X");
    EXPECT_GE(e["dur"].get<double>(), 0);
    EXPECT_GT(e["args"]["bytes"].get<int64_t>(), 0);
    EXPECT_TRUE(e["args"].contains("flops"));
  }
}

TEST_F(Command, InspectOpsAndDevicesSpeakToMachines) {
  const auto m = nlohmann::json::parse(runs({"inspect", model, "--json"}).out);
  EXPECT_EQ(m["inputs"][0]["name"], "x");
  EXPECT_EQ(m["outputs"].size(), 2u);
  EXPECT_EQ(m["nodes"], 2);
  EXPECT_GT(nlohmann::json::parse(runs({"ops", "--json"}).out).size(), 50u);
  EXPECT_EQ(nlohmann::json::parse(runs({"devices", "--json"}).out)[0]["name"], "cpu");
  EXPECT_NAMES(runs({"inspect", model, "--plan"}).out, "arena");
  EXPECT_NAMES(runs({"inspect", model, "--launches"}).out, "launches");
}

TEST_F(Command, AModelSavedAsJsonGivesTheSameAnswers) {
  runs({"inspect", model, "--save-json", folder / "m.json"});
  runs({"run", model, "-i", folder / "x.npz", "-o", folder / "a.npz"});
  runs({"run", folder / "m.json", "-i", folder / "x.npz", "-o", folder / "b.npz"});
  EXPECT_TRUE(TempFolder::read(folder / "a.npz") == TempFolder::read(folder / "b.npz"));
}

TEST_F(Command, AWrongFlagOrValueIsNamed) {
  const std::string in = "x=" + (folder / "x.npy");
  refuses({}, {"--help"});
  refuses({"frob"}, {"'frob'", "inspect"});
  refuses({"run"}, {"MODEL"});
  refuses({"run", model, "-i", in, "--frob"}, {"--frob"});
  for (const char* threads : {"-1", "100000", "many", ""})
    refuses({"run", model, "-i", in, "--threads", threads}, {"--threads"});
  refuses({"run", model, "-i", in, "--repeat", "-3"}, {"--repeat", "-3"});
  EXPECT_EQ(runs({"run", model, "-i", in, "--threads", "0"}).err, "");
}

TEST_F(Command, AFileThatIsNoModelIsNamed) {
  refuses({"run", folder.write("m.txt", "x")}, {"m.txt", ".onnx"});
  refuses({"run", folder / "gone.onnx"}, {"gone.onnx", "No such file"});
  refuses({"run", folder.write("empty.onnx", "")}, {"empty.onnx", "empty"});
  refuses({"run", folder.write("empty.json", "")}, {"empty.json"});
  ASSERT_TRUE(std::filesystem::create_directory(folder / "d.onnx"));
  refuses({"inspect", folder / "d.onnx"}, {"d.onnx", "folder"});
  if (geteuid() == 0) return;  // the superuser reads everything
  std::filesystem::permissions(model, std::filesystem::perms::none);
  refuses({"run", model}, {model, "Permission denied"});
}

TEST_F(Command, AnInputThatIsMissingOrDoesNotFitIsNamed) {
  refuses({"run", model}, {"'x'", "float32[2, 3]"});
  refuses({"run", model, "-i", "q=" + (folder / "x.npy")}, {"'q'", "'x'"});
  refuses({"run", model, "-i", "x=" + (folder / "gone.npy")}, {"gone.npy"});
  write_npy(folder / "d.npy", x.to(DType::float64));
  refuses({"run", model, "-i", "x=" + (folder / "d.npy")}, {"d.npy", "float64[2, 3]", "'x'", "float32"});
  write_npy(folder / "t.npy", x.view({3, 2}));
  refuses({"run", model, "-i", "x=" + (folder / "t.npy")}, {"t.npy", "float32[3, 2]", "'x'", "dim 0 is 3"});
}

TEST_F(Command, ATargetThatCannotBeWrittenIsRefusedAndLeavesNothing) {
  const std::string in = "x=" + (folder / "x.npy");
  refuses({"run", model, "-i", in, "-o", folder / "o.txt"}, {"o.txt", ".npz"});
  refuses({"run", model, "-i", in, "-o", folder / "no/o.npz"}, {"no/o.npz"});
  refuses({"run", model, "-i", in, "-o", folder / "o.npy"}, {"o.npy", "2 outputs"});
  refuses({"run", model, "-i", in, "--profile", folder / "no/p.json"}, {"no/p.json"});
  ASSERT_TRUE(std::filesystem::create_directory(folder / "d.npz"));
  refuses({"run", model, "-i", in, "-o", folder / "d.npz"}, {"d.npz"});
  for (const auto& entry : std::filesystem::directory_iterator(folder / ""))
    EXPECT_NE(entry.path().filename().string().rfind("o.", 0), 0u) << entry.path();
}

TEST_F(Command, GoldenSaysWhatItCannotRead) {
  for (const std::vector<std::string>& a : {std::vector<std::string>{},
                                            {"frob"},
                                            {"model", folder / "gone"},
                                            {"promotion", folder / "gone.json"},
                                            {"promotion", folder.write("bad.json", "{")}}) {
    const Result r = run("nbx-golden", a);
    EXPECT_EQ(r.code, 2) << r.err;
    if (!a.empty()) {
      EXPECT_EQ(r.err.rfind("nbx-golden: error: ", 0), 0u) << r.err;
    }
  }
}

}  // namespace
}  // namespace nbx::cli
