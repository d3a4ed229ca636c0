// SPDX-License-Identifier: Apache-2.0
// Ops that move elements unchanged see them as items of 1, 2, 4, 8 or 16 bytes: one loop a size instead of one a dtype.
#pragma once
#include <nbx/error.h>

#include <cstdint>
#include <string>

namespace nbx {

struct Item16 {
  uint64_t low, high;
};

// fn(item) with an unsigned integer (or Item16) of that size.
template <class Fn>
void with_item(int itemsize, Fn&& fn) {
  switch (itemsize) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    case 8:
      return fn(uint64_t{});
    case 16:
      return fn(Item16{});
    default:
      throw Error(Code::internal, "no item of " + std::to_string(itemsize) + " bytes");
  }
}

}  // namespace nbx
