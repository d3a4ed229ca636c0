// SPDX-License-Identifier: Apache-2.0
// The declaration of an op: everything the system knows of it. Eager calls, planner, census, tuner, importers, `nbx
// ops` and the tests read these fields and nothing else. See CONTRIBUTING.md for the way from an empty folder to a
// served op.
#pragma once
#include <nbx/tensor.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "backend/activation_spec.h"
#include "backend/cpu/team.h"
#include "base/check.h"
#include "ops/args.h"
#include "ops/import.h"
#include "ops/keys.h"
#include "ops/sample.h"

namespace nbx {

// Exact integers, from metas alone.
struct Cost {
  int64_t read = 0;       // bytes
  int64_t written = 0;    // bytes
  int64_t workspace = 0;  // bytes, live during the launch only
  int64_t flops = 0;
};

// What a bound kernel gets at each run: addresses only. in: operand order of Args (null where absent); out: result
// order.
struct Run {
  const void* const* inputs;
  void* const* outputs;
  std::byte* workspace;  // 64-byte aligned, as many bytes as Kernel::workspace said
  Team& team;

  template <class T>
  const T* in(int i) const {
    return i < 0 ? nullptr : static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(int i) const {
    return static_cast<T*>(outputs[i]);
  }
};
// Everything but the addresses is resolved when a kernel is bound: shapes, attributes, dtype routes, packed weights.
using Bound = std::function<void(const Run&)>;

// May this kernel serve this call? A refusal is an answer with a reason, not an error.
struct Serves {
  bool ok = true;
  std::string reason;
};
inline const Serves yes{};
inline Serves refuse(std::string reason) { return Serves{false, std::move(reason)}; }

struct Kernel {
  std::string name;  // "rms_norm_cpu": unique in the op
  DeviceKind device = DeviceKind::cpu;
  Bound (*bind)(const Args&, const Metas& outputs) = nullptr;
  Serves (*serves)(const Args&) = nullptr;      // null: always
  int64_t (*workspace)(const Args&) = nullptr;  // null: none
  bool strided = false;  // reads operands by their strides; else the caller makes non-contiguous operands dense first
};
// A kernel on the CPU.
inline Kernel cpu(std::string name, Bound (*bind)(const Args&, const Metas&), bool strided = false) {
  Kernel k;
  k.name = std::move(name);
  k.bind = bind;
  k.strided = strided;
  return k;
}

// |got - oracle| <= max(ulp * ulp(oracle), floor), or, where `nrm` is set, <= max(ulp(oracle), nrm * max|oracle|) +
// floor.
struct Tolerance {
  double ulp = 0, floor = 0, nrm = 0;
};
struct Tolerances {  // all zero: exact
  Tolerance f32, f16, bf16, f64;
};
inline Tolerances exact() { return {}; }
inline Tolerances ulps(double f32, double half = 1, double floor32 = 0, double floor_half = 0) {
  return {{f32, floor32, 0}, {half, floor_half, 0}, {half, floor_half, 0}, {f32, 0, 0}};
}
inline Tolerances norm_wise(double f32, double f16, double bf16) {
  return {{0, 1e-30, f32}, {0, 1e-30, f16}, {0, 1e-30, bf16}, {0, 1e-300, 1e-12}};
}

enum Flag : unsigned {
  kNone = 0,
  kPointwise =
      1u << 0,  // every output element depends on the input elements at its (broadcast) place: may join a fused chain
  kDynamic = 1u << 1,    // the output's shape depends on values: infer is asked with `known` operands only
  kControl = 1u << 2,    // If, Loop, Scan: the specialiser handles it
  kRandom = 1u << 3,     // never folded, never merged
  kView = 1u << 4,       // infer may answer with an alias; then nothing is launched
  kShapeOnly = 1u << 5,  // needs the operand's shape, not its bytes (aten::_shape_as_tensor): always known when planned
  kInPlace = 1u << 6,    // output 0 may use operand 0's buffer when that dies here (same bytes)
};

using InferFn = Metas (*)(const Args&);
using CostFn = Cost (*)(const Args&, const Metas& outputs);
using KeysFn = void (*)(const Args&, const Metas& outputs, const Profile&, KeySink&);
// Operands come dense; floating ones as float64, others in their dtype. Results: float64, int64 or bool (or the
// output's own dtype); the suite converts. Written for clarity.
using OracleFn = std::vector<Tensor> (*)(const Args&, const std::vector<Tensor>& operands);
using SamplesFn = void (*)(SampleSink&);

// One thing that the reader of a result would do next, offered to the op that makes it: + addend (a bias or a residual;
// the op decides by its meta which, and refuses what it cannot take), or an activation. Exactly one of the two is set.
// The fused result must be what the unfused pair gives, its rounding between the two in half types included.
struct EpilogueOffer {
  const Meta* addend = nullptr;
  ActivationSpec activation = {};
};
struct FusedCall {
  std::string op;             // full name
  std::vector<Value> values;  // one per parameter; TensorRefs: operand indices of this call; `extra`: the addend
};
// The call with this epilogue, or nothing. A fused op takes further epilogues the same way, in its own fixed order.
using EpilogueFn = std::optional<FusedCall> (*)(const Args&, const Metas& outputs, const EpilogueOffer&, int extra);

struct OpDecl {
  std::string schema;  // parsed at registration
  InferFn infer = nullptr;
  CostFn cost = nullptr;
  KeysFn keys = nullptr;
  std::vector<Kernel> kernels;  // in order of preference; the first that serves is the default
  OracleFn oracle = nullptr;
  SamplesFn samples = nullptr;

  Tolerances tolerance = {};
  std::vector<DType> dtypes = {DType::float32};  // the samples run with their float32 tensors in each of these
  unsigned flags = kNone;
  std::vector<OnnxImport> imports = {};
  std::vector<std::string> aliases = {};  // further names: "aten::multiply.Tensor"
  EpilogueFn with_epilogue = nullptr;     // GEMM and convolution: how the epilogue pass rewrites a call
  std::string source = {};                // paper, ATen op, ONNX op; for docs
  std::string not_deterministic = {};     // the exception to "same bits", named; empty: none

  Schema parsed = {};       // filled by the registry
  std::string family = {};  // filled by the registry: the folder

  bool has(Flag flag) const { return (flags & flag) != 0; }
};
using Decls = std::vector<OpDecl>;

// Common parts.
Cost pointwise_cost(const Args& args, const Metas& outputs);  // every byte once, one flop an output element
Cost copy_cost(const Args& args, const Metas& outputs);       // bytes moved, no flops; nothing for an alias
void shape_keys(const Args& args, const Metas& outputs, const Profile& profile, KeySink& out);
// ^ the key of a kernel that spec/launch_keys.md does not name: op, dtype tags, extents in buckets

}  // namespace nbx
