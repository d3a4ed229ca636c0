// SPDX-License-Identifier: Apache-2.0
#include "models/builders.h"

#include "base/check.h"

namespace nbx::examples {

std::optional<Graph> build_model(const std::string& model, const std::string& path) {
  constexpr std::string_view suffix = ".safetensors";
  const bool weights =
      path.size() > suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
  if (!weights) return std::nullopt;
  if (model == "silero-vad") return build_silero(path);
  if (model == "minilm-l6-v2") return build_minilm(path);
  return std::nullopt;
}

}  // namespace nbx::examples
