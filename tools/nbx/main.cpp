// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <stdexcept>

#include "nbx/command.h"

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

}  // namespace

int main(int argc, char** argv) {
  using namespace nbx;
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
  const auto named = [&](const CLI::App* a) { return a->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty())
    return report(
        fmt::format("there is no command '{}'; run, inspect, ops and devices are there (nbx --help)", argv[1]), 2);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return report(std::string(e.what()) + "; see nbx --help", 2);
  }
  try {
    return action ? action() : 2;
  } catch (const Error& e) {
    return report(e.what(), e.code() == Code::cancelled ? 130 : e.code() == Code::internal ? 3 : 2);
  } catch (const std::bad_alloc&) {
    return report("out of memory", 2);
  } catch (const std::length_error&) {
    return report("out of memory: a table exceeds what can be addressed", 2);
  } catch (const std::exception& e) {
    return report(e.what(), 3);
  }
}
