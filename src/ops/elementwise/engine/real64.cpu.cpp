// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/engine/real64.cpu.cpp"
// The order of these two is Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/foreach_target.h>
// clang-format on
#include "ops/elementwise/engine/real-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nbx::pointwise {
namespace HWY_NAMESPACE {
const BlockFn* real64() { return real_table<double>(); }
}  // namespace HWY_NAMESPACE
}  // namespace nbx::pointwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nbx::pointwise {
HWY_EXPORT(real64);
const BlockFn* real64_table() { return HWY_DYNAMIC_DISPATCH(real64)(); }
}  // namespace nbx::pointwise
#endif
