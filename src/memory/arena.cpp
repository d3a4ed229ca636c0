// SPDX-License-Identifier: Apache-2.0
#include "memory/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "memory/budget.h"

namespace nbx {

namespace {

// Address space only: nothing is resident until it is touched. Smaller steps for systems that limit it.
constexpr int64_t kReservations[] = {int64_t{1} << 40, int64_t{1} << 36, int64_t{1} << 33, int64_t{1} << 30};
constexpr int64_t kPage = int64_t{1} << 16;

}  // namespace

Arena::~Arena() {
  if (base_) munmap(base_, static_cast<size_t>(reserved_));
  release_memory(usable_);
}

void Arena::ensure(int64_t bytes) {
  if (bytes <= usable_) return;
  if (!base_) {
    for (const int64_t size : kReservations) {
      void* p = mmap(nullptr, static_cast<size_t>(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED) continue;
      base_ = static_cast<std::byte*>(p);
      reserved_ = size;
      break;
    }
    require(base_ != nullptr, Code::budget, "cannot reserve address space for {} bytes: {}", bytes,
            std::strerror(errno));
  }
  require(bytes <= reserved_, Code::budget, "the plan needs {} bytes, the system lets this process reserve {}", bytes,
          reserved_);
  const int64_t grown = (bytes + kPage - 1) / kPage * kPage;
  claim_memory(grown - usable_, "the plan");
  if (mprotect(base_, static_cast<size_t>(grown), PROT_READ | PROT_WRITE) != 0) {
    const int why = errno;
    release_memory(grown - usable_);
    fail(Code::budget, "cannot get {} bytes for the plan: {}", grown, std::strerror(why));
  }
  usable_ = grown;
}

}  // namespace nbx
