// SPDX-License-Identifier: Apache-2.0
// SIMD vocabulary of the kernels: load and store that widen 16-bit floats and never touch memory beyond the row, and
// folds with four chains. For kernel files only, after targets.h and <hwy/foreach_target.h> (see targets.h). Everything
// is in nbx::HWY_NAMESPACE::simd; `d` is a tag such as hn::ScalableTag<float>.
//
//   load(d, p)             Lanes(d) elements from p (any alignment). float tags take float, bfloat16_t or float16_t and
//   widen;
//                          other tags take their own lane type.
//   load(d, p, left)       the same when left >= Lanes(d); else `left` elements, the other lanes 0
//   store(d, v, p)         stores Lanes(d); 16-bit floats round to nearest even, NaN stays NaN
//   store(d, v, p, left)   at most `left`
//   load_pairs(d, p, even, odd)   deinterleaves 2 * Lanes(d) elements
//   fold(d, p, n, f)       sums f over p[0..n): f(sum, v) -> sum adds one vector. Four chains, joined in fixed order ->
//   float fold_with(d, p, n, init, f, join)   any other fold: f(acc, v), join(acc, acc); lanes beyond n are left out
//   join_lanes(d, v, join) one value of all lanes, in fixed order
//   max, min               a NaN in either operand gives NaN, as ATen
//   clamp(v, lo, hi)       a NaN in v stays
//
// Why not Highway's own: the packaged one (1.0.3) truncates float32 -> bf16, its masked 16-bit loads read past the end
// of a row, and its Max drops a NaN on x86.
#if defined(NBX_BACKEND_CPU_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NBX_BACKEND_CPU_SIMD_H
#undef NBX_BACKEND_CPU_SIMD_H
#else
#define NBX_BACKEND_CPU_SIMD_H
#endif

#include <hwy/highway.h>
#include <nbx/dtype.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace simd {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using V = hn::Vec<D>;

// The target's own conversions of float16 (F16C, NEON) handle subnormals, infinities and quiet NaNs and round to
// nearest even. Masked accesses of 32 and 64-bit lanes are the hardware's there and never fault; a bounced tail costs a
// call of memcpy.
#undef NBX_SIMD_HAS_MASKS
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define NBX_SIMD_HAS_MASKS 1
#else
#define NBX_SIMD_HAS_MASKS 0
#endif

#undef NBX_SIMD_HAS_F16
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
#define NBX_SIMD_HAS_F16 1
#else
#define NBX_SIMD_HAS_F16 0
#endif

template <class D, class T = hn::TFromD<D>>
HWY_INLINE V<D> load(D d, const T* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE V<D> load(D d, const bfloat16_t* p) {
  static_assert(std::is_same_v<hn::TFromD<D>, float>);
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<uint32_t, D> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(p)));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}
template <class D>
HWY_INLINE V<D> load(D d, const float16_t* p) {
  static_assert(std::is_same_v<hn::TFromD<D>, float>);
#if NBX_SIMD_HAS_F16
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<hwy::float16_t, D> df16;
  return hn::PromoteTo(d, hn::BitCast(df16, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(p))));
#else
  HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float)];
  for (size_t i = 0; i < hn::Lanes(d); ++i) wide[i] = to_float(p[i]);
  return hn::Load(d, wide);
#endif
}

// p[0], p[2], ... and p[1], p[3], ...: 2 * Lanes(d) elements. (Highway 1.0.3's LoadInterleaved2 takes three times the
// shuffles.)
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void load_pairs(D d, const T* p, V<D>& even, V<D>& odd) {
#if HWY_TARGET == HWY_SCALAR
  hn::LoadInterleaved2(d, p, even, odd);
#else
  const auto lo = hn::LoadU(d, p), hi = hn::LoadU(d, p + hn::Lanes(d));
  even = hn::ConcatEven(d, hi, lo);
  odd = hn::ConcatOdd(d, hi, lo);
#endif
}

// Keeps a loaded vector in a register. g++ folds a load into each instruction that uses it, which repeats it; a load
// that crosses a cache line costs twice.
template <class VF>
HWY_INLINE VF in_register(VF v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  asm("" : "+v"(v.raw));
#endif
  return v;
}

