// functions/md5search/md5.h: MD5 (RFC 1321) of a message of at most 55 bytes: one block.
#pragma once
#include "orchid/kernel.h"

namespace md5 {

constexpr unsigned message_words = 16;
constexpr unsigned longest_message = 55;

struct State {
  uint32_t a;
  uint32_t b;
  uint32_t c;
  uint32_t d;
};
constexpr State start{.a = 0x67452301, .b = 0xefcdab89, .c = 0x98badcfe, .d = 0x10325476};

/// floor(2^32 * |sin(step + 1)|)
constexpr uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
/// Of a round's four kinds of steps.
constexpr unsigned rotations[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

/// Word(i) is the message's word i. All numbers of a step are known when it is compiled.
template <unsigned step, typename Word>
__attribute__((always_inline)) inline void run_steps(State& state, const Word& word) {
  if constexpr (step < 64) {
    constexpr unsigned round = step / 16;
    const auto [a, b, c, d] = state;
    uint32_t mixed;
    unsigned place;
    if constexpr (round == 0) {
      mixed = d ^ (b & (c ^ d));
      place = step;
    } else if constexpr (round == 1) {
      mixed = c ^ (d & (b ^ c));
      place = (5 * step + 1) % message_words;
    } else if constexpr (round == 2) {
      mixed = b ^ c ^ d;
      place = (3 * step + 5) % message_words;
    } else {
      mixed = c ^ (b | ~d);
      place = 7 * step % message_words;
    }
    constexpr unsigned bits = rotations[round][step % 4];
    const uint32_t sum = a + mixed + sines[step] + word(place);
    state = {.a = d, .b = b + (sum << bits | sum >> (32 - bits)), .c = b, .d = c};
    run_steps<step + 1>(state, word);
  }
}

/// The digest's four words, each with its first byte lowest.
template <typename Word>
__attribute__((always_inline)) inline State digest(const Word& word) {
  State state = start;
  run_steps<0>(state, word);
  return {.a = state.a + start.a,
          .b = state.b + start.b,
          .c = state.c + start.c,
          .d = state.d + start.d};
}

}  // namespace md5
