// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "ops/shape/items.h"
#include "shape/strides.h"

namespace nbx {
namespace {

constexpr int64_t kChunkBytes = 64 << 10;  // enough work to pay for claiming a chunk, small enough to share out
// The side of a square tile: a tile fits into half of a first-level cache, a row of it is several cache lines.
constexpr int64_t tile_side(int64_t itemsize) { return itemsize <= 4 ? 64 : itemsize <= 8 ? 32 : 16; }

template <class T>
void copy_line(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n) {
  if (from_step == 0 && to_step == 1) {
    std::fill_n(to, n, *from);
  } else if (to_step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_step];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

// to[a * to_across + j] = from[a + j * from_step]: reads run along a, writes along j. A tile holds at most
// side * side items and n <= side.
template <class T>
void copy_tile(const T* from, int64_t from_step, T* to, int64_t to_across, int64_t across, int64_t n) {
  if (n < 8) {
    for (int64_t a = 0; a < across; ++a)
      for (int64_t j = 0; j < n; ++j) to[a * to_across + j] = from[a + j * from_step];
    return;
  }
  // Through a buffer: whole cache lines are read and written once. Without it rows that lie a power of two apart push
  // each other out of the cache before they are full (one core, float32: 16 x 3136 x 64 to channels last 17 ms, with
  // it 2.6).
  constexpr int64_t kSide = tile_side(sizeof(T));
  T tile[kSide * kSide + kSide];
  const int64_t row = across + 1;  // one more, so that columns of the buffer do not meet in one cache set
  for (int64_t j = 0; j < n; ++j)
    std::memcpy(tile + j * row, from + j * from_step, static_cast<size_t>(across) * sizeof(T));
  for (int64_t a = 0; a < across; ++a) {
    T* d = to + a * to_across;
    for (int64_t j = 0; j < n; ++j) d[j] = tile[j * row + a];
  }
}

}  // namespace

StridedCopy StridedCopy::dense(int64_t count, int itemsize) {
  return StridedCopy(Shape{count}, Strides{1}, Strides{1}, itemsize);
}

StridedCopy::StridedCopy(const Shape& shape, const Strides& from, const Strides& to, int itemsize)
    : itemsize_(itemsize) {
  const Loops loops = coalesce(shape, {to, from});
  if (loops.numel == 0) return;
  const int64_t dims = static_cast<int64_t>(loops.shape.size());
  Shape extents = loops.shape;
  Strides to_strides = loops.strides[0], from_strides = loops.strides[1];

  if (dims > 0) {
    inner_ = extents.back();
    to_step_ = to_strides.back();
    from_step_ = from_strides.back();
    extents.pop_back();
    to_strides.pop_back();
    from_strides.pop_back();
  }
  kind_ = from_step_ == 1 && to_step_ == 1 ? Kind::runs : Kind::elements;
  if (kind_ == Kind::elements && to_step_ == 1 && from_step_ != 0) {
    for (size_t d = extents.size(); d-- > 0;) {
      if (from_strides[d] != 1 || extents[d] < 4) continue;
      kind_ = Kind::tiles;
      across_ = extents[d];
      across_to_ = to_strides[d];
      extents.erase(extents.begin() + d);
      to_strides.erase(to_strides.begin() + d);
      from_strides.erase(from_strides.begin() + d);
      break;
    }
  }
  require(extents.size() <= kMaxRank, Code::unsupported, "a copy of {} interleaved dims; at most {} are possible",
          extents.size(), kMaxRank);
  outer_ = extents;
  to_ = to_strides;
  from_ = from_strides;
  for (int64_t e : outer_) rows_ *= e;

  if (kind_ == Kind::tiles) {
    const int64_t side = tile_side(itemsize_);
    segment_ = std::min(inner_, side);
    // A narrow inner dim leaves room for a long tile: NCHW with 3 channels to NHWC writes one dense run.
    const int64_t long_side = std::min(across_, std::max(side, side * side / segment_));
    segments_ = ceil_div(inner_, segment_);
    across_tiles_ = ceil_div(across_, long_side);
    grain_ = std::max<int64_t>(1, kChunkBytes / (segment_ * long_side * itemsize_));
  } else {
    segment_ = inner_;
    if (inner_ * itemsize_ > 2 * kChunkBytes) segment_ = std::max<int64_t>(1, kChunkBytes / itemsize_);
    segments_ = ceil_div(inner_, segment_);
    grain_ = std::max<int64_t>(1, kChunkBytes / (segment_ * itemsize_));
  }
}

void StridedCopy::operator()(const void* from, void* to, Team& team) const {
  if (kind_ == Kind::nothing) return;
  const int64_t pieces = segments_ * across_tiles_;
  const int64_t units = rows_ * pieces;
  const int64_t long_side = ceil_div(across_, across_tiles_);

  const auto range = [&](auto item, int64_t begin, int64_t end) {
    using T = decltype(item);
    const T* source = static_cast<const T*>(from);
    T* target = static_cast<T*>(to);
    std::array<int64_t, kMaxRank> at;  // the odometer of the current row
    int64_t piece = begin % pieces, f = 0, t = 0, row = begin / pieces;
    for (size_t d = outer_.size(); d-- > 0; row /= outer_[d]) {
      at[d] = row % outer_[d];
      f += at[d] * from_[d];
      t += at[d] * to_[d];
    }

    for (int64_t unit = begin; unit < end; ++unit) {
      if (kind_ == Kind::tiles) {
        const int64_t a = (piece / segments_) * long_side, j = (piece % segments_) * segment_;
        if (a < across_)
          copy_tile(source + f + a + j * from_step_, from_step_, target + t + a * across_to_ + j, across_to_,
                    std::min(long_side, across_ - a), std::min(segment_, inner_ - j));
      } else {
        const int64_t j = piece * segment_, n = std::min(segment_, inner_ - j);
        if (kind_ == Kind::runs)
          std::memcpy(target + t + j, source + f + j, static_cast<size_t>(n) * sizeof(T));
        else
          copy_line(source + f + j * from_step_, from_step_, target + t + j * to_step_, to_step_, n);
      }
      if (++piece < pieces) continue;
      piece = 0;
      for (size_t d = outer_.size(); d-- > 0;) {
        f += from_[d];
        t += to_[d];
        if (++at[d] < outer_[d]) break;
        f -= from_[d] * outer_[d];
        t -= to_[d] * outer_[d];
        at[d] = 0;
      }
    }
  };
  parallel_rows(team, units, grain_,
                [&](int64_t begin, int64_t end) { with_item(itemsize_, [&](auto item) { range(item, begin, end); }); });
}

}  // namespace nbx
