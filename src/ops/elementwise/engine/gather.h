// SPDX-License-Identifier: Apache-2.0
// Reading a piece of a strided tensor into a dense tile.
#pragma once
#include <nbx/shape.h>

#include <algorithm>
#include <cstring>

namespace nbx::pointwise {

template <class T>
void copy_strided(T* to, const T* from, int64_t stride, int64_t n) {
  if (stride == 1) {
    if (n >= 16)
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    else
      for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  } else if (stride == 0) {
    std::fill_n(to, n, *from);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
}

// n elements from the place `coords` on, in row-major order of `shape`.
template <class T>
void gather_as(T* to, const T* from, const Shape& shape, const Strides& strides, const int64_t* start, int64_t n) {
  const int rank = static_cast<int>(shape.size());
  int64_t coords[kMaxRank];
  int64_t row = 0;
  for (int d = 0; d < rank; ++d) {
    coords[d] = start[d];
    if (d + 1 < rank) row += start[d] * strides[static_cast<size_t>(d)];
  }
  const int64_t inner = shape.back(), stride = strides.back();
  int64_t column = coords[rank - 1];
  for (;;) {
    const int64_t run = std::min(inner - column, n);
    copy_strided(to, from + row + column * stride, stride, run);
    to += run;
    n -= run;
    if (n == 0) return;
    column = 0;
    for (int d = rank - 2; d >= 0; --d) {
      row += strides[static_cast<size_t>(d)];
      if (++coords[d] < shape[static_cast<size_t>(d)]) break;
      row -= strides[static_cast<size_t>(d)] * shape[static_cast<size_t>(d)];
      coords[d] = 0;
    }
  }
}

}  // namespace nbx::pointwise
