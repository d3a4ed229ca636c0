// SPDX-License-Identifier: Apache-2.0
// The nbx JSON form of a graph ("tensor_dag" 0.1): tensors, ops and an execution order; weights in a safetensors file
// of the same stem beside it, small constants inside as base64. What nbx adds to the format, so that every graph
// round-trips:
//  - an argument {"type": "from_tensor", "tensor_id": id}: its value is what that tensor holds;
//  - "bodies" of an op (If, Loop, Scan): an array of graph objects; their weights are in the same safetensors file;
//  - "name" of a tensor or op where it is not its id; extents that are null in symbolic_shape.dims: unknown;
//  - "metadata": [[key, text], ...] of the model file, "source": where the graph came from.
// Errors: (file) naming file, field and value for what is malformed; (unsupported) once, with all ops that nbx lacks.
#pragma once
#include <string>

#include "graph/graph.h"
#include "io/mapped_file.h"

namespace nbx {

Graph read_nbx_json(const std::string& path);
// `weights` is the path of the safetensors file; it is opened only when a tensor needs it. Empty: there is none.
Graph parse_nbx_json(const FileBytes& file, const std::string& weights);

// Writes PATH and, when there are weights, the safetensors file beside it; each appears whole or not at all.
void write_nbx_json(const Graph& graph, const std::string& path);

}  // namespace nbx
