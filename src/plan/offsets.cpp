// SPDX-License-Identifier: Apache-2.0
#include "plan/offsets.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace nbx {

namespace {

int64_t rounded(int64_t bytes) {
  require(bytes >= 0 && bytes < INT64_MAX - kBufferAlignment, Code::budget, "a buffer of {} bytes cannot be planned",
          bytes);
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

bool overlap(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

int64_t largest_live_sum(const std::vector<Buffer>& buffers) {
  struct Event {
    int step;
    int64_t delta;
  };
  std::vector<Event> events;
  for (const Buffer& b : buffers) {
    if (b.bytes == 0) continue;
    events.push_back({b.first, rounded(b.bytes)});
    events.push_back({b.last + 1, -rounded(b.bytes)});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.step != b.step ? a.step < b.step : a.delta < b.delta; });
  int64_t live = 0, largest = 0;
  for (const Event& e : events) {
    require(e.delta <= 0 || live <= INT64_MAX - e.delta, Code::budget, "the live buffers of a step exceed 2^63 bytes");
    live += e.delta;
    largest = std::max(largest, live);
  }
  return largest;
}

// First fit into the gaps that the placed neighbours in time leave, in the given order.
int64_t place_in_order(std::vector<Buffer>& buffers, const std::vector<int>& order) {
  std::vector<int> placed;
  int64_t top = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].offset < 0 || buffers[i].bytes == 0) continue;
    placed.push_back(static_cast<int>(i));
    top = std::max(top, buffers[i].offset + rounded(buffers[i].bytes));
  }
  const auto by_offset = [&](int a, int b) {
    return buffers[static_cast<size_t>(a)].offset < buffers[static_cast<size_t>(b)].offset;
  };
  std::sort(placed.begin(), placed.end(), by_offset);
  for (const int i : order) {
    Buffer& b = buffers[static_cast<size_t>(i)];
    const int64_t need = rounded(b.bytes);
    int64_t at = 0, best = -1, best_gap = INT64_MAX;
    for (const int p : placed) {
      const Buffer& other = buffers[static_cast<size_t>(p)];
      if (!overlap(b, other)) continue;
      const int64_t gap = other.offset - at;
      if (gap >= need && gap < best_gap) {
        best = at;
        best_gap = gap;
      }
      at = std::max(at, other.offset + rounded(other.bytes));
    }
    b.offset = best >= 0 ? best : at;
    require(b.offset <= INT64_MAX - need, Code::budget, "the plan exceeds 2^63 bytes");
    top = std::max(top, b.offset + need);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, by_offset), i);
  }
  return top;
}

}  // namespace

Layout place(std::vector<Buffer>& buffers) {
  Layout layout;
  layout.lower_bound = largest_live_sum(buffers);
  std::vector<int> open;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].offset >= 0) continue;
    if (buffers[i].bytes == 0)
      buffers[i].offset = 0;
    else
      open.push_back(static_cast<int>(i));
  }
  const auto at = [&](int i) -> const Buffer& { return buffers[static_cast<size_t>(i)]; };
  const auto area = [&](int i) {
    return static_cast<double>(at(i).bytes) * static_cast<double>(at(i).last - at(i).first + 1);
  };
  // Three orders, the best kept: none of them wins everywhere.
  std::vector<std::vector<int>> orders(3, open);
  std::stable_sort(orders[0].begin(), orders[0].end(), [&](int a, int b) { return at(a).bytes > at(b).bytes; });
  std::stable_sort(orders[1].begin(), orders[1].end(), [&](int a, int b) { return area(a) > area(b); });
  std::stable_sort(orders[2].begin(), orders[2].end(), [&](int a, int b) { return at(a).first < at(b).first; });
  std::vector<Buffer> best;
  layout.arena_bytes = INT64_MAX;
  for (const auto& order : orders) {
    std::vector<Buffer> tried = buffers;
    const int64_t bytes = place_in_order(tried, order);
    if (bytes < layout.arena_bytes) {
      layout.arena_bytes = bytes;
      best = std::move(tried);
    }
    if (layout.arena_bytes == layout.lower_bound) break;
  }
  buffers = std::move(best);
  return layout;
}

}  // namespace nbx
