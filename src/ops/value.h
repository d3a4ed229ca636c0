// SPDX-License-Identifier: Apache-2.0
// What an argument of an op can be, in a graph and in an eager call.
#pragma once
#include <nbx/dtype.h>
#include <nbx/shape.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace nbx {

struct None {
  friend bool operator==(None, None) { return true; }
};

// A tensor operand. In Args: the index into `operands`; in a graph: the id of a graph tensor. -1: absent.
struct TensorRef {
  int id = -1;
  bool defined() const { return id >= 0; }
  friend bool operator==(TensorRef a, TensorRef b) { return a.id == b.id; }
};
using TensorRefs = std::vector<TensorRef>;

// The argument is what an integer tensor (or, for a scalar, any one-element tensor) holds. The value must be known when
// the graph is specialised: ONNX passes shapes, axes and pads this way.
struct FromTensor {
  TensorRef source;
  friend bool operator==(FromTensor a, FromTensor b) { return a.source == b.source; }
};

// An integer that depends on the run's input shapes or values (nbx JSON §4.4, §4.5).
struct SymExpr;
using Sym = std::shared_ptr<const SymExpr>;
using Syms = std::vector<Sym>;
struct SymExpr {
  enum class Kind { constant, symbol, add, sub, mul, floordiv, mod, neg } kind = Kind::constant;
  int64_t value = 0;      // constant
  std::string symbol;     // symbol: its id in the graph's symbol table
  std::vector<Sym> args;  // add, mul: two or more; sub, floordiv, mod: two; neg: one
  int64_t trace = 0;      // the value at the trace, for checks and printing
};

using Doubles = std::vector<double>;
using Value = std::variant<None, bool, int64_t, double, std::complex<double>, std::string, DType, Ints, Doubles,
                           TensorRef, TensorRefs, FromTensor, Sym, Syms>;

inline bool is_none(const Value& v) { return std::holds_alternative<None>(v); }
std::string to_string(const Value& value);

// A number with its category, as weak scalars take part in promotion.
struct Scalar {
  std::variant<bool, int64_t, double, std::complex<double>> value = int64_t{0};
  double as_double() const;  // real part of a complex
  int64_t as_int() const;    // truncates
  Category category() const;
};

}  // namespace nbx
