// functions/md5search/kernel.h: which strings have a given MD5?
//
// The loop over the first letter goes around the one over the group's items, so that the innermost
// loop is the same straight code for all items, and takes 16 of them at once (AVX-512). There are
// no atomics: each item has a place of its own for what it finds.
#pragma once
#include "md5.h"
#include "orchid/kernel.hpp"

namespace search {

constexpr uint32_t group_size = 256;
/// Letters of a string that a launch tries in all ways: the first, which each item tries itself,
/// and up to seven that tell the items apart. They lie in the message's words 0 and 1.
constexpr uint32_t letters_of_launch = 8;

struct Args {
  uint32_t message[md5::message_words];  // with zeros for the letters that the launch tries
  md5::State digest;
  const uint32_t* alphabet;
  uint32_t letter_count;
  uint32_t item_letters;  // 0 to 7: there are letter_count^item_letters items, at most 2^20
  uint64_t reciprocal;    // 2^32 / letter_count, rounded up
  uint8_t* found;         // of each item: 0, or 1 + the place of the first letter in the alphabet
};

}  // namespace search

ORCHID_GROUP_KERNEL(md5_match, search::Args, search::group_size) {
  ORCHID_LOCAL(uint32_t, word0, search::group_size);
  ORCHID_LOCAL(uint32_t, word1, search::group_size);
  ORCHID_LOCAL(uint32_t, found, search::group_size);
  ORCHID_ITEMS {
    auto left = static_cast<uint32_t>(item);
    uint32_t words[2] = {args.message[0], args.message[1]};
#pragma GCC unroll 7
    for (uint32_t i = 1; i < search::letters_of_launch; ++i) {
      // left / letter_count, exactly so for less than 2^20 items and letters of a byte.
      const auto quotient = static_cast<uint32_t>(left * args.reciprocal >> 32);
      const uint32_t letter = args.alphabet[left - quotient * args.letter_count];
      words[i / 4] |= i <= args.item_letters ? letter << (8 * (i % 4)) : 0;
      left = quotient;
    }
    word0[local] = words[0];
    word1[local] = words[1];
    found[local] = 0;
  }
  for (uint32_t first = 0; first < args.letter_count; ++first) {
    const uint32_t letter = args.alphabet[first];
    ORCHID_ITEMS {
      const md5::State digest = md5::digest([&](unsigned place) {
        return place == 0 ? word0[local] | letter : place == 1 ? word1[local] : args.message[place];
      });
      const uint32_t differs = (digest.a ^ args.digest.a) | (digest.b ^ args.digest.b) |
                               (digest.c ^ args.digest.c) | (digest.d ^ args.digest.d);
      found[local] = differs == 0 ? first + 1 : found[local];
    }
  }
  ORCHID_ITEMS { args.found[item] = static_cast<uint8_t>(found[local]); }
}
