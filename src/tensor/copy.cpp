// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "dtype/promotion.h"
#include "shape/strides.h"
#include "tensor/copy_runs.h"

namespace nbx {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

template <class Unit>
void same_run(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(Unit));
    return;
  }
  const Unit* in = reinterpret_cast<const Unit*>(from);
  Unit* out = reinterpret_cast<Unit*>(to);
  if (from_stride == 0) {
    const Unit value = *in;
    for (int64_t i = 0; i < n; ++i) out[i * to_stride] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * to_stride] = in[i * from_stride];
  }
}

CopyRun run_of_size(int bytes) {
  switch (bytes) {
    case 1:
      return same_run<uint8_t>;
    case 2:
      return same_run<uint16_t>;
    case 4:
      return same_run<uint32_t>;
    case 8:
      return same_run<uint64_t>;
    default:
      return same_run<Bytes16>;
  }
}

// A side of the copy in bytes, walked by the loops of `shape`.
struct Side {
  Strides steps;  // bytes
  int64_t inner;  // elements
};

Side side_of(const Strides& strides, int bytes) {
  Side side{strides, strides.empty() ? 1 : strides.back()};
  for (int64_t& step : side.steps) step *= bytes;
  return side;
}

// Calls visit(from, to) for every index of the first `dims` loops.
template <class Visit>
void walk(const Shape& shape, size_t dims, const Side& a, const Side& b, const std::byte* from, std::byte* to,
          const Visit& visit) {
  Ints index(dims, 0);
  for (;;) {
    visit(from, to);
    size_t d = dims;
    for (;;) {
      if (d == 0) return;
      --d;
      from += a.steps[d];
      to += b.steps[d];
      if (++index[d] < shape[d]) break;
      from -= shape[d] * a.steps[d];
      to -= shape[d] * b.steps[d];
      index[d] = 0;
    }
  }
}

// 32 x 32 elements of each side stay in the first-level cache.
constexpr int64_t kTile = 32;

}  // namespace

CopyRun copy_run(DType from, DType to) {
  CopyRun run = nullptr;
  if (from == to && has_tensors(from)) return run_of_size(itemsize(from));
  if (!run) run = copy_runs::from_float(from, to);
  if (!run) run = copy_runs::from_narrow_float(from, to);
  if (!run) run = copy_runs::from_signed(from, to);
  if (!run) run = copy_runs::from_unsigned(from, to);
  require(
      run != nullptr, Code::dtype, "{} cannot be converted to {}{}", name(from), name(to),
      is_complex(from) && !is_complex(to) ? ": the imaginary part would be lost; take real, imag or abs first" : "");
  return run;
}

void strided_copy(DType from_type, const std::byte* from, const Strides& from_strides, DType to_type, std::byte* to,
                  const Strides& to_strides, const Shape& shape) {
  const CopyRun run = copy_run(from_type, to_type);
  const Loops loops = coalesce(shape, {to_strides, from_strides});
  if (loops.numel == 0) return;
  const Side a = side_of(loops.strides[1], itemsize(from_type)), b = side_of(loops.strides[0], itemsize(to_type));
  const size_t dims = loops.shape.size();
  if (dims == 0) return run(from, 1, to, 1, 1);

  const size_t inner = dims - 1;
  const int64_t n = loops.shape[inner];
  // Where the source is dense along another dim, a plain inner loop would touch a new cache line every element: tiles
  // use each line fully on both sides.
  size_t across = inner;
  for (size_t d = 0; d < inner; ++d)
    if (std::abs(a.steps[d]) < std::abs(a.steps[across]) && a.steps[d] != 0) across = d;
  if (across == inner || n < 4 || loops.shape[across] < 4) {
    walk(loops.shape, inner, a, b, from, to, [&](const std::byte* f, std::byte* t) { run(f, a.inner, t, b.inner, n); });
    return;
  }
  const int64_t rows = loops.shape[across];
  Shape outer = loops.shape;
  outer[across] = 1;
  walk(outer, inner, a, b, from, to, [&](const std::byte* f, std::byte* t) {
    for (int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (int64_t c0 = 0; c0 < n; c0 += kTile)
        for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r)
          run(f + r * a.steps[across] + c0 * a.steps[inner], a.inner, t + r * b.steps[across] + c0 * b.steps[inner],
              b.inner, std::min(kTile, n - c0));
  });
}

}  // namespace nbx
