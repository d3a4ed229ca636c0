// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "ops/shape/items.h"
#include "ops/shape/pad/pad.h"

namespace nbx {

namespace {

const char* name_of(PadMode mode) {
  constexpr const char* kNames[] = {"constant", "reflect", "replicate", "circular"};
  return kNames[static_cast<int>(mode)];
}

// Where place i of a row lies that repeats or mirrors n elements endlessly.
int64_t source_of(int64_t i, int64_t n, PadMode mode) {
  switch (mode) {
    case PadMode::constant:
      return i >= 0 && i < n ? i : -1;
    case PadMode::replicate:
      return std::clamp<int64_t>(i, 0, n - 1);
    case PadMode::circular:
      return ((i % n) + n) % n;
    default:
      break;
  }
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), at = ((i % period) + period) % period;
  return at < n ? at : period - at;
}

}  // namespace

Shape padded_shape(const Meta& x, const Pads& pads, PadMode mode, const std::string& op) {
  Shape out = x.shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t n = x.shape[d], before = pads.before[d], after = pads.after[d];
    int64_t padded = 0;
    require(checked_add(n, before, padded) && checked_add(padded, after, padded), Code::shape,
            "{}: dim {} of {} padded by {} and {} is too large", op, d, to_string(x), before, after);
    require(padded >= 0, Code::shape, "{}: dim {} of {} padded by {} and {} would have extent {}", op, d, to_string(x),
            before, after, padded);
    out[d] = padded;
    const bool grows = before > 0 || after > 0;
    if (mode == PadMode::constant || !grows || padded == 0) continue;
    const int64_t left = mode == PadMode::circular ? n + std::min<int64_t>(0, before) + std::min<int64_t>(0, after) : n;
    require(left > 0, Code::shape, "{}: mode {} needs elements to repeat; dim {} of {} has none", op, name_of(mode), d,
            to_string(x));
  }
  return out;
}

namespace {

// For each dim of the result: the source index of each place, or -1 for the fill.
struct PadMap {
  std::vector<std::vector<int64_t>> from;
};
PadMap pad_map(const Shape& shape, const Pads& pads, PadMode mode) {
  PadMap map;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t n = shape[d], length = n + pads.before[d] + pads.after[d];
    std::vector<int64_t> from(static_cast<size_t>(std::max<int64_t>(length, 0)));
    // What wraps around is what a crop leaves.
    const int64_t crop = mode == PadMode::circular ? std::max<int64_t>(0, -pads.before[d]) : 0;
    const int64_t left = mode == PadMode::circular ? n - crop + std::min<int64_t>(0, pads.after[d]) : n;
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = crop + source_of(static_cast<int64_t>(i) - pads.before[d] - crop, left, mode);
    map.from.push_back(std::move(from));
  }
  return map;
}

}  // namespace

Bound bind_padding(const Meta& x, const Meta& out, const Pads& pads, PadMode mode, std::array<std::byte, 16> fill) {
  if (out.numel() == 0) return [](const Run&) {};  // an extent may be as large as it likes
  PadMap map = pad_map(x.shape, pads, mode);
  struct Plan {
    PadMap map;                          // dims before the last padded one, then that one
    std::vector<int64_t> steps;          // items of the source for one step of each dim
    int64_t rows = 1;                    // places of all dims but the last
    int64_t block = 1;                   // items that move together: the product of the unpadded trailing dims
    int64_t run_begin = 0, run_end = 0;  // places of the last dim that copy one dense run
    int64_t grain = 1;
  };
  auto plan = std::make_shared<Plan>();
  const int size = itemsize(x.dtype);

  const auto whole = [&](size_t d) {
    if (static_cast<int64_t>(map.from[d].size()) != x.shape[d]) return false;
    for (size_t i = 0; i < map.from[d].size(); ++i)
      if (map.from[d][i] != static_cast<int64_t>(i)) return false;
    return true;
  };
  size_t dims = x.shape.size();
  while (dims > 1 && whole(dims - 1)) plan->block *= x.shape[--dims];
  if (dims == 0) {  // 0-d: one place of one item
    map.from = {{0}};
    dims = 1;
  }
  plan->map.from.assign(map.from.begin(), map.from.begin() + static_cast<std::ptrdiff_t>(dims));
  plan->steps.assign(dims, plan->block);
  for (size_t d = dims - 1; d-- > 0;) plan->steps[d] = plan->steps[d + 1] * x.shape[d + 1];
  for (size_t d = 0; d + 1 < dims; ++d) plan->rows *= static_cast<int64_t>(plan->map.from[d].size());
  const std::vector<int64_t>& last = plan->map.from.back();
  const int64_t places = static_cast<int64_t>(last.size());

  // The longest stretch of the last dim in which the source advances with the result.
  for (int64_t i = 0; i < places;) {
    int64_t end = i + 1;
    if (last[i] >= 0)
      while (end < places && last[end] == last[end - 1] + 1) ++end;
    if (last[i] >= 0 && end - i > plan->run_end - plan->run_begin) plan->run_begin = i, plan->run_end = end;
    i = end;
  }
  plan->grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, places * plan->block * size));

  return [plan, fill, size](const Run& r) {
    with_item(size, [&](auto kind) {
      using T = decltype(kind);
      T value;
      std::memcpy(&value, fill.data(), sizeof(T));
      const T* source = r.in<T>(0);
      const Plan& p = *plan;
      const std::vector<int64_t>& across = p.map.from.back();
      const int64_t count = static_cast<int64_t>(across.size()), outer = static_cast<int64_t>(p.map.from.size()) - 1;

      parallel_rows(r.team, p.rows, p.grain, [&](int64_t begin, int64_t end) {
        std::array<int64_t, kMaxRank> at{};
        int64_t rest = begin;
        for (int64_t d = outer - 1; d >= 0; --d) {
          const int64_t extent = static_cast<int64_t>(p.map.from[d].size());
          at[d] = rest % extent;
          rest /= extent;
        }
        T* to = r.out<T>(0) + begin * count * p.block;
        for (int64_t row = begin; row < end; ++row, to += count * p.block) {
          int64_t base = 0;
          for (int64_t d = 0; d < outer && base >= 0; ++d) {
            const int64_t from = p.map.from[d][at[d]];
            base = from < 0 ? -1 : base + from * p.steps[d];
          }
          for (int64_t d = outer; d-- > 0;) {
            if (++at[d] < static_cast<int64_t>(p.map.from[d].size())) break;
            at[d] = 0;
          }
          if (base < 0) {
            std::fill_n(to, count * p.block, value);
            continue;
          }
          const auto one_by_one = [&](int64_t first, int64_t past) {
            for (int64_t i = first; i < past; ++i) {
              if (across[i] < 0)
                std::fill_n(to + i * p.block, p.block, value);
              else
                std::copy_n(source + base + across[i] * p.block, p.block, to + i * p.block);
            }
          };
          one_by_one(0, p.run_begin);
          if (p.run_end > p.run_begin)
            std::memcpy(to + p.run_begin * p.block, source + base + across[p.run_begin] * p.block,
                        static_cast<size_t>((p.run_end - p.run_begin) * p.block) * sizeof(T));
          one_by_one(p.run_end, count);
        }
      });
    });
  };
}

}  // namespace nbx
