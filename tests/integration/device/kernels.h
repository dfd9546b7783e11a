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

/// Heat in a rod: each cell becomes the mean of its neighbours; its ends stay.
struct RodArgs {
  const double* now;
  double* next;
  uint64_t cells;
};
ORCHID_KERNEL(relax_cell, RodArgs) {
  const bool is_end = item == 0 || item + 1 == args.cells;
  args.next[item] = is_end ? args.now[item] : (args.now[item - 1] + args.now[item + 1]) / 2;
}
/// The same by one item, which no launch can cut.
ORCHID_KERNEL(relax_rod, RodArgs) {
  for (uint64_t i = 1; i + 1 < args.cells; ++i)
    args.next[i] = (args.now[i - 1] + args.now[i + 1]) / 2;
  args.next[0] = args.now[0];
  args.next[args.cells - 1] = args.now[args.cells - 1];
}
