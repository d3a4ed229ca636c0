// SPDX-License-Identifier: Apache-2.0
#include <nbx/error.h>

#include "base/check.h"

namespace nbx {

const char* name(Code code) {
  switch (code) {
    case Code::value:
      return "value";
    case Code::shape:
      return "shape";
    case Code::dtype:
      return "dtype";
    case Code::index:
      return "index";
    case Code::type:
      return "type";
    case Code::unsupported:
      return "unsupported";
    case Code::file:
      return "file";
    case Code::budget:
      return "budget";
    case Code::cancelled:
      return "cancelled";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

void assertion_failed(const char* condition, const char* file, int line) {
  // Only the file's name: a path of the build machine says nothing to the reader.
  const std::string path = file;
  const size_t slash = path.find_last_of('/');
  throw Error(Code::internal, fmt::format("nbx defect: {} does not hold ({}:{}); please report it", condition,
                                          slash == std::string::npos ? path : path.substr(slash + 1), line));
}

}  // namespace nbx
