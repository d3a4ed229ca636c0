// SPDX-License-Identifier: Apache-2.0
// ONNX files → Graph, through the import functions of the op declarations. Opset 7 to 28 (ir_version 3 to 14).
//  - Initialisers become constants, those that are also listed as inputs, too. Weights are views of the mapped file
//  where
//    their alignment allows and copies where it does not; then the pages of the file are given back.
//  - Declared dims that are unnamed, zero or negative are unknown. Nodes may be in any order without a cycle.
//  - If, Loop and Scan become custom::if, custom::loop, custom::scan: what their bodies capture are further inputs of
//  the
//    bodies, after the inputs that ONNX names (both branches of an If take the same list).
//  - Model-local functions are inlined; functions that call themselves are refused.
//  - External data is read from beside the file only: no absolute path, no "..", no link out of the folder.
// Errors: (file) for what is malformed; (unsupported) once for all nodes, attributes and dtypes that nbx lacks, with
// names.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "graph/graph.h"
#include "io/mapped_file.h"

namespace nbx {

inline constexpr int kOldestOpset = 7;
inline constexpr int kNewestOpset = 28;

Graph import_onnx(const std::string& path);
// From memory. `name` is for messages; external data is looked for in `directory`, and refused when that is empty.
Graph import_onnx(std::span<const std::byte> bytes, const std::string& name, const std::string& directory = {});
Graph import_onnx(const FileBytes& file, const std::string& directory);

// A file that holds one TensorProto (the form of ONNX's own test data).
Tensor read_onnx_tensor(const std::string& path);

}  // namespace nbx
