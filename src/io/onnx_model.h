// SPDX-License-Identifier: Apache-2.0
// A parsed ONNX file and its tensors.
#pragma once
#include <onnx-ml.pb.h>

#include <map>
#include <optional>
#include <string>

#include "io/mapped_file.h"

namespace nbx {

struct OnnxFile {
  FileBytes file;
  std::string directory;                      // of external data; empty: none is read
  onnx::ModelProto model;                     // weights are OnnxPayload, see onnx_wire.h
  std::map<std::string, FileBytes> external;  // opened so far

  const std::string& name() const { return file->path(); }
};

// Error (file) unless the bytes are a ModelProto with a graph.
OnnxFile parse_onnx(FileBytes file, std::string directory);

// nullopt: a dtype that nbx has no tensors of (string, 4-bit, ...).
std::optional<DType> dtype_of_onnx(int data_type);
std::string onnx_dtype_name(int data_type);  // "STRING", "INT4", "data_type 99"

// Error (file) naming `what` ("initializer 'w'") for sizes that do not fit together, and for external data that is
// missing, too short or outside of the folder. The dtype must be one of ours.
Tensor read_tensor(OnnxFile& onnx, const onnx::TensorProto& tensor, const std::string& what);

}  // namespace nbx
