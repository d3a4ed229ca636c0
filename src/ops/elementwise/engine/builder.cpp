// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/engine/program.h"

#include <cstring>

#include "tensor/convert.h"

namespace nbx::pointwise {

namespace {

// The step that rounds a lane's value to a dtype; undefined when the lane is the dtype's own.
Fn rounding_to(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return fn(Cast::round_float16);
    case DType::bfloat16:
      return fn(Cast::round_bfloat16);
    case DType::float8_e4m3fn:
      return fn(Cast::round_e4m3);
    case DType::float8_e5m2:
      return fn(Cast::round_e5m2);
    case DType::int8:
      return fn(Cast::wrap_int8);
    case DType::uint8:
      return fn(Cast::wrap_uint8);
    case DType::int16:
      return fn(Cast::wrap_int16);
    case DType::uint16:
      return fn(Cast::wrap_uint16);
    case DType::uint32:
      return fn(Cast::wrap_uint32);
    default:
      return {};
  }
}

template <class T>
Params limits_of() {
  Params p;
  p.i[0] = static_cast<int64_t>(std::numeric_limits<T>::lowest());
  p.i[1] = static_cast<int64_t>(std::numeric_limits<T>::max());
  return p;
}
Params limits(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return limits_of<int8_t>();
    case DType::uint8:
      return limits_of<uint8_t>();
    case DType::int16:
      return limits_of<int16_t>();
    case DType::uint16:
      return limits_of<uint16_t>();
    case DType::int32:
      return limits_of<int32_t>();
    case DType::uint32:
      return limits_of<uint32_t>();
    case DType::uint64:
      return limits_of<uint64_t>();
    default:
      return limits_of<int64_t>();
  }
}

Fn between(Lane from, Lane to) {
  using C = Cast;
  static constexpr C none = C::count;
  static constexpr C table[kLanes][kLanes] = {
      {none, C::f32_f64, C::f32_i32, C::f32_i64, C::f32_u64, C::f32_b8},
      {C::f64_f32, none, C::f64_i32, C::f64_i64, C::f64_u64, C::f64_b8},
      {C::i32_f32, C::i32_f64, none, C::i32_i64, C::i32_u64, C::i32_b8},
      {C::i64_f32, C::i64_f64, C::i64_i32, none, C::i64_u64, C::i64_b8},
      {C::u64_f32, C::u64_f64, C::u64_i32, C::u64_i64, none, C::u64_b8},
      {C::b8_f32, C::b8_f64, C::b8_i32, C::b8_i64, C::b8_u64, none},
  };
  const C cast = table[static_cast<int>(from)][static_cast<int>(to)];
  return cast == none ? Fn{} : fn(cast);
}

bool is_real(Lane lane) { return lane == Lane::f32 || lane == Lane::f64; }

double rounded(double v, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return static_cast<float>(v);
    case DType::float16:
      return to_float(convert<float16_t>(v));
    case DType::bfloat16:
      return to_float(convert<bfloat16_t>(v));
    case DType::float8_e4m3fn:
      return to_float(convert<float8_e4m3fn_t>(v));
    case DType::float8_e5m2:
      return to_float(convert<float8_e5m2_t>(v));
    default:
      return v;
  }
}

int64_t wrapped(int64_t v, DType dtype) {
  switch (dtype) {
    case DType::int8:
      return static_cast<int8_t>(v);
    case DType::uint8:
      return static_cast<uint8_t>(v);
    case DType::int16:
      return static_cast<int16_t>(v);
    case DType::uint16:
      return static_cast<uint16_t>(v);
    case DType::int32:
      return static_cast<int32_t>(v);
    case DType::uint32:
      return static_cast<uint32_t>(v);
    case DType::bool_:
      return v != 0;
    default:
      return v;
  }
}

}  // namespace

Input input_of(int operand, const Meta& meta) { return {operand, meta.dtype, meta.shape, meta.strides, 0}; }

Val Builder::push(Node node) {
  nodes_.push_back(node);
  return static_cast<Val>(nodes_.size()) - 1;
}

Val Builder::add_input(Input input) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind != Node::input) continue;
    const Input& have = inputs_[static_cast<size_t>(nodes_[i].index)];
    if (have.operand == input.operand && have.shape == input.shape && have.strides == input.strides &&
        have.offset == input.offset)
      return static_cast<Val>(i);
  }
  Node n;
  n.kind = Node::input;
  n.dtype = input.dtype;
  n.lane = lane_of(input.dtype);
  n.index = static_cast<int>(inputs_.size());
  inputs_.push_back(std::move(input));
  return push(n);
}

