// SPDX-License-Identifier: Apache-2.0
// Gates to state, one pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rnn.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "backend/cpu/rnn_kernels.h"
#include "backend/cpu/simd_math.h"

#include <cmath>

#ifndef NBX_RNN_SCALARS
#define NBX_RNN_SCALARS
namespace nbx {
namespace {

float activate_one(const RecurrentActivation& a, float x) {
  switch (a.kind) {
    case RecurrentActivation::sigmoid:
      return 1.0f / (1.0f + std::exp(-x));
    case RecurrentActivation::tanh:
      return std::tanh(x);
    case RecurrentActivation::relu:
      return x < 0.0f ? 0.0f : x;
    case RecurrentActivation::affine:
      return a.alpha * x + a.beta;
    case RecurrentActivation::leaky_relu:
      return x < 0.0f ? a.alpha * x : x;
    case RecurrentActivation::thresholded_relu:
      return x > a.alpha ? x : 0.0f;
    case RecurrentActivation::scaled_tanh:
      return a.alpha * std::tanh(a.beta * x);
    case RecurrentActivation::hard_sigmoid: {
      const float v = a.alpha * x + a.beta;
      return v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
    }
    case RecurrentActivation::elu:
      return x < 0.0f ? a.alpha * std::expm1(x) : x;
    case RecurrentActivation::softsign:
      return x / (1.0f + std::fabs(x));
    case RecurrentActivation::softplus:
      return x > 0.0f ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
  return x;
}

}  // namespace
}  // namespace nbx
#endif

HWY_BEFORE_NAMESPACE();
namespace nbx {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using VF = hn::Vec<D>;

HWY_NOINLINE VF activate_rare(const RecurrentActivation& a, VF v) {
  const D d;
  HWY_ALIGN float lanes[HWY_LANES(float)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = activate_one(a, lanes[i]);
  return hn::Load(d, lanes);
}

HWY_INLINE VF activate(const RecurrentActivation& a, VF v) {
  const D d;
  if (HWY_LIKELY(a.kind == RecurrentActivation::sigmoid)) return simd::sigmoid(d, v);
  if (HWY_LIKELY(a.kind == RecurrentActivation::tanh)) return simd::tanh(d, v);
  return activate_rare(a, v);
}

// What the cells share.
struct Row {
  explicit Row(const CellRow& r) : row(r), hidden(r.weights->hidden), clip(r.args->clip) {}

  HWY_INLINE VF gate(int64_t index, int64_t j, size_t left) const {
    const D d;
    const int64_t at = index * hidden + j;
    return hn::Add(simd::load(d, row.from_x + at, left), simd::load(d, row.from_h + at, left));
  }
  HWY_INLINE VF clipped(VF v) const {
    const D d;
    return clip > 0.0f ? simd::clamp(v, hn::Set(d, -clip), hn::Set(d, clip)) : v;
  }
  HWY_INLINE VF act(int which, VF v) const { return activate(row.args->activations[which], clipped(v)); }

  HWY_INLINE void new_state(VF h, int64_t j, size_t left) const {
    const D d;
    simd::store(d, h, row.h + j, left);
    if (row.y == nullptr) return;
    switch (row.args->y_dtype) {
      case DType::bfloat16:
        return simd::store(d, h, static_cast<bfloat16_t*>(row.y) + j, left);
      case DType::float16:
        return simd::store(d, h, static_cast<float16_t*>(row.y) + j, left);
      default:
        return simd::store(d, h, static_cast<float*>(row.y) + j, left);
    }
  }

  const CellRow& row;
  int64_t hidden;
  float clip;
};

}  // namespace

void lstm_cell_entry(const CellRow& row) {
  const D d;
  const Row r(row);
  const float* peep = row.weights->peepholes.data();
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < r.hidden; j += step) {
    const size_t left = static_cast<size_t>(r.hidden - j);
    VF i = r.gate(0, j, left), f = r.gate(1, j, left), o = r.gate(3, j, left);
    VF c = simd::load(d, row.c + j, left);
    if (peep != nullptr) {
      i = hn::MulAdd(c, simd::load(d, peep + j, left), i);
      f = hn::MulAdd(c, simd::load(d, peep + r.hidden + j, left), f);
    }
    i = r.act(0, i);
    f = row.args->couple_forget ? hn::Sub(hn::Set(d, 1.0f), i) : r.act(0, f);
    const VF g = r.act(1, r.gate(2, j, left));
    c = hn::MulAdd(f, c, hn::Mul(i, g));
    simd::store(d, c, row.c + j, left);
    if (peep != nullptr) o = hn::MulAdd(c, simd::load(d, peep + 2 * r.hidden + j, left), o);
    r.new_state(hn::Mul(r.act(0, o), activate(row.args->activations[2], c)), j, left);
  }
}

void gru_cell_entry(const CellRow& row) {
  const D d;
  const Row r(row);
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), H = r.hidden;
  for (int64_t j = 0; j < H; j += step) {
    const size_t left = static_cast<size_t>(H - j);
    VF z, n;
    const VF xn = simd::load(d, row.from_x + 2 * H + j, left), from_h = simd::load(d, row.from_h + 2 * H + j, left);
    if (row.weights->linear_before_reset) {
      const VF reset = r.act(0, r.gate(0, j, left));
      z = r.act(0, r.gate(1, j, left));
      n = r.act(1, hn::MulAdd(reset, from_h, xn));
    } else {
      z = simd::load(d, row.from_h + H + j, left);
      n = r.act(1, hn::Add(xn, from_h));
    }
    const VF h = simd::load(d, row.h + j, left);
    // (1 - z) n + z h
    r.new_state(hn::MulAdd(z, hn::Sub(h, n), n), j, left);
  }
}

void gru_reset_entry(const CellRow& row) {
  const D d;
  const Row r(row);
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < r.hidden; j += step) {
    const size_t left = static_cast<size_t>(r.hidden - j);
    const VF reset = r.act(0, r.gate(0, j, left)), z = r.act(0, r.gate(1, j, left));
    simd::store(d, hn::Mul(reset, simd::load(d, row.h + j, left)), row.reset_h + j, left);
    simd::store(d, z, row.from_h + r.hidden + j, left);
  }
}

void rnn_cell_entry(const CellRow& row) {
  const D d;
  const Row r(row);
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < r.hidden; j += step) {
    const size_t left = static_cast<size_t>(r.hidden - j);
    r.new_state(r.act(0, r.gate(0, j, left)), j, left);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nbx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx {
HWY_EXPORT(lstm_cell_entry);
HWY_EXPORT(gru_cell_entry);
HWY_EXPORT(gru_reset_entry);
HWY_EXPORT(rnn_cell_entry);
void lstm_cell(const CellRow& row) { HWY_DYNAMIC_DISPATCH(lstm_cell_entry)(row); }
void gru_cell(const CellRow& row) { HWY_DYNAMIC_DISPATCH(gru_cell_entry)(row); }
void gru_reset(const CellRow& row) { HWY_DYNAMIC_DISPATCH(gru_reset_entry)(row); }
void rnn_cell(const CellRow& row) { HWY_DYNAMIC_DISPATCH(rnn_cell_entry)(row); }
}  // namespace nbx
#endif
