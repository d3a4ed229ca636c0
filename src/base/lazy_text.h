// SPDX-License-Identifier: Apache-2.0
// Arguments of `require` are evaluated even when nothing is wrong. A text that costs something is passed as lazy(...):
// it is made only when the message is.
#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>

namespace nbx {

template <class Make>
struct LazyText {
  Make make;  // () -> std::string
};
template <class Make>
LazyText<Make> lazy(Make make) {
  return {std::move(make)};
}

}  // namespace nbx

template <class Make>
struct fmt::formatter<nbx::LazyText<Make>> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const nbx::LazyText<Make>& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(text.make(), context);
  }
};
