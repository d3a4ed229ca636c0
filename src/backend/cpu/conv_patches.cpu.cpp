// SPDX-License-Identifier: Apache-2.0
// Packs patches of the input as the right operand of a GEMM, one panel at a time: no im2col matrix is ever whole.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/conv_patches.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/simd.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

inline float one(float v) { return v; }
inline float one(bfloat16_t v) { return to_float(v); }
inline float one(float16_t v) { return to_float(v); }

// dst[0..n) = src[0..n)
template <class T>
HWY_INLINE void copy_run(const T* src, int64_t n, float* dst) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < n; j += lanes) {
    const size_t left = static_cast<size_t>(n - j);
    simd::store(d, simd::load(d, src + j, left), dst + j, left);
  }
}

// dst[i] = src[i * stride]
HWY_INLINE void copy_strided(const float* src, int64_t stride, int64_t n, float* dst) {
  int64_t i = 0;
  if (stride == 2) {
    const D d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    // The last pair of a vector may have no second element: keep one vector short of the end.
    for (; i + lanes < n; i += lanes) {
      hn::Vec<D> even, odd;
      simd::load_pairs(d, src + 2 * i, even, odd);
      hn::StoreU(even, d, dst + i);
    }
  }
  for (; i < n; ++i) dst[i] = one(src[i * stride]);
}
template <class T>
HWY_INLINE void copy_strided(const T* src, int64_t stride, int64_t n, float* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = one(src[i * stride]);
}

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

template <class T>
void pack(const Patches& p, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst) {
  if (k0 >= k1) return;
  const T* x = static_cast<const T*>(p.x);
  const int64_t tw = p.tap_count[2], th = p.tap_count[1], td = p.tap_count[0];
  const int64_t plane = p.in[1] * p.in[2], volume = p.in[0] * plane;
  const int64_t sw = p.stride[2];
  if (n1 - n0 < width) std::fill_n(dst, (k1 - k0) * width, 0.0f);

  // The columns are runs along the width of the output.
  for (int64_t n = n0; n < n1;) {
    const int64_t ow = n % p.out[2], row = n / p.out[2];
    const int64_t oh = row % p.out[1], od = row / p.out[1];
    const int64_t run = std::min(n1 - n, p.out[2] - ow);
    float* to = dst + (n - n0);
    int64_t kw = k0 % tw, rest = k0 / tw;
    int64_t kh = rest % th;
    rest /= th;
    int64_t kd = rest % td, channel = rest / td;
    const T* from = nullptr;  // the input row of (channel, kd, kh), or null outside
    bool fresh = true;
    for (int64_t k = k0; k < k1; ++k, to += width) {
      if (fresh) {
        const int64_t id = od * p.stride[0] + p.taps[0][kd], ih = oh * p.stride[1] + p.taps[1][kh];
        const bool in = id >= 0 && id < p.in[0] && ih >= 0 && ih < p.in[1];
        from = in ? x + channel * volume + id * plane + ih * p.in[2] : nullptr;
        fresh = false;
      }
      if (from == nullptr) {
        for (int64_t j = 0; j < run; ++j) to[j] = 0.0f;
      } else {
        const int64_t iw = ow * sw + p.taps[2][kw];  // of the first column
        int64_t lo = 0, hi = run;                    // columns inside the input
        if (iw < 0) lo = std::min(run, sw == 1 ? -iw : ceil_div(-iw, sw));
        if (iw + (run - 1) * sw >= p.in[2]) hi = std::max(lo, sw == 1 ? p.in[2] - iw : ceil_div(p.in[2] - iw, sw));
        for (int64_t j = 0; j < lo; ++j) to[j] = 0.0f;
        if (lo < hi) {
          if (sw == 1) {
            copy_run(from + iw + lo, hi - lo, to + lo);
          } else {
            copy_strided(from + iw + lo * sw, sw, hi - lo, to + lo);
          }
        }
        for (int64_t j = hi; j < run; ++j) to[j] = 0.0f;
      }
      if (++kw == tw) {
        kw = 0;
        fresh = true;
        if (++kh == th) {
          kh = 0;
          if (++kd == td) {
            kd = 0;
            ++channel;
          }
        }
      }
    }
    n += run;
  }
}

void pack_patches_any(const Patches& p, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst) {
  switch (p.dtype) {
    case DType::bfloat16:
      return pack<bfloat16_t>(p, k0, k1, n0, n1, width, dst);
    case DType::float16:
      return pack<float16_t>(p, k0, k1, n0, n1, width, dst);
    default:
      return pack<float>(p, k0, k1, n0, n1, width, dst);
  }
}

}  // namespace

void pack_patches_entry(const Patches& p, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst) {
  pack_patches_any(p, k0, k1, n0, n1, width, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(pack_patches_entry);
void pack_patches(const Patches& p, int64_t k0, int64_t k1, int64_t n0, int64_t n1, int64_t width, float* dst) {
  HWY_DYNAMIC_DISPATCH(pack_patches_entry)(p, k0, k1, n0, n1, width, dst);
}
}  // namespace nbx
#endif
