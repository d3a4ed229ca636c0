// SPDX-License-Identifier: Apache-2.0
// Included once in a test binary: every allocation of the process is counted (a tensor's storage allocates its handle
// with it).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace nbx {
inline std::atomic<int64_t> counted_allocations{0};
inline int64_t allocations() { return counted_allocations; }
inline void* counted_new(size_t bytes, size_t alignment) {
  ++counted_allocations;
  void* p = alignment <= alignof(std::max_align_t)
                ? std::malloc(bytes ? bytes : 1)
                : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace nbx

// The replaced pair is malloc and free throughout; the compiler sees only one half of it at a time.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

// NOLINTBEGIN(misc-definitions-in-headers): one file of a binary includes this.
void* operator new(size_t n) { return nbx::counted_new(n, 1); }
void* operator new[](size_t n) { return nbx::counted_new(n, 1); }
void* operator new(size_t n, std::align_val_t a) { return nbx::counted_new(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, std::align_val_t a) { return nbx::counted_new(n, static_cast<size_t>(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  ++nbx::counted_allocations;
  return std::malloc(n ? n : 1);
}
void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  ++nbx::counted_allocations;
  return std::malloc(n ? n : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
// NOLINTEND(misc-definitions-in-headers)
