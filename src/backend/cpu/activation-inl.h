// SPDX-License-Identifier: Apache-2.0
// The activations of ActivationSpec on float vectors, for kernel files (include as simd.h). with_activation(spec, f)
// calls f once with a functor act(d, v) for the kind: the switch is outside of f's loops.
#if defined(NBX_BACKEND_CPU_ACTIVATION_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NBX_BACKEND_CPU_ACTIVATION_H
#undef NBX_BACKEND_CPU_ACTIVATION_H
#else
#define NBX_BACKEND_CPU_ACTIVATION_H
#endif

#include "backend/activation_spec.h"
#include "backend/cpu/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace act {
namespace hn = hwy::HWY_NAMESPACE;

struct None {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> v) const {
    return v;
  }
};
// relu and clamp; a NaN passes both comparisons' "else".
struct Clamp {
  float lo, hi;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return simd::clamp(v, hn::Set(d, lo), hn::Set(d, hi));
  }
};
struct Sigmoid {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return simd::sigmoid(d, v);
  }
};
struct Silu {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return hn::Mul(v, simd::sigmoid(d, v));
  }
};
struct Gelu {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    const auto e = simd::erf(d, hn::Mul(v, hn::Set(d, 0.70710678118654752f)));
    return hn::Mul(hn::Mul(v, hn::Set(d, 0.5f)), hn::Add(e, hn::Set(d, 1.0f)));
  }
};
struct GeluTanh {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    const auto cube = hn::Mul(hn::Mul(v, v), v);
    const auto inner = hn::Mul(hn::Set(d, 0.79788456080286536f), hn::MulAdd(cube, hn::Set(d, 0.044715f), v));
    return hn::Mul(hn::Mul(v, hn::Set(d, 0.5f)), hn::Add(simd::tanh(d, inner), hn::Set(d, 1.0f)));
  }
};
struct Hardsigmoid {
  float alpha, beta;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return simd::clamp(hn::MulAdd(v, hn::Set(d, alpha), hn::Set(d, beta)), hn::Zero(d), hn::Set(d, 1.0f));
  }
};
struct Hardswish {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    const auto gate = simd::clamp(hn::Add(v, hn::Set(d, 3.0f)), hn::Zero(d), hn::Set(d, 6.0f));
    return hn::Mul(hn::Mul(v, gate), hn::Set(d, 1.0f / 6.0f));
  }
};
struct Tanh {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return simd::tanh(d, v);
  }
};
struct LeakyRelu {
  float slope;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, hn::Set(d, slope)), v);
  }
};

template <class F>
HWY_INLINE void with_activation(const ActivationSpec& spec, const F& f) {
  switch (spec.kind) {
    case ActivationKind::none:
      return f(None());
    case ActivationKind::relu:
      return f(Clamp{0.0f, simd::kInf});
    case ActivationKind::clamp:
      return f(Clamp{spec.alpha, spec.beta});
    case ActivationKind::sigmoid:
      return f(Sigmoid());
    case ActivationKind::silu:
      return f(Silu());
    case ActivationKind::gelu:
      return f(Gelu());
    case ActivationKind::gelu_tanh:
      return f(GeluTanh());
    case ActivationKind::hardsigmoid:
      return f(Hardsigmoid{spec.alpha, spec.beta});
    case ActivationKind::hardswish:
      return f(Hardswish());
    case ActivationKind::tanh:
      return f(Tanh());
    case ActivationKind::leaky_relu:
      return f(LeakyRelu{spec.alpha});
  }
}

}  // namespace act
}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
