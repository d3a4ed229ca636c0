// SPDX-License-Identifier: Apache-2.0
// example-demo --models DIR --data DIR --out DIR [--threads N]: names the types of three files, draws a timeline of
// speech, reads a page. Real models from public packages; everything runs through libnbx.
#include <fmt/format.h>
#include <nbx/error.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "demo/demo.h"

int main(int argc, char** argv) {
  using namespace nbx::examples;
  Paths paths;
  std::vector<std::string> files;
  std::string sound, picture;
  CLI::App app{"Names file types (magika), finds speech (silero-vad), reads a page (PP-OCR v6)."};
  app.add_option("--models", paths.models, "folder with the model packages")->required();
  app.add_option("--data", paths.data, "folder with the demo's files")->required();
  app.add_option("--out", paths.out, "folder for the page with its boxes")->required();
  app.add_option("--threads", paths.threads, "threads; 0: one per core")->check(CLI::Range(0, 1024));
  app.add_option("--file", files, "files to name, instead of the demo's three");
  app.add_option("--sound", sound, "a 16 kHz recording, instead of the demo's");
  app.add_option("--picture", picture, "a page to read, instead of the demo's");
  CLI11_PARSE(app, argc, argv);
  if (files.empty())
    for (const char* name : {"shelves.py", "orders.jsonl", "story.txt"}) files.push_back(join(paths.data, name));
  try {
    show_file_types(paths, files);
    show_speech(paths, sound.empty() ? join(paths.data, "speech16k.wav") : sound);
    show_page(paths, picture.empty() ? join(paths.data, "page.png") : picture);
  } catch (const nbx::Error& e) {
    fmt::print(stderr, "demo: error: {}\n", e.what());
    return 2;
  }
  return 0;
}