Val Builder::push_constant(const Node& n) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& m = nodes_[i];
    // By bits: -0 and 0 are two constants, and a NaN is itself.
    if (m.kind == Node::constant && m.dtype == n.dtype && m.whole == n.whole &&
        std::memcmp(&m.real, &n.real, sizeof n.real) == 0)
      return static_cast<Val>(i);
  }
  return push(n);
}

Val Builder::constant(const Scalar& value, DType dtype) {
  Node n;
  n.kind = Node::constant;
  n.dtype = dtype;
  n.lane = lane_of(dtype);
  const bool whole = value.category() == Category::integral || value.category() == Category::boolean;
  if (is_real(n.lane))
    n.real = rounded(whole ? static_cast<double>(value.as_int()) : value.as_double(), dtype);
  else if (dtype == DType::bool_)
    n.whole = whole ? value.as_int() != 0 : value.as_double() != 0;
  else
    n.whole = wrapped(value.as_int(), dtype);
  return push_constant(n);
}

Val Builder::wide_constant(double value, DType dtype) {
  Node n;
  n.kind = Node::constant;
  n.lane = lane_of(dtype);
  n.dtype = dtype;
  n.real = n.lane == Lane::f64 ? value : static_cast<float>(value);
  return push_constant(n);
}

Val Builder::raw_step(Fn f, Lane lane, DType dtype, bool is_rounded, std::initializer_list<Val> in,
                      const Params& params) {
  Node n;
  n.fn = f;
  n.lane = lane;
  n.dtype = dtype;
  n.rounded = is_rounded;
  n.params = params;
  for (const Val v : in) n.in[n.count++] = v;
  return push(n);
}

Val Builder::step(Fn f, DType dtype, std::initializer_list<Val> in, const Params& params) {
  Val settled[3] = {-1, -1, -1};
  int count = 0;
  for (const Val v : in) settled[count++] = settle(v);
  const bool own = !rounding_to(dtype).defined();
  const Lane lane = lane_of(dtype);
  if (count == 1) return raw_step(f, lane, dtype, own, {settled[0]}, params);
  if (count == 2) return raw_step(f, lane, dtype, own, {settled[0], settled[1]}, params);
  return raw_step(f, lane, dtype, own, {settled[0], settled[1], settled[2]}, params);
}

Val Builder::settle(Val v) {
  if (node(v).rounded) return v;
  if (node(v).settled < 0) {
    const Node n = node(v);
    const Val s = raw_step(rounding_to(n.dtype), n.lane, n.dtype, true, {v}, {});
    nodes_[static_cast<size_t>(v)].settled = s;
  }
  return node(v).settled;
}

Val Builder::cast(Val v, DType dtype) {
  if (node(v).dtype == dtype) return v;
  v = settle(v);
  const Node from = node(v);
  const Lane to = lane_of(dtype);
  if (from.kind == Node::constant) {
    if (is_real(from.lane)) return constant(Scalar{from.real}, dtype);
    if (from.lane != Lane::u64) return constant(Scalar{from.whole}, dtype);
  }
  // A double becomes a half with one rounding.
  if (from.lane == Lane::f64 && is_half(dtype))
    return raw_step(fn(dtype == DType::float16 ? Cast::f64_float16 : Cast::f64_bfloat16), to, dtype, true, {v}, {});
  if (from.lane == to) {
    const Fn f = rounding_to(dtype);
    if (!f.defined()) {  // float16 as float32, int8 as int32: the same number
      Node same = from;
      if (same.kind == Node::step || same.kind == Node::input) {
        // A value cannot have two dtypes, so it gets a step that the compiler of programs drops.
        return raw_step({}, to, dtype, true, {v}, {});
      }
      same.dtype = dtype;
      return push(same);
    }
    // Rounded only when another step asks: a store rounds by itself.
    return raw_step({}, to, dtype, false, {v}, {});
  }
  const Fn f = between(from.lane, to);
  if (is_real(from.lane) && !is_real(to) && to != Lane::b8) return raw_step(f, to, dtype, true, {v}, limits(dtype));
  const bool own = !rounding_to(dtype).defined();
  // bool is 0 or 1 in every dtype.
  return raw_step(f, to, dtype, own || from.lane == Lane::b8, {v}, {});
}

}  // namespace nbx::pointwise
