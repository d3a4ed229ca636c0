// SPDX-License-Identifier: Apache-2.0
// What this process holds of the machine's memory.
#pragma once
#include <cstdint>
#include <optional>

namespace nbx {

// Bytes, from /proc/self/status; nothing where it cannot be read.
std::optional<int64_t> resident_bytes();       // VmRSS
std::optional<int64_t> peak_resident_bytes();  // VmHWM: the highest so far

}  // namespace nbx