template <class D, class T>
HWY_INLINE V<D> load(D d, const T* p, size_t left) {
  if (HWY_LIKELY(left >= hn::Lanes(d))) return load(d, p);
#if NBX_SIMD_HAS_MASKS
  if constexpr (sizeof(T) >= 4 && std::is_same_v<T, hn::TFromD<D>>) return hn::MaskedLoad(hn::FirstN(d, left), d, p);
#endif
  T row[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
  std::memcpy(row, p, left * sizeof(T));
  return load(d, static_cast<const T*>(row));
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, V<D> v, T* p) {
  hn::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void store(D, V<D> v, bfloat16_t* p) {
  static_assert(std::is_same_v<hn::TFromD<D>, float>);
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<int32_t, D> di;
  const hn::Rebind<uint32_t, D> du;
  const auto bits = hn::BitCast(du, v);
  // Half a unit of the last kept bit, less one when that bit is even: ties go to even.
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40u));
  const auto out = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, out)), d16, reinterpret_cast<uint16_t*>(p));
}
template <class D>
HWY_INLINE void store([[maybe_unused]] D d, V<D> v, float16_t* p) {
  static_assert(std::is_same_v<hn::TFromD<D>, float>);
#if NBX_SIMD_HAS_F16
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<hwy::float16_t, D> df16;
  hn::StoreU(hn::BitCast(d16, hn::DemoteTo(df16, v)), d16, reinterpret_cast<uint16_t*>(p));
#else
  HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, wide);
  for (size_t i = 0; i < hn::Lanes(d); ++i) p[i] = to_float16(wide[i]);
#endif
}

template <class D, class T>
HWY_INLINE void store(D d, V<D> v, T* p, size_t left) {
  if (HWY_LIKELY(left >= hn::Lanes(d))) return store(d, v, p);
#if NBX_SIMD_HAS_MASKS
  if constexpr (sizeof(T) >= 4 && std::is_same_v<T, hn::TFromD<D>>)
    return hn::BlendedStore(v, hn::FirstN(d, left), d, p);
#endif
  T row[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  store(d, v, static_cast<T*>(row));
  std::memcpy(p, row, left * sizeof(T));
}

template <class VF>
HWY_INLINE VF max(VF a, VF b) {
  const auto larger = hn::IfThenElse(hn::Gt(a, b), a, b);  // b when either is NaN
  return hn::IfThenElse(hn::IsNaN(a), a, larger);
}
template <class VF>
HWY_INLINE VF min(VF a, VF b) {
  const auto smaller = hn::IfThenElse(hn::Lt(a, b), a, b);
  return hn::IfThenElse(hn::IsNaN(a), a, smaller);
}
template <class VF>
HWY_INLINE VF clamp(VF v, VF lo, VF hi) {
  v = hn::IfThenElse(hn::Lt(v, lo), lo, v);
  return hn::IfThenElse(hn::Gt(v, hi), hi, v);
}

// Joins upper half into lower half until one lane is left.
template <class D, class Join>
HWY_INLINE hn::TFromD<D> join_lanes(D d, V<D> v, Join join) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T lanes[2 * HWY_MAX_BYTES / sizeof(T)];
  for (size_t half = hn::Lanes(d) / 2; half > 0; half /= 2) {
    hn::Store(v, d, lanes);
    hn::Store(v, d, lanes + hn::Lanes(d));  // only the lower `half` lanes of the joined vector count
    v = join(v, hn::LoadU(d, lanes + half));
  }
  return hn::GetLane(v);
}

template <class D, class T, class F, class Join>
HWY_INLINE V<D> fold_chains(D d, const T* p, size_t n, V<D> init, F f, Join join) {
  const size_t lanes = hn::Lanes(d);
  auto a = init, b = init, c = init, e = init;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = f(a, load(d, p + i));
    b = f(b, load(d, p + i + lanes));
    c = f(c, load(d, p + i + 2 * lanes));
    e = f(e, load(d, p + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = f(a, load(d, p + i));
  if (i < n) b = hn::IfThenElse(hn::FirstN(d, n - i), f(b, load(d, p + i, n - i)), b);
  return join(join(a, b), join(c, e));
}

template <class D, class T, class F, class Join>
HWY_INLINE hn::TFromD<D> fold_with(D d, const T* p, size_t n, hn::TFromD<D> init, F f, Join join) {
  return join_lanes(d, fold_chains(d, p, n, hn::Set(d, init), f, join), join);
}

struct Plus {
  template <class VF>
  HWY_INLINE VF operator()(VF a, VF b) const {
    return hn::Add(a, b);
  }
};

template <class D, class T, class F>
HWY_INLINE hn::TFromD<D> fold(D d, const T* p, size_t n, F f) {
  return fold_with(d, p, n, hn::TFromD<D>{0}, f, Plus());
}

}  // namespace simd
}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
