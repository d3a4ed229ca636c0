// SPDX-License-Identifier: Apache-2.0
// The vocabulary of pointwise programs: functions over tiles of one lane type. An element's result depends on that
// element alone, never on its place in the tile or on its neighbours.
#pragma once
#include <nbx/dtype.h>

#include <cstddef>
#include <cstdint>

namespace nbx::pointwise {

// What a tile holds. Every dtype is computed in one of them: floats below 32 bits in f32, int8, uint8, int16, uint16
// and int32 in i32, uint32 and int64 in i64.
enum class Lane : uint8_t { f32, f64, i32, i64, u64, b8 };
inline constexpr int kLanes = 6;
Lane lane_of(DType dtype);  // error (unsupported) for complex
DType dtype_of_lane(Lane lane);
inline int lane_bytes(Lane lane) { return lane == Lane::b8 ? 1 : lane == Lane::f32 || lane == Lane::i32 ? 4 : 8; }

// Tiles start on a multiple of kPad elements in memory of a multiple of kPad: functions may compute garbage up to
// there.
inline constexpr int64_t kPad = 64;

struct Params {
  double f[4] = {0, 0, 0, 0};
  int64_t i[2] = {0, 0};
};
struct Block {
  void* out;  // may be one of the inputs
  const void* in[3];
  int64_t n;  // elements that count
  const Params* params;
};
using BlockFn = void (*)(const Block&);

// x, y, z: the inputs; p: Params::f. All but the tests give the lane's own type.
#define NBX_REAL_FNS(X)                                                                                               \
  X(add)                                                                                                              \
  X(sub)                                                                                                              \
  X(mul) X(div) X(add_scaled) /* x + p0 y */ X(maximum) X(minimum) X(fmax) X(fmin) X(eq) X(ne) X(lt)                  \
      X(le) /* to b8 */ X(isnan) X(isinf) X(isfinite) /* to b8 */ X(isinf_signed) /* p0 neg, p1 pos */                \
      X(neg) X(abs) X(sqrt) X(rsqrt) X(reciprocal) X(square) X(cube) X(floor) X(ceil) X(trunc) X(round) X(frac)       \
          X(sign) X(relu) X(nan_to_num) /* p0 nan, p1 inf, p2 -inf */ X(clamp) X(clamp_min) X(clamp_max) /* p0, p1 */ \
      X(hardsigmoid) X(hard_sigmoid) /* clamp(p0 x + p1, 0, 1) */ X(hardswish) X(leaky_relu) X(threshold) X(softsign) \
          X(shrink) /* p0 lambda, p1 bias */ X(where) /* x: b8 */ X(addcmul) X(addcdiv) /* x + p0 y z */ X(lerp)      \
              X(prelu)                                                                                                \
                  X(scale) /* x p0 */ X(round_scaled) /* round(x p0) / p0 */ X(round_unscaled) /* round(x / p0) p0 */

#define NBX_MATH_FNS(X)                                                                                            \
  X(exp)                                                                                                           \
  X(exp2)                                                                                                          \
  X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(tanh) X(sigmoid) X(erf) X(erfc) X(silu) X(gelu) \
      X(gelu_tanh) X(mish) X(softplus) X(log_sigmoid) X(elu) /* p0 alpha, scale, input */                          \
      X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(pow) X(atan2) X(fmod) X(remainder)      \
          X(div_floor) /* i0: 1 rounds each step to float16, 2 to bfloat16 */

// Wrapping arithmetic; a division by zero is an error (value). i: Params::i.
#define NBX_INT_FNS(X)                                                                                              \
  X(add)                                                                                                            \
  X(sub)                                                                                                            \
  X(mul) X(add_scaled) /* x + i0 y */ X(maximum) X(minimum) X(eq) X(ne) X(lt) X(le)            /* to b8 */          \
      X(neg) X(abs) X(square) X(sign) X(bit_and) X(bit_or) X(bit_xor) X(bit_not) X(shl) X(shr) /* i0 bits */        \
      X(div_trunc) X(div_floor) X(fmod) X(remainder) X(pow) X(clamp) X(clamp_min) X(clamp_max) /* i0, i1 */ X(relu) \
          X(threshold) X(where) /* x: b8 */ X(addcmul)

#define NBX_BOOL_FNS(X) \
  X(bit_and) X(bit_or) X(bit_xor) X(bit_not) X(eq) X(lt) X(le) X(where) X(set) X(clear) /* of x's size */

// Between lanes, named from_to; to an integer lane floats truncate and saturate at i0, i1. Then in-lane roundings to a
// narrower dtype.
#define NBX_CAST_FNS(X)                                                                                           \
  X(f32_f64)                                                                                                      \
  X(f32_i32)                                                                                                      \
  X(f32_i64) X(f32_u64) X(f32_b8) X(f64_f32) X(f64_i32) X(f64_i64) X(f64_u64) X(f64_b8) X(i32_f32) X(i32_f64)     \
      X(i32_i64) X(i32_u64) X(i32_b8) X(i64_f32) X(i64_f64) X(i64_i32) X(i64_u64) X(i64_b8) X(u64_f32) X(u64_f64) \
          X(u64_i32) X(u64_i64) X(u64_b8) X(b8_f32) X(b8_f64) X(b8_i32) X(b8_i64) X(b8_u64) X(round_float16)      \
              X(round_bfloat16) X(round_e4m3) X(round_e5m2) X(f64_float16) X(f64_bfloat16) /* to f32 */           \
      X(wrap_int8) X(wrap_uint8) X(wrap_int16) X(wrap_uint16) X(wrap_uint32)

// Memory of a dtype to its lane and back; a dtype that is its lane's own is copied.
#define NBX_MEMORY_FNS(X)                                                                                           \
  X(load_float16)                                                                                                   \
  X(load_bfloat16)                                                                                                  \
  X(load_e4m3) X(load_e5m2) X(load_int8) X(load_uint8) X(load_int16) X(load_uint16) X(load_uint32) X(store_float16) \
      X(store_bfloat16) X(store_e4m3) X(store_e5m2) X(store_int8) X(store_uint8) X(store_int16) X(store_uint16)     \
          X(store_uint32)

#define NBX_ENUM(name) name,
enum class Real : uint8_t { NBX_REAL_FNS(NBX_ENUM) count };
enum class Math : uint8_t { NBX_MATH_FNS(NBX_ENUM) count };
enum class Int : uint8_t { NBX_INT_FNS(NBX_ENUM) count };
enum class Bool : uint8_t { NBX_BOOL_FNS(NBX_ENUM) count };
enum class Cast : uint8_t { NBX_CAST_FNS(NBX_ENUM) count };
enum class Memory : uint8_t { NBX_MEMORY_FNS(NBX_ENUM) count };
#undef NBX_ENUM

enum class Group : uint8_t { real32, real64, math32, math64, i32, i64, u64, b8, cast, memory, count };
struct Fn {
  Group group = Group::count;
  uint8_t index = 0;
  bool defined() const { return group != Group::count; }
  friend bool operator==(Fn a, Fn b) { return a.group == b.group && a.index == b.index; }
};
inline Fn fn(Cast f) { return {Group::cast, static_cast<uint8_t>(f)}; }
inline Fn fn(Bool f) { return {Group::b8, static_cast<uint8_t>(f)}; }
inline Fn fn(Memory f) { return {Group::memory, static_cast<uint8_t>(f)}; }
inline Fn fn(Real f, Lane lane) { return {lane == Lane::f64 ? Group::real64 : Group::real32, static_cast<uint8_t>(f)}; }
inline Fn fn(Math f, Lane lane) { return {lane == Lane::f64 ? Group::math64 : Group::math32, static_cast<uint8_t>(f)}; }
inline Fn fn(Int f, Lane lane) {
  return {lane == Lane::i32 ? Group::i32 : lane == Lane::i64 ? Group::i64 : Group::u64, static_cast<uint8_t>(f)};
}
const char* name(Fn f);  // "real32.add"

// The functions for the SIMD target that is chosen now.
struct Tables {
  const BlockFn* group[static_cast<int>(Group::count)];
  BlockFn operator[](Fn f) const { return group[static_cast<int>(f.group)][f.index]; }
};
Tables tables();
// The parts tables() is made of, one a kernel file.
const BlockFn* real32_table();
const BlockFn* real64_table();
const BlockFn* math32_table();
const BlockFn* math64_table();
const BlockFn* i32_table();
const BlockFn* i64_table();
const BlockFn* u64_table();
const BlockFn* b8_table();
const BlockFn* cast_table();
const BlockFn* memory_table();

}  // namespace nbx::pointwise
