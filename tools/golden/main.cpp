// SPDX-License-Identifier: Apache-2.0
// nbx-golden KIND ...: holds nbx to recorded right answers, from a folder anywhere.
#include <fmt/format.h>
#include <nbx/error.h>

#include <cstdio>
#include <string_view>

#include "golden/golden.h"

namespace {

struct Kind {
  std::string_view name;
  int (*run)(int, char**);
  const char* help;
};
constexpr Kind kKinds[] = {
    {"model", golden_model, "DIR --weights DIR [--threads 1,2]   the cases of a manifest.json"},
    {"onnx-node", golden_onnx_node, "DIR [--list FILE]               the node tests that the onnx package generates"},
    {"ops", golden_ops, "DIR [--only PART] [--verbose]       recorded results of single ops"},
    {"promotion", golden_promotion, "FILE                            a promotion table"},
};

}  // namespace

namespace {

// A full disk behind standard output must not look like success.
int finished(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  fmt::print(stderr, "nbx-golden: error: standard output: what was printed could not all be written\n");
  return 2;
}

void usage() {
  fmt::print("usage: nbx-golden KIND ...\n");
  for (const Kind& k : kKinds) fmt::print("  nbx-golden {:10} {}\n", k.name, k.help);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--help" && std::string_view(argv[i]) != "-h") continue;
    usage();
    return finished(0);
  }
  if (argc >= 2) {
    for (const Kind& k : kKinds) {
      if (k.name != argv[1]) continue;
      try {
        return finished(k.run(argc - 2, argv + 2));
      } catch (const nbx::Error& e) {
        fmt::print(stderr, "nbx-golden: error: {}\n", e.what());
        return e.code() == nbx::Code::internal ? 3 : 2;
      } catch (const std::exception& e) {
        fmt::print(stderr, "nbx-golden: error: {}\n", e.what());
        return 3;
      }
    }
    fmt::print(stderr, "nbx-golden: error: unknown kind '{}'\n", argv[1]);
  } else {
    fmt::print(stderr, "nbx-golden: error: say which kind\n");
  }
  usage();
  return 2;
}
