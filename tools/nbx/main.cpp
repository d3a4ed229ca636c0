// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <new>

#include "nbx/command.h"

int main(int argc, char** argv) {
  using namespace nbx;
  CLI::App app{"nbx: runs neural networks. Small, exact, predictable.\n"
               "Example: nbx run model.onnx -i x=picture.png -o out.npz"};
  app.name("nbx");
  app.set_version_flag("--version", NBX_VERSION);
  app.require_subcommand(1);
  command::Action action;
  command::add_run(app, action);
  command::add_inspect(app, action);
  command::add_ops(app, action);
  command::add_devices(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : 2;
  }
  try {
    return action ? action() : 2;
  } catch (const Error& e) {
    fmt::print(stderr, "nbx: error: {}\n", e.what());
    if (e.code() == Code::cancelled) return 130;
    return e.code() == Code::internal ? 3 : 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "nbx: error: out of memory\n");
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "nbx: error: {}\n", e.what());
    return 3;
  }
}
