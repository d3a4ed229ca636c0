// SPDX-License-Identifier: Apache-2.0
#include "ops/index/indices.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "ops/shape/items.h"
#include "shape/strides.h"

namespace nbx {

namespace {

constexpr int64_t kIndexGrain = 16384;

int64_t index_at(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::int64:
      return static_cast<const int64_t*>(data)[i];
    case DType::int32:
      return static_cast<const int32_t*>(data)[i];
    case DType::int16:
      return static_cast<const int16_t*>(data)[i];
    case DType::int8:
      return static_cast<const int8_t*>(data)[i];
    default:
      return static_cast<const uint8_t*>(data)[i];
  }
}

void lower(std::atomic<int64_t>& least, int64_t value) {
  int64_t seen = least.load(std::memory_order_relaxed);
  while (value < seen && !least.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

Ints position_of(int64_t flat, const Shape& shape) {
  Ints at(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) at[d] = flat % shape[d];
  return at;
}

int64_t place_of(int64_t flat, const Shape& shape, const Strides& strides) {
  int64_t at = 0;
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) at += flat % shape[d] * strides[d];
  return at;
}

[[noreturn]] void out_of_range(const IndexReader& reader, const IndexSource& s, int64_t place, int64_t value) {
  fail(Code::index, "{}: index {} at position {} is out of range for {} of extent {}{}", reader.op, value,
       to_string(position_of(place, s.shape)), s.what, s.extent,
       s.wrap && s.extent > 0 ? fmt::format(" (allowed: {} to {})", -s.extent, s.extent - 1) : std::string());
}

template <class T>
void read_one(const T* from, const IndexSource& s, int64_t begin, int64_t end, int64_t* to, std::atomic<int64_t>& bad) {
  const int64_t low = s.wrap ? -s.extent : 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t v = static_cast<int64_t>(from[i]);
    if (v < low || v >= s.extent) return lower(bad, i);
    to[i] = v < 0 ? v + s.extent : v;
  }
}

}  // namespace

bool is_index(DType dtype) { return dtype == DType::int64 || dtype == DType::int32; }

void require_index(const Args& a, const Meta& index, const char* param, bool narrow) {
  require(is_index(index.dtype) ||
              (narrow && (index.dtype == DType::uint8 || index.dtype == DType::int8 || index.dtype == DType::int16)),
          Code::dtype, "{}: {} must be int32 or int64, not {}", a.op(), param, name(index.dtype));
}

int64_t IndexReader::bytes() const { return fixed ? 0 : align_up(count * static_cast<int64_t>(sizeof(int64_t))); }

void IndexReader::read(const Run& r, int64_t* values) const {
  if (fixed || count == 0) return;
  constexpr int64_t kNone = INT64_MAX;
  std::atomic<int64_t> bad{kNone};
  if (!added) {
    const IndexSource& s = sources[0];
    const void* data = r.in<std::byte>(s.operand);
    parallel_rows(r.team, count, kIndexGrain, [&](int64_t begin, int64_t end) {
      switch (s.dtype) {
        case DType::int64:
          return read_one(static_cast<const int64_t*>(data), s, begin, end, values, bad);
        case DType::int32:
          return read_one(static_cast<const int32_t*>(data), s, begin, end, values, bad);
        case DType::int16:
          return read_one(static_cast<const int16_t*>(data), s, begin, end, values, bad);
        case DType::int8:
          return read_one(static_cast<const int8_t*>(data), s, begin, end, values, bad);
        default:
          return read_one(static_cast<const uint8_t*>(data), s, begin, end, values, bad);
      }
    });
    if (const int64_t at = bad.load(); at != kNone) out_of_range(*this, s, at, index_at(data, s.dtype, at));
    return;
  }
  parallel_rows(r.team, count, kIndexGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t sum = 0;
      for (const IndexSource& s : sources) {
        if (s.operand < 0) {  // the place itself, one step of it at a time
          sum += place_of(i, shape, s.strides);
          continue;
        }
        const int64_t v = index_at(r.in<std::byte>(s.operand), s.dtype, place_of(i, shape, s.strides) + s.first);
        if (v < (s.wrap ? -s.extent : 0) || v >= s.extent) return lower(bad, i);
        sum += (v < 0 ? v + s.extent : v) * s.pace;
      }
      values[i] = sum;
    }
  });
  const int64_t at = bad.load();
  if (at == kNone) return;
  for (const IndexSource& s : sources) {
    if (s.operand < 0) continue;
    const int64_t v = index_at(r.in<std::byte>(s.operand), s.dtype, place_of(at, shape, s.strides) + s.first);
    if (v >= (s.wrap ? -s.extent : 0) && v < s.extent) continue;
    IndexSource named = s;
    named.shape = shape;
    out_of_range(*this, named, at, v);
  }
}

