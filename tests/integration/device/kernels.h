// Kernels of the functions beside this; the fake driver runs them too, compiled for cores.
#pragma once
#include <orchid/kernel.h>

struct MixArgs {
  uint64_t seed;
  uint64_t* out;
};
ORCHID_KERNEL(mix, MixArgs) {
  uint64_t word = (item + args.seed) * UINT64_C(0x9e3779b97f4a7c15);
  word ^= word >> 31;
  args.out[item] = word * UINT64_C(0xbf58476d1ce4e5b9);
}

struct FlipArgs {
  unsigned char* bytes;
};
ORCHID_KERNEL(flip, FlipArgs) { args.bytes[item] ^= 1; }

struct StrayArgs {
  uint64_t* out;
};
ORCHID_KERNEL(stray, StrayArgs) { args.out[item + (UINT64_C(1) << 44)] = item; }

/// Nobody ever writes what it waits for.
struct WaitArgs {
  volatile uint64_t* word;
};
ORCHID_KERNEL(wait_for_ever, WaitArgs) {
  while (args.word[0] == 0) {
  }
  args.word[1] = item;
}
