// SPDX-License-Identifier: Apache-2.0
// Recorded right answers of single ops: manifest.jsonl (a case a line), errors.jsonl (calls that must fail),
// tolerances.json (op -> result dtype -> bound) and a safetensors file a family.
#pragma once
#include <nbx/tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nbx {

struct OpsOptions {
  std::string folder = {};
  std::string only = {};  // cases whose id contains this
  bool verbose = false;
};
struct OpsCounts {
  int passed = 0, failed = 0, skipped = 0;
};
struct OpsReport {
  OpsCounts total;
  std::map<std::string, OpsCounts> by_op;      // "add.Tensor"
  std::map<std::string, int> skipped_because;  // reason -> cases
  std::vector<std::string> lines;              // "FAIL id: ..."
};
// Error (file) naming file and line for malformed data.
OpsReport check_ops(const OpsOptions& options);

// How near a result must be to the oracle.
struct GoldenBound {
  enum class Kind { exact, ulp, nrm } kind = Kind::exact;
  double ulp = 0, floor = 0, nrm = 0;
};
struct GoldenWant {
  Tensor out;                    // dense
  std::optional<Tensor> oracle;  // dense, wider; absent: `out` is what the bound is around
  bool discontinuous = false;    // `out` decides, where the reference is not off (class_diff)
  bool class_diff = false;       // nan and inf: the class of either will do
  bool signed_zero = false;      // exact: -0.0 and 0.0 differ
  GoldenBound bound;
};
// Empty when right; else the first element that is wrong and the largest error. Same dtype and sizes are required.
std::string golden_difference(const Tensor& got, const GoldenWant& want);
// Do `indices` along `dim` take these `values` out of `input`, each place once? Empty, or what is wrong. Values that
// compare equal are ties; so are nans.
std::string selection_difference(const Tensor& input, int64_t dim, const Tensor& indices, const Tensor& values);

// input.gather(dim, indices)
Tensor selected_values(const Tensor& input, int64_t dim, const Tensor& indices);

}  // namespace nbx
