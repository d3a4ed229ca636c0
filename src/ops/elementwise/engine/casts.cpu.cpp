// SPDX-License-Identifier: Apache-2.0
// NBX_CAST_FNS and NBX_MEMORY_FNS: between lanes, and between a lane and the narrower dtypes that live in memory only.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/engine/casts.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/simd.h"
#include "ops/elementwise/engine/functions.h"
#include "tensor/convert.h"

#undef NBX_INDEPENDENT
#if defined(__clang__)
#define NBX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define NBX_INDEPENDENT _Pragma("GCC ivdep")
#endif

HWY_BEFORE_NAMESPACE();
namespace nbx::pointwise {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = nbx::HWY_NAMESPACE::simd;

constexpr int64_t kStep = 16;

template <class From, class To, class F>
HWY_INLINE void steps(const Block& b, F f) {
  const From* x = static_cast<const From*>(b.in[0]);
  To* out = static_cast<To*>(b.out);
  for (int64_t i = 0; i < b.n; i += kStep) {
    NBX_INDEPENDENT
    for (int64_t j = 0; j < kStep; ++j) out[i + j] = f(x[i + j]);
  }
}

// C++'s conversion between lanes; to bool: is it other than zero (a NaN is).
template <class From, class To>
void plain(const Block& b) {
  steps<From, To>(b, [](From x) HWY_ATTR { return static_cast<To>(x); });
}
template <class From>
void truth(const Block& b) {
  steps<From, uint8_t>(b, [](From x) HWY_ATTR { return static_cast<uint8_t>(x != From{0}); });
}
// Truncates; saturates at the limits of the dtype; NaN gives 0. Exactly n: the rest may be anything.
template <class From, class To>
void whole(const Block& b) {
  const From* x = static_cast<const From*>(b.in[0]);
  To* out = static_cast<To*>(b.out);
  const To low = static_cast<To>(b.params->i[0]), high = static_cast<To>(b.params->i[1]);
  for (int64_t i = 0; i < b.n; ++i) {
    const To v = float_to_integer<To>(x[i]);
    out[i] = v < low ? low : v > high ? high : v;
  }
}
template <class T, class Narrow>
void wrapped(const Block& b) {
  steps<T, T>(b, [](T x) HWY_ATTR { return static_cast<T>(static_cast<Narrow>(x)); });
}

// float -> half in memory and back.
template <class Half>
void load_half(const Block& b) {
  const hn::ScalableTag<float> d;
  const Half* x = static_cast<const Half*>(b.in[0]);
  float* out = static_cast<float*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d))) hn::StoreU(simd::load(d, x + i), d, out + i);
}
template <class Half>
void store_half(const Block& b) {
  const hn::ScalableTag<float> d;
  const float* x = static_cast<const float*>(b.in[0]);
  Half* out = static_cast<Half*>(b.out);
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d))) simd::store(d, hn::LoadU(d, x + i), out + i);
}
template <class Half>
void round_half(const Block& b) {
  const hn::ScalableTag<float> d;
  const float* x = static_cast<const float*>(b.in[0]);
  float* out = static_cast<float*>(b.out);
  Half narrow[HWY_MAX_BYTES / sizeof(float)];
  for (int64_t i = 0; i < b.n; i += static_cast<int64_t>(hn::Lanes(d))) {
    simd::store(d, hn::LoadU(d, x + i), static_cast<Half*>(narrow));
    hn::StoreU(simd::load(d, static_cast<const Half*>(narrow)), d, out + i);
  }
}
// The rest goes by the bit formulas of dtype/convert.cpp.
template <class From, class To, class Middle>
void by_bits(const Block& b) {
  const From* x = static_cast<const From*>(b.in[0]);
  To* out = static_cast<To*>(b.out);
  for (int64_t i = 0; i < b.n; ++i) out[i] = convert<To>(convert<Middle>(x[i]));
}

