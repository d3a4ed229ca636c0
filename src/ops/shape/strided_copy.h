// SPDX-License-Identifier: Apache-2.0
// The one loop nest behind every op that moves bytes: a strided region to a strided region of the same shape.
#pragma once
#include <nbx/shape.h>

#include "backend/cpu/team.h"

namespace nbx {

// Planned once from shapes and strides (elements), run many times on addresses. The destination's elements must be
// disjoint and must not overlap the source; the source may overlap itself. Runs without allocating; its partition
// depends on the problem alone.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(const Shape& shape, const Strides& from, const Strides& to, int itemsize);
  static StridedCopy dense(int64_t count, int itemsize);

  // Addresses of the first element of both sides.
  void operator()(const void* from, void* to, Team& team) const;

 private:
  enum class Kind { nothing, runs, tiles, elements };

  Kind kind_ = Kind::nothing;
  int itemsize_ = 1;
  Ints outer_;         // extents of all dims but the inner one (tiles: but the inner two)
  Strides from_, to_;  // of the outer dims
  int64_t rows_ = 1;   // product of outer_
  int64_t inner_ = 1;  // extent of the inner dim, whose destination is dense where possible
  int64_t from_step_ = 1, to_step_ = 1;
  int64_t segment_ = 1;  // a long inner dim is cut into pieces of this many elements
  int64_t segments_ = 1;
  int64_t grain_ = 1;                   // units (row segments, tiles) a chunk
  int64_t across_ = 1, across_to_ = 0;  // tiles: the dim along which the source is dense
  int64_t across_tiles_ = 1;
};

}  // namespace nbx
