// SPDX-License-Identifier: Apache-2.0
// What decisions ask of a device, as data.
#pragma once
#include <cstdint>
#include <string>

namespace nbx {

struct Profile {
  std::string name = "cpu/generic";  // vendor/name
  int64_t cache_bytes = 1 << 20;     // per core, private
  int vector_bytes = 32;
};

}  // namespace nbx