namespace memory {
void load_float16(const Block& b) { load_half<float16_t>(b); }
void load_bfloat16(const Block& b) { load_half<bfloat16_t>(b); }
void load_e4m3(const Block& b) { by_bits<float8_e4m3fn_t, float, float>(b); }
void load_e5m2(const Block& b) { by_bits<float8_e5m2_t, float, float>(b); }
void load_int8(const Block& b) { plain<int8_t, int32_t>(b); }
void load_uint8(const Block& b) { plain<uint8_t, int32_t>(b); }
void load_int16(const Block& b) { plain<int16_t, int32_t>(b); }
void load_uint16(const Block& b) { plain<uint16_t, int32_t>(b); }
void load_uint32(const Block& b) { plain<uint32_t, int64_t>(b); }
void store_float16(const Block& b) { store_half<float16_t>(b); }
void store_bfloat16(const Block& b) { store_half<bfloat16_t>(b); }
void store_e4m3(const Block& b) { by_bits<float, float8_e4m3fn_t, float>(b); }
void store_e5m2(const Block& b) { by_bits<float, float8_e5m2_t, float>(b); }
void store_int8(const Block& b) { plain<int32_t, int8_t>(b); }
void store_uint8(const Block& b) { plain<int32_t, uint8_t>(b); }
void store_int16(const Block& b) { plain<int32_t, int16_t>(b); }
void store_uint16(const Block& b) { plain<int32_t, uint16_t>(b); }
void store_uint32(const Block& b) { plain<int64_t, uint32_t>(b); }
}  // namespace memory

namespace casts {
using f32 = float;
using f64 = double;
using i32 = int32_t;
using i64 = int64_t;
using u64 = uint64_t;
using b8 = uint8_t;
#define NBX_PLAIN(from, to) \
  void from##_##to(const Block& b) { plain<from, to>(b); }
#define NBX_WHOLE(from, to) \
  void from##_##to(const Block& b) { whole<from, to>(b); }
#define NBX_TRUTH(from) \
  void from##_b8(const Block& b) { truth<from>(b); }
NBX_PLAIN(f32, f64)
NBX_WHOLE(f32, i32)
NBX_WHOLE(f32, i64)
NBX_WHOLE(f32, u64)
NBX_TRUTH(f32)
NBX_PLAIN(f64, f32)
NBX_WHOLE(f64, i32)
NBX_WHOLE(f64, i64)
NBX_WHOLE(f64, u64)
NBX_TRUTH(f64)
NBX_PLAIN(i32, f32)
NBX_PLAIN(i32, f64)
NBX_PLAIN(i32, i64)
NBX_PLAIN(i32, u64)
NBX_TRUTH(i32)
NBX_PLAIN(i64, f32)
NBX_PLAIN(i64, f64)
NBX_PLAIN(i64, i32)
NBX_PLAIN(i64, u64)
NBX_TRUTH(i64)
NBX_PLAIN(u64, f32)
NBX_PLAIN(u64, f64)
NBX_PLAIN(u64, i32)
NBX_PLAIN(u64, i64)
NBX_TRUTH(u64)
NBX_PLAIN(b8, f32)
NBX_PLAIN(b8, f64)
NBX_PLAIN(b8, i32)
NBX_PLAIN(b8, i64)
NBX_PLAIN(b8, u64)
void round_float16(const Block& b) { round_half<float16_t>(b); }
void round_bfloat16(const Block& b) { round_half<bfloat16_t>(b); }
void round_e4m3(const Block& b) { by_bits<float, float, float8_e4m3fn_t>(b); }
void round_e5m2(const Block& b) { by_bits<float, float, float8_e5m2_t>(b); }
void f64_float16(const Block& b) { by_bits<double, float, float16_t>(b); }
void f64_bfloat16(const Block& b) { by_bits<double, float, bfloat16_t>(b); }
void wrap_int8(const Block& b) { wrapped<i32, int8_t>(b); }
void wrap_uint8(const Block& b) { wrapped<i32, uint8_t>(b); }
void wrap_int16(const Block& b) { wrapped<i32, int16_t>(b); }
void wrap_uint16(const Block& b) { wrapped<i32, uint16_t>(b); }
void wrap_uint32(const Block& b) { wrapped<i64, uint32_t>(b); }
}  // namespace casts

const BlockFn* casts_all() {
#define NBX_ROW(name) &casts::name,
  static constexpr BlockFn table[] = {NBX_CAST_FNS(NBX_ROW)};
#undef NBX_ROW
  return table;
}
const BlockFn* memory_all() {
#define NBX_ROW(name) &memory::name,
  static constexpr BlockFn table[] = {NBX_MEMORY_FNS(NBX_ROW)};
#undef NBX_ROW
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx::pointwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx::pointwise {
HWY_EXPORT(casts_all);
HWY_EXPORT(memory_all);
const BlockFn* cast_table() { return HWY_DYNAMIC_DISPATCH(casts_all)(); }
const BlockFn* memory_table() { return HWY_DYNAMIC_DISPATCH(memory_all)(); }
}  // namespace nbx::pointwise
#endif
