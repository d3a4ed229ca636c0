// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

#include "nbx/command.h"

namespace nbx::command {
namespace {

using Action = std::function<int()>;

// An unset shell variable must not turn an option off.
std::string not_empty(const std::string& text) { return text.empty() ? "it is empty" : ""; }

// Each adds itself to the app and sets `action` when it is chosen.
void add_run(CLI::App& app, Action& action) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* cmd = app.add_subcommand("run", "Run a model on files.");
  cmd->add_option("MODEL", o->model, "model file: .onnx, or nbx .json with its .safetensors")->required();
  cmd->add_option("-i,--input", o->inputs,
                  "NAME=FILE (.npy .png .jpg .wav ...), or a .safetensors or .npz whose tensors are matched by name")
      ->allow_extra_args(false)
      ->type_name("[NAME=]FILE");
  cmd->add_option("-o,--output", o->output, "write the outputs to a .npz, .safetensors or (one output) .npy file")
      ->check(not_empty);
  cmd->add_option("--threads", o->threads, "threads; 0: one per core")->check(CLI::Range(0, 1024));
  cmd->add_option("--memory-limit", o->memory_limit,
                  "refuse a plan whose activations need more, for example 200MiB; weights are not counted")
      ->transform(CLI::AsSizeValue(false));
  cmd->add_option("--repeat", o->repeat, "after one warm-up, run this often and report the times")
      ->check(CLI::Range(0, 1000000));
  cmd->add_option("--profile", o->profile,
                  "write one run's ops in the Chrome trace format (chrome://tracing, Perfetto)")
      ->check(not_empty);
  cmd->add_flag("--table", o->table,
                "after the runs, profile one more and print it: time, bytes, flops, % of the limits");
  cmd->add_option("--prefer", o->prefer, "part of a kernel's name to prefer where it serves, for example onednn")
      ->check(not_empty);
  cmd->add_flag("--no-fuse", o->no_fuse, "run every op by itself");
  cmd->add_flag("--json", o->json, "print a report for machines");
  cmd->footer(
      "Examples:\n  nbx run model.onnx -i x=picture.png -o out.npz\n"
      "  nbx run model.onnx -i inputs.safetensors --repeat 50 --threads 2 --json");
  cmd->callback([o, &action] { action = [o] { return run(*o); }; });
}

void add_inspect(CLI::App& app, Action& action) {
  auto o = std::make_shared<InspectOptions>();
  CLI::App* cmd = app.add_subcommand("inspect", "Show a model: inputs, outputs, ops, parameters.");
  cmd->add_option("MODEL", o->model, "model file: .onnx, or nbx .json")->required();
  cmd->add_flag("--text", o->text, "list the graph, one node a line, after the load passes");
  cmd->add_flag("--plan", o->plan, "list the launches of the program for --shape, with their places in the arena");
  cmd->add_flag("--launches", o->launches,
                "the launches on the null device for --shape: kernels, keys, bytes, flops; nothing runs");
  cmd->add_option("--shape", o->shapes, "NAME=d0,d1,...; free extents that are not given are 1")
      ->allow_extra_args(false);
  cmd->add_option("--save-json", o->save,
                  "write the graph as imported in the nbx JSON form, weights beside it as .safetensors")
      ->check(not_empty);
  cmd->add_flag("--json", o->json, "print for machines");
  cmd->footer("Examples:\n  nbx inspect model.onnx\n  nbx inspect model.onnx --plan --shape x=1,3,48,160");
  cmd->callback([o, &action] { action = [o] { return inspect(*o); }; });
}

void add_ops(CLI::App& app, Action& action) {
  auto o = std::make_shared<OpsOptions>();
  CLI::App* cmd = app.add_subcommand("ops", "List the declared ops.");
  cmd->add_option("FILTER", o->filter, "only names that contain this");
  cmd->add_flag("--json", o->json, "print for machines");
  cmd->add_flag("--markdown", o->markdown, "the table of docs/ops.md");
  cmd->footer("Examples:\n  nbx ops softmax\n  nbx ops --markdown > docs/ops.md");
  cmd->callback([o, &action] { action = [o] { return ops(*o); }; });
}

void add_devices(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* cmd = app.add_subcommand("devices", "List what can compute here.");
  cmd->add_flag("--json", *json, "print for machines");
  cmd->callback([json, &action] { action = [json] { return devices(*json); }; });
}

void add_bench(CLI::App& app, Action& action) {
  CLI::App* cmd = app.add_subcommand("bench", "Measure.");
  cmd->require_subcommand(1);
  struct Options {
    int threads = 0;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* machine =
      cmd->add_subcommand("machine", "What this machine can do: copy, float32 GEMM, latency of a call.");
  machine->add_option("--threads", o->threads, "threads; 0: one per core")->check(CLI::Range(0, 1024));
  machine->add_flag("--json", o->json, "print for machines");
  machine->footer("Example:\n  nbx bench machine --threads 2 --json");
  machine->callback([o, &action] { action = [o] { return bench_machine(o->threads, o->json); }; });
}

}  // namespace
}  // namespace nbx::command

namespace {

// One line whatever a file puts into a name: control characters are shown, and a name of a megabyte is cut.
int report(const std::string& text, int code) {
  constexpr size_t kLongest = 4000;
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (line.size() > kLongest) {
      line += fmt::format("... ({} bytes)", text.size());
      break;
    }
    if (byte == '\n')
      line += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
  fmt::print(stderr, "nbx: error: {}\n", line);
  return code;
}

// A full disk behind standard output must not look like success.
int finished(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return code;
  return report("standard output: what was printed could not all be written", 2);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace nbx;
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then an error of the write, which cleans up
  CLI::App app{
      "nbx: runs neural networks. Small, exact, predictable.\n"
      "Example: nbx run model.onnx -i x=picture.png -o out.npz"};
  app.name("nbx");
  app.set_version_flag("--version", NBX_VERSION);
  app.require_subcommand(1);
  command::Action action;
  command::add_run(app, action);
  command::add_inspect(app, action);
  command::add_ops(app, action);
  command::add_devices(app, action);
  command::add_bench(app, action);
  const auto named = [&](const CLI::App* a) { return a->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty())
    return report(
        fmt::format("there is no command '{}'; run, inspect, ops, devices and bench are there (nbx --help)", argv[1]),
        2);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return finished(app.exit(e));  // --help, --version
    const bool known = argc > 1 && argv[1][0] != '-';
    return report(fmt::format("{}; see nbx {}--help", e.what(), known ? std::string(argv[1]) + " " : std::string()), 2);
  }
  try {
    return finished(action ? action() : 2);
  } catch (const Error& e) {
    return report(e.what(), e.code() == Code::cancelled ? 130 : e.code() == Code::internal ? 3 : 2);
  } catch (const std::bad_alloc&) {
    return report("out of memory", 2);
  } catch (const std::length_error&) {
    return report("out of memory: a table exceeds what can be addressed", 2);
  } catch (const std::system_error& e) {  // of a print
    return report(std::string("standard output: ") + e.what(), 2);
  } catch (const std::exception& e) {
    return report(e.what(), 3);
  }
}
