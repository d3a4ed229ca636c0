// SPDX-License-Identifier: Apache-2.0
// NBX_UNROLL before a loop of constant count unrolls it whole: arrays of vectors then live in registers, at -O2 too.
#pragma once
#if defined(__clang__)
#define NBX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define NBX_UNROLL _Pragma("GCC unroll 32")
#endif
