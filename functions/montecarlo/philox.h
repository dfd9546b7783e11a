// functions/montecarlo/philox.h: Philox4x32-10, random numbers by counting (Salmon, Moraes, Dror
// and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): four numbers from a counter and a
// key, without any state that one item would have to hand on to another.
#pragma once
#include "orchid/kernel.h"

namespace philox {

struct Counter {
  uint32_t words[4];
};
struct Key {
  uint32_t words[2];
};

inline Counter random_words(const Counter& counter, const Key& key) {
  uint32_t a = counter.words[0];
  uint32_t b = counter.words[1];
  uint32_t c = counter.words[2];
  uint32_t d = counter.words[3];
  uint32_t first_key = key.words[0];
  uint32_t second_key = key.words[1];
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * a;
    const uint64_t second = uint64_t{0xCD9E8D57} * c;
    a = static_cast<uint32_t>(second >> 32) ^ b ^ first_key;
    b = static_cast<uint32_t>(second);
    c = static_cast<uint32_t>(first >> 32) ^ d ^ second_key;
    d = static_cast<uint32_t>(first);
    first_key += 0x9E3779B9;
    second_key += 0xBB67AE85;
  }
  return {{a, b, c, d}};
}

/// From 0 to 1 without 1, in steps of 2^-24: exact.
inline float unit_interval(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24F;
}

}  // namespace philox
