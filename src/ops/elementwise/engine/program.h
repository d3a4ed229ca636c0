// SPDX-License-Identifier: Apache-2.0
// Pointwise programs: what any chain of elementwise ops computes for one element, built op by op (Builder), then
// compiled for concrete shapes (compile) and run in one pass over memory, tile by tile. A single op is a chain of one,
// so fused and unfused results are the same bits: every op's result is rounded to its own dtype, whether it is stored
// or not.
#pragma once
#include <memory>
#include <vector>

#include "ops/declare.h"
#include "ops/elementwise/engine/functions.h"

namespace nbx::pointwise {

using Val = int;  // index of a value in its Builder

// How an operand is read; its shape broadcasts to the program's.
struct Input {
  int operand = 0;  // Run::in
  DType dtype = DType::float32;
  Shape shape;
  Strides strides;
  int64_t offset = 0;  // elements
};
Input input_of(int operand, const Meta& meta);

struct Node {
  enum Kind : uint8_t { input, constant, step } kind = step;
  Lane lane = Lane::f32;
  DType dtype = DType::float32;
  bool rounded = true;  // holds a value of `dtype`; else one of the wider lane, still to be rounded
  Val settled = -1;     // the rounded form, once somebody asked
  int index = 0;        // input: into inputs()
  double real = 0;      // constant in f32, f64
  int64_t whole = 0;    // constant in the others
  Fn fn;                // step
  int count = 0;
  Val in[3] = {-1, -1, -1};
  Params params;
};

class Builder {
 public:
  Val add_input(Input input);
  // A number as `dtype` holds it.
  Val constant(const Scalar& value, DType dtype);
  // A float constant in the lane of `dtype`, not rounded to a half type: scalars meet half tensors in float32.
  Val wide_constant(double value, DType dtype);
  // A function's result of `dtype`, still to be rounded to it. The inputs are rounded first.
  Val step(Fn f, DType dtype, std::initializer_list<Val> in, const Params& params = {});
  // ATen's conversion.
  Val cast(Val v, DType dtype);
  // The rounded form of v.
  Val settle(Val v);
  void output(Val v) { outputs_.push_back(v); }

  const Node& node(Val v) const { return nodes_[static_cast<size_t>(v)]; }
  DType dtype(Val v) const { return node(v).dtype; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<Val>& outputs() const { return outputs_; }

 private:
  Val push(Node node);
  Val push_constant(const Node& n);
  Val raw_step(Fn f, Lane lane, DType dtype, bool rounded, std::initializer_list<Val> in, const Params& params);

  std::vector<Node> nodes_;
  std::vector<Input> inputs_;
  std::vector<Val> outputs_;
};

// Tiles that may be alive at once: beyond that compile refuses. Of tiles that hold one number, kPinned are filled once
// for many tiles, the others each time they are used.
inline constexpr int kMaxLive = 64;
inline constexpr int kPinned = 16;

// All outputs are contiguous and of `shape`. Output 0 may lie where input 0 lies when that is dense and of the same
// bytes.
Bound compile(const Builder& builder, const Shape& shape);

}  // namespace nbx::pointwise