IndexReader single_index(const Args& a, const char* param, int64_t extent, bool wrap, std::string what) {
  const Meta& index = a.tensor(param);
  IndexReader reader;
  reader.op = a.op();
  reader.shape = index.shape;
  reader.count = index.numel();
  IndexSource s;
  s.operand = a.operand(param);
  s.dtype = index.dtype;
  s.shape = index.shape;
  s.extent = extent;
  s.wrap = wrap;
  s.what = std::move(what);
  reader.sources = {s};
  return reader;
}

Bound bind_gather(const GatherSpec& spec) {
  struct Plan {
    GatherSpec spec;
    Loops loops;  // strides: out, places, base
    int64_t inner = 1, out_step = 1, place_step = 0, base_step = 0, rows = 1, grain = 1;
    size_t outer = 0;
  };
  auto plan = std::make_shared<Plan>();
  plan->spec = spec;
  plan->loops = coalesce(spec.walk, {contiguous_strides(spec.walk), spec.places, spec.base}, /*reorder=*/false);
  if (plan->loops.numel == 0) return [](const Run&) {};
  if (!plan->loops.shape.empty()) {
    plan->inner = plan->loops.shape.back();
    plan->place_step = plan->loops.strides[1].back();
    plan->base_step = plan->loops.strides[2].back();
    plan->outer = plan->loops.shape.size() - 1;
  }
  require(plan->outer <= kMaxRank, Code::unsupported, "{}: more than {} dims", spec.index.op, kMaxRank);
  plan->rows = plan->loops.numel / plan->inner;
  plan->grain = std::max<int64_t>(1, 65536 / (plan->inner * spec.itemsize));

  return [plan](const Run& r) {
    const Plan& p = *plan;
    int64_t* room = reinterpret_cast<int64_t*>(r.workspace);
    p.spec.index.read(r, room);
    const int64_t* values = p.spec.index.fixed ? p.spec.index.fixed->data() : room;
    with_item(p.spec.itemsize, [&](auto kind) {
      using T = decltype(kind);
      const T* x = r.in<T>(p.spec.operand);
      // One long row is cut, too.
      const int64_t piece = p.rows == 1 ? std::max<int64_t>(1, 65536 / static_cast<int64_t>(sizeof(T))) : p.inner;
      const int64_t pieces = ceil_div(p.inner, piece);
      parallel_rows(r.team, p.rows * pieces, p.rows == 1 ? 1 : p.grain, [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
          const int64_t row = unit / pieces, first = unit % pieces * piece, n = std::min(piece, p.inner - first);
          int64_t place = 0, base = 0, rest = row;
          for (size_t d = p.outer; d-- > 0; rest /= p.loops.shape[d]) {
            const int64_t at = rest % p.loops.shape[d];
            place += at * p.loops.strides[1][d];
            base += at * p.loops.strides[2][d];
          }
          T* to = r.out<T>(0) + row * p.inner + first;
          const int64_t* v = values + place + first * p.place_step;
          const T* from = x + base + first * p.base_step;
          const int64_t pace = p.spec.pace;
          if (p.place_step == 0) {
            from += *v * pace;
            if (p.base_step == 1) {
              if (n < 16)
                for (int64_t i = 0; i < n; ++i) to[i] = from[i];
              else
                std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
            } else {
              for (int64_t i = 0; i < n; ++i) to[i] = from[i * p.base_step];
            }
          } else {
            for (int64_t i = 0; i < n; ++i) to[i] = from[i * p.base_step + v[i * p.place_step] * pace];
          }
        }
      });
    });
  };
}

}  // namespace nbx
