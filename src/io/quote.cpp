// SPDX-License-Identifier: Apache-2.0
#include "io/quote.h"

#include <fmt/format.h>

namespace nbx {

std::string quote(std::string_view text, size_t longest) {
  std::string out = "'";
  size_t shown = std::min(text.size(), longest);
  // A cut inside a multi-byte character would leave half of it.
  while (shown < text.size() && shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;
  for (size_t i = 0; i < shown; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text[i];
    }
  }
  out += "'";
  if (shown < text.size()) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return text;
}

}  // namespace nbx
