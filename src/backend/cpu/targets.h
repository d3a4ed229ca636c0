// SPDX-License-Identifier: Apache-2.0
// Which SIMD targets kernels are compiled for, and which one runs. Include before any Highway header. A kernel file
// reads:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "ops/norm/rms_norm/rms_norm.cpu.cpp"   // this file, relative to src/
//   #include "backend/cpu/targets.h"
//   #include <hwy/foreach_target.h>      // compiles the rest once per target
//   #include "backend/cpu/simd.h"        // includes <hwy/highway.h>
//   HWY_BEFORE_NAMESPACE();
//   namespace nbx::HWY_NAMESPACE {
//   namespace hn = hwy::HWY_NAMESPACE;
//   void rms_norm_rows(...) { ... }
//   }  // namespace nbx::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace nbx {
//   HWY_EXPORT(rms_norm_rows);
//   void rms_norm(...) { HWY_DYNAMIC_DISPATCH(rms_norm_rows)(...); }
//   }
//   #endif
//
// Lambdas that hold SIMD code and are passed to templates need HWY_ATTR after their parameter list for clang:
// `[&](auto v) HWY_ATTR { ... }`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#ifdef HWY_HIGHWAY_INCLUDED
#error "include backend/cpu/targets.h before Highway"
#endif

#include <hwy/detect_compiler_arch.h>

#if HWY_ARCH_X86
#ifdef NBX_DEV_ONE_TARGET
// A quick build: AVX2 alone, called without asking the CPU.
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_COMPILE_ONLY_STATIC
#else
// Each target is another copy of every kernel. CPUs older than AVX2 (2013) take the scalar one.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
#endif

namespace nbx {

// The targets compiled in that this CPU can run, best first: "AVX3", "AVX2", "SCALAR".
std::vector<std::string> cpu_targets();
// The one that kernels run on.
std::string cpu_target();
// Makes kernels run on the named target from now on; "" chooses the best again. For tests: no kernel may be running,
// and results may differ in the last bits. Objects packed for one target serve every other. Error (value) naming the
// known ones.
void set_cpu_target(std::string_view name);

}  // namespace nbx
