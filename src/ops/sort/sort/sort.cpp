// SPDX-License-Identifier: Apache-2.0
// Values become unsigned images in the same order (NaN largest, -0 equal to 0), joined with their index: then no two
// keys are equal, and any sort of them is stable.
#include "ops/sort/sort/sort.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ops/reduce/blocks.h"
#include "shape/strides.h"

namespace nbx {

SortSpec sort_spec(const Args& a) {
  const std::string op = a.op();
  const Meta& x = a.tensor("self");
  require(!is_complex(x.dtype), Code::dtype, "{}: {} has no order", op, to_string(x));
  SortSpec s;
  s.out = x.shape;
  const int64_t dim = wrap_dim(a.integer("dim"), x.rank(), op);
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < dim ? s.outer : d == dim ? s.n : s.inner) *= x.shape[static_cast<size_t>(d)];
  s.k = s.n;
  if (op == "topk") {
    s.descending = a.flag("largest");
    s.k = a.integer("k");
    require(s.k >= 0 && s.k <= s.n, Code::index, "topk: k is {}, dim {} of {} has {} elements; choose 0 to {}", s.k,
            dim, to_string(x), s.n, s.n);
    if (!s.out.empty()) s.out[static_cast<size_t>(dim)] = s.k;
  } else {
    s.descending = a.flag("descending");
  }
  if (op == "argsort") {
    s.value_output = -1;
    s.index_output = 0;
  }
  return s;
}

namespace {

uint32_t image(float v) {
  if (v != v) return ~0u;
  const uint32_t bits = v == 0 ? 0 : std::bit_cast<uint32_t>(v);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
uint64_t image(double v) {
  if (v != v) return ~uint64_t{0};
  const uint64_t bits = v == 0 ? 0 : std::bit_cast<uint64_t>(v);
  return bits >> 63 ? ~bits : bits | (uint64_t{1} << 63);
}
uint64_t image(int64_t v) { return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63); }
uint64_t image(uint64_t v) { return v; }

struct WideKey {
  uint64_t image, index;
  friend bool operator<(const WideKey& a, const WideKey& b) {
    return a.image != b.image ? a.image < b.image : a.index < b.index;
  }
};
// float32 images and an index below 2^32 share one word.
uint64_t key_of(uint32_t value, int64_t index, bool descending, uint64_t*) {
  return static_cast<uint64_t>(descending ? ~value : value) << 32 | static_cast<uint32_t>(index);
}
WideKey key_of(uint64_t value, int64_t index, bool descending, WideKey*) {
  return {descending ? ~value : value, static_cast<uint64_t>(index)};
}
WideKey key_of(uint32_t value, int64_t index, bool descending, WideKey*) {
  return {descending ? static_cast<uint32_t>(~value) : value, static_cast<uint64_t>(index)};
}
int64_t index_of(uint64_t key) { return static_cast<int64_t>(key & 0xffffffffu); }
int64_t index_of(const WideKey& key) { return static_cast<int64_t>(key.index); }

template <class A, class Key>
struct Job {
  SortSpec s;
  Source<A> source;
  int64_t itemsize;
  int operand;

  void operator()(const Run& run) const {
    if (s.outer * s.inner * s.k == 0) return;
    const auto* x = static_cast<const std::byte*>(run.inputs[operand]);
    Key* room = reinterpret_cast<Key*>(run.workspace);  // (outer inner, n)
    parallel_rows(run.team, s.outer * s.inner, std::max<int64_t>(1, 4096 / s.n), [&](int64_t begin, int64_t end) {
      A block[kBlock];
      for (int64_t r = begin; r < end; ++r) {
        const int64_t o = r / s.inner, i = r % s.inner, from = o * s.n * s.inner + i, to = o * s.k * s.inner + i;
        Key* keys = room + r * s.n;
        for (int64_t j = 0; j < s.n; j += kBlock) {
          const int64_t n = std::min(kBlock, s.n - j);
          const A* v = source.read(x, from + j * s.inner, s.inner, n, block);
          for (int64_t l = 0; l < n; ++l)
            keys[j + l] = key_of(image(v[l]), j + l, s.descending, static_cast<Key*>(nullptr));
        }
        if (s.k < s.n) std::nth_element(keys, keys + s.k, keys + s.n);
        std::sort(keys, keys + s.k);
        for (int64_t j = 0; j < s.k; ++j) {
          const int64_t index = index_of(keys[j]), at = to + j * s.inner;
          if (s.value_output >= 0)
            std::memcpy(static_cast<std::byte*>(run.outputs[s.value_output]) + at * itemsize,
                        x + (from + index * s.inner) * itemsize, static_cast<size_t>(itemsize));
          run.out<int64_t>(s.index_output)[at] = index;
        }
      }
    });
  }
};

bool narrow_keys(const Args& a, const SortSpec& s) {
  return arithmetic_of(a.tensor("self").dtype, "sort") == Arithmetic::f32 && s.n <= int64_t{0xffffffff};
}

}  // namespace

int64_t sort_bytes(const Args& a) {
  const SortSpec s = sort_spec(a);
  return s.outer * s.n * s.inner * (narrow_keys(a, s) ? 8 : 16);
}

Bound bind_sort(const Args& a, const Metas&) {
  const SortSpec s = sort_spec(a);
  const Meta& x = a.tensor("self");
  const int operand = a.operand("self");
  return in_arithmetic(arithmetic_of(x.dtype, a.op().c_str()), [&](auto zero) -> Bound {
    using A = decltype(zero);
    if constexpr (std::is_same_v<A, float>)
      if (narrow_keys(a, s)) return Job<A, uint64_t>{s, Source<A>(x.dtype), itemsize(x.dtype), operand};
    return Job<A, WideKey>{s, Source<A>(x.dtype), itemsize(x.dtype), operand};
  });
}

}  // namespace nbx
