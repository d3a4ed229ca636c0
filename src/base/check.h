// SPDX-License-Identifier: Apache-2.0
// Preconditions. `require` and `fail` are for what a caller or a file can get wrong; NBX_ASSERT is for our own defects.
#pragma once
#include <fmt/core.h>
#include <nbx/error.h>

#include <utility>

namespace nbx {

template <class... T>
[[noreturn]] void fail(Code code, fmt::format_string<T...> text, T&&... args) {
  throw Error(code, fmt::format(text, std::forward<T>(args)...));
}

// The text is formatted only when the condition does not hold.
template <class... T>
inline void require(bool condition, Code code, fmt::format_string<T...> text, T&&... args) {
  if (!condition) [[unlikely]]
    throw Error(code, fmt::format(text, std::forward<T>(args)...));
}

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace nbx

#define NBX_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::nbx::assertion_failed(#condition, __FILE__, __LINE__))
