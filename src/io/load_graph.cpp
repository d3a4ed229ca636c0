// SPDX-License-Identifier: Apache-2.0
#include "io/load_graph.h"

#include "base/check.h"
#include "io/nbx_json.h"
#if NBX_HAVE_ONNX
#include "io/onnx.h"
#endif

namespace nbx {

Graph load_graph(const std::string& path) {
  const auto ends = [&](std::string_view suffix) {
    return path.size() >= suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
  };
  if (ends(".json")) return read_nbx_json(path);
  if (ends(".onnx")) {
#if NBX_HAVE_ONNX
    return import_onnx(path);
#else
    fail(Code::unsupported, "{}: this build of nbx has no ONNX import; build it with NBX_WITH_ONNX=ON", path);
#endif
  }
  fail(Code::file, "{}: the suffix says no known model format; .onnx and .json (nbx JSON) are", path);
}

}  // namespace nbx
