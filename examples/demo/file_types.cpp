// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nbx/session.h>

#include <chrono>

#include "demo/demo.h"
#include "io/mapped_file.h"
#include "models/magika.h"

namespace nbx::examples {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string join(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

void show_file_types(const Paths& paths, const std::vector<std::string>& files) {
  const std::string folder = join(paths.models, "magika/models/standard_v3_3");
  const double start = now_ms();
  const MagikaConfig config = read_magika_config(join(folder, "config.min.json"));
  Session session(Model::load(join(folder, "model.onnx")), {.threads = paths.threads});
  const double loaded = now_ms();
  fmt::print("File types (magika v3.3, loaded in {:.0f} ms)\n", loaded - start);
  std::vector<Tensor> outputs;
  for (const std::string& file : files) {
    const double t = now_ms();
    const FileBytes content = MappedFile::open(file);
    const Tensor input = magika_input(content->bytes(), config);
    session.run(std::span(&input, 1), outputs);
    const FileType type = magika_label(outputs[0].select(0, 0), config);
    fmt::print("  {:<40} {:<10} {:.3f}{}  {:.1f} ms\n", file.substr(file.rfind('/') + 1), type.label, type.score,
               type.sure ? "" : " (not sure)", now_ms() - t);
  }
}

}  // namespace nbx::examples
