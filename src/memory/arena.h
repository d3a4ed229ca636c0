// SPDX-License-Identifier: Apache-2.0
// One block of memory whose base never moves: addresses are reserved once, pages are made usable as plans ask for them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace nbx {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Makes the first `bytes` bytes usable. Error (budget) naming the bytes when the system refuses.
  void ensure(int64_t bytes);
  std::byte* base() const { return base_; }
  int64_t usable() const { return usable_; }

 private:
  std::byte* base_ = nullptr;
  int64_t reserved_ = 0;
  int64_t usable_ = 0;
};

}  // namespace nbx
