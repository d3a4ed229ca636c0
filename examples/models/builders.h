// SPDX-License-Identifier: Apache-2.0
// Graphs of models whose files hold weights alone.
#pragma once
#include <optional>
#include <string>

#include "graph/graph.h"

namespace nbx::examples {

// silero-vad from its safetensors file (16 kHz): inputs input [1, 576], state [2, 1, 128]; outputs output [1, 1],
// stateN, and the intermediate results magnitude [1, 129, 4] and encoder [1, 128].
Graph build_silero(const std::string& safetensors);
// A BERT encoder with mean pooling (MiniLM) from model.safetensors, with config.json beside it.
Graph build_minilm(const std::string& safetensors);

// By the manifest's model name; nothing when there is no builder for it.
std::optional<Graph> build_model(const std::string& model, const std::string& path);

}  // namespace nbx::examples
