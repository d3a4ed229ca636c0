// SPDX-License-Identifier: Apache-2.0
// Text that comes from a file, for an error of one line: printable ASCII and valid-looking UTF-8 as it is, the rest as
// \xNN, long text cut with its length.
#pragma once
#include <string>
#include <string_view>

namespace nbx {

std::string quote(std::string_view text, size_t longest = 80);  // with quotes: 'conv1.weight'
// A whole message that may hold such text: control characters become spaces.
std::string one_line(std::string text);

}  // namespace nbx
