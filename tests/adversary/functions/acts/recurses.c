/* Calls itself until the stack is used up. */
#include "../act.h"

__attribute__((noinline)) static int descend(int depth) {
  volatile char frame[1000];
  frame[0] = (char)depth;
  return descend(depth + 1) + frame[0];
}

ACT(recurses) { return descend(0); }
