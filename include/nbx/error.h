// SPDX-License-Identifier: Apache-2.0
// Errors of the library: one exception type with a code that callers can switch on and one line of text that names
// the thing, the values and the way out.
#pragma once
#include <stdexcept>
#include <string>

namespace nbx {

enum class Code {
  value,        // an argument's value is not allowed
  shape,        // shapes do not fit together or are impossible
  dtype,        // a dtype is not allowed or not supported here
  index,        // an index or a dim is out of range
  type,         // a wrong kind of argument
  unsupported,  // valid, but nbx cannot do it (yet)
  file,         // a file cannot be read, or its content is malformed
  budget,       // does not fit into the memory allowed
  cancelled,    // stopped on request
  internal,     // a defect of nbx
};

// The code's name as printed by the command: "shape", "file", ...
const char* name(Code code);

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

}  // namespace nbx
