// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "graph/graph.h"

namespace nbx {

// A model file by its suffix: .onnx, or nbx .json. Error (file) for another suffix, naming the known ones.
Graph load_graph(const std::string& path);

}  // namespace nbx
