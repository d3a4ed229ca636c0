// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 (Salmon et al., 2011): random words as a function of a key and a counter. The counter is the element's
// place in its tensor, so that a draw does not depend on how the work is cut.
#pragma once
#include <array>
#include <cstdint>

namespace nbx {

using PhiloxWords = std::array<uint32_t, 4>;

inline PhiloxWords philox(PhiloxWords c, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
    c = {static_cast<uint32_t>(q >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(q),
         static_cast<uint32_t>(p >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// The words of element `i`.
inline PhiloxWords philox(uint64_t i, uint64_t key) {
  return philox(PhiloxWords{static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0}, key);
}

// The key of draw number `draw` under a seed: other seeds and other draws give unrelated streams (SplitMix64's
// finaliser).
inline uint64_t stream_key(uint64_t seed, uint64_t draw) {
  uint64_t x = seed * 0x9E3779B97F4A7C15ull + draw * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// A number in [0, 1) from a word: its 31 magnitude bits, rounded to float; the factor is a little under 2^-31, or the
// largest word would round to 1.
inline float unit_of(uint32_t word) {
  const uint32_t magnitude = word >> 31 ? ~word : word;
  return static_cast<float>(magnitude) * 4.6566127342e-10f;
}

// A standard normal number from two words, by Box and Muller. Below 5.68 in magnitude.
double normal_of(uint32_t first, uint32_t second);

}  // namespace nbx
