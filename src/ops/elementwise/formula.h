// SPDX-License-Identifier: Apache-2.0
// Pointwise ops as a table: one row an op. From a row come the declaration's infer, kernel, oracle and its place in
// fused chains; a folder's X.op.cpp is its rows.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dtype/rules.h"
#include "ops/declare.h"
#include "ops/elementwise/engine/program.h"

namespace nbx::pointwise {

struct Formula;

// The types of a call: the operands' common type, the type it is computed in (float32 for an integer operand of exp)
// and the result's.
struct Types {
  DType common, compute, result;
};

// What a row's `lower` sees: the call, and a value for each tensor operand.
struct Lowering {
  Builder& b;
  const Formula& formula;
  const Args& args;
  const std::vector<Val>& in;  // by flat operand index
  Types types;

  // The operand named by a parameter (tensor or number) in the type to compute in. Numbers and 0-d tensors meet half
  // tensors in float32, as in ATen, unless the row says otherwise.
  Val operand(const char* param, std::optional<DType> as = {}) const;
  // The parameter's number, when it is known before the run.
  std::optional<Scalar> number(const char* param) const;
  Params params() const;  // from Formula::scalars
  Lane lane() const { return lane_of(types.compute); }
};

struct Formula {
  const char* schema;
  // The row of dtype/rules.cpp; `rule_of` when it depends on the arguments.
  const char* rule = nullptr;
  const char* (*rule_of)(const Args&) = nullptr;
  std::vector<const char*> operands = {"self"};  // parameters that are promoted and broadcast: tensors or numbers

  // The function in each lane; the operands are cast to the type to compute in. Or `lower`, for all else.
  std::optional<Real> real = {};
  std::optional<Math> math = {};
  std::optional<Int> whole = {};
  std::optional<Bool> boolean = {};
  std::vector<const char*> scalars = {};  // parameters that become Params, in order
  Val (*lower)(const Lowering&) = nullptr;
  bool round_numbers = false;  // numbers are rounded to a half operand's type (comparisons)

  void (*check)(const Args&) = nullptr;   // further errors
  Metas (*infer)(const Args&) = nullptr;  // instead of "broadcast the operands, apply the rule"

  // The oracle's formula on the operands in order and the scalars: in double, and in exact integers (bool as 0 and 1).
  double (*f64)(const double* x, const double* p) = nullptr;
  int64_t (*i64)(const int64_t* x, const int64_t* p) = nullptr;
  OracleFn oracle = nullptr;  // instead

  SamplesFn samples = nullptr;
  Tolerances tolerance = ulps(4);
  std::vector<OnnxImport> imports = {};
  std::vector<std::string> aliases = {};
  const char* source = "ATen";
  bool pointwise = true;  // may join a fused chain
};

// The declarations of a table. The rows live for ever and are found by their op's full name.
Decls declare(std::vector<Formula> rows);
const Formula* find_formula(const std::string& full_name);

// The parts, for declarations that need one of them.
Metas infer_pointwise(const Args& args);
Types types_of(const Formula& formula, const Args& args);
Val lower(const Formula& formula, Builder& b, const Args& args, const std::vector<Val>& in);
Bound bind_pointwise(const Args& args, const Metas& outputs);
std::vector<Tensor> oracle_pointwise(const Args& args, const std::vector<Tensor>& operands);

// A value as `dtype` would hold it.
double rounded_to(double value, DType dtype);
// Broadcast to `shape`, row-major, in double (or int64).
std::vector<double> doubles_as(const Tensor& tensor, const Shape& shape);
std::vector<int64_t> ints_as(const Tensor& tensor, const Shape& shape);

}  // namespace nbx::pointwise
