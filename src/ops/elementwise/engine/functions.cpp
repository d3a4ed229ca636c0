// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/engine/functions.h"

#include "base/check.h"

namespace nbx::pointwise {

Lane lane_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return Lane::f32;
    case DType::float64:
      return Lane::f64;
    case DType::int8:
    case DType::uint8:
    case DType::int16:
    case DType::uint16:
    case DType::int32:
      return Lane::i32;
    case DType::uint32:
    case DType::int64:
      return Lane::i64;
    case DType::uint64:
      return Lane::u64;
    case DType::bool_:
      return Lane::b8;
    default:
      break;
  }
  fail(Code::unsupported, "elementwise ops on {} are not supported yet; pass real tensors", name(dtype));
}

DType dtype_of_lane(Lane lane) {
  static constexpr DType types[] = {DType::float32, DType::float64, DType::int32,
                                    DType::int64,   DType::uint64,  DType::bool_};
  return types[static_cast<int>(lane)];
}

Tables tables() {
  return {{real32_table(), real64_table(), math32_table(), math64_table(), i32_table(), i64_table(), u64_table(),
           b8_table(), cast_table(), memory_table()}};
}

const char* name(Fn f) {
#define NBX_NAME_32(n) "real32." #n,
#define NBX_NAME_64(n) "real64." #n,
#define NBX_MATH_32(n) "math32." #n,
#define NBX_MATH_64(n) "math64." #n,
#define NBX_I32(n) "i32." #n,
#define NBX_I64(n) "i64." #n,
#define NBX_U64(n) "u64." #n,
#define NBX_B8(n) "b8." #n,
#define NBX_CAST(n) "cast." #n,
#define NBX_MEMORY(n) "memory." #n,
  static constexpr const char* real32[] = {NBX_REAL_FNS(NBX_NAME_32)};
  static constexpr const char* real64[] = {NBX_REAL_FNS(NBX_NAME_64)};
  static constexpr const char* math32[] = {NBX_MATH_FNS(NBX_MATH_32)};
  static constexpr const char* math64[] = {NBX_MATH_FNS(NBX_MATH_64)};
  static constexpr const char* i32[] = {NBX_INT_FNS(NBX_I32)};
  static constexpr const char* i64[] = {NBX_INT_FNS(NBX_I64)};
  static constexpr const char* u64[] = {NBX_INT_FNS(NBX_U64)};
  static constexpr const char* b8[] = {NBX_BOOL_FNS(NBX_B8)};
  static constexpr const char* cast[] = {NBX_CAST_FNS(NBX_CAST)};
  static constexpr const char* memory[] = {NBX_MEMORY_FNS(NBX_MEMORY)};
  static constexpr const char* const* groups[] = {real32, real64, math32, math64, i32, i64, u64, b8, cast, memory};
  return f.defined() ? groups[static_cast<int>(f.group)][f.index] : "none";
}

}  // namespace nbx::pointwise
