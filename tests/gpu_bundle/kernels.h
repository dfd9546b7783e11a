// kernels.h: kernels that the checks of a real card need beside those of the ready functions.
#pragma once
#include "orchid/kernel.hpp"

namespace check_kernels {

/// What a tenant leaves in memory, and the next one looks for.
constexpr uint64_t left_word = 0x6f72636869642121;
constexpr uint32_t find_group = 256;

struct StoreArgs {
  uint64_t* words;
};
struct FindArgs {
  const uint64_t* words;
  uint64_t words_of_group;  // a multiple of find_group; each group looks at its own
  uint32_t* found;          // of each item
};
struct EndlessArgs {
  const volatile uint64_t* end;  // the kernel runs as long as it is 0
};
struct TurnArgs {
  uint64_t* words;  // nothing is ever stored there
};

}  // namespace check_kernels

ORCHID_KERNEL(store_item, check_kernels::StoreArgs) { args.words[item] = item + 1; }

ORCHID_KERNEL(fill_words, check_kernels::StoreArgs) { args.words[item] = check_kernels::left_word; }

ORCHID_GROUP_KERNEL(find_words, check_kernels::FindArgs, check_kernels::find_group) {
  ORCHID_LOCAL(uint32_t, found, check_kernels::find_group);
  ORCHID_ITEMS { found[local] = 0; }
  const uint64_t* const own = args.words + group * args.words_of_group;
  for (uint64_t first = 0; first < args.words_of_group; first += check_kernels::find_group) {
    ORCHID_ITEMS { found[local] += own[first + local] == check_kernels::left_word ? 1 : 0; }
  }
  ORCHID_ITEMS { args.found[item] = found[local]; }
}

ORCHID_KERNEL(never_ends, check_kernels::EndlessArgs) {
  while (*args.end == 0) {
  }
}

/// An item takes about a microsecond on one core.
ORCHID_KERNEL(turn_word, check_kernels::TurnArgs) {
  uint64_t word = item | 1;
  for (uint32_t round = 0; round < 1024; ++round) {
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
  }
  // Such a step never makes 0 of another number.
  if (word == 0) args.words[0] = item;
}
