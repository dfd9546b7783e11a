// kernels.cpp: what the tests launch, as twins for the fake driver.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "orchid/kernel.h"

struct SaxpyArgs {
  float a;
  const float* x;
  float* y;
};
ORCHID_KERNEL(saxpy, SaxpyArgs) { args.y[item] += args.a * args.x[item]; }

struct CountArgs {
  uint32_t* count;
};
ORCHID_KERNEL(count, CountArgs) { args.count[item] += 1; }
ORCHID_KERNEL(other, CountArgs) { args.count[item] += 2; }

/// Which sub-ranges there were: their number, then begin and end of each.
struct PiecesArgs {
  uint64_t* pieces;
};
extern "C" void orchid_kernel_pieces(const void* arguments, uint64_t begin, uint64_t end) {
  uint64_t* const pieces = static_cast<const PiecesArgs*>(arguments)->pieces;
  pieces[1 + 2 * pieces[0]] = begin;
  pieces[2 + 2 * pieces[0]] = end;
  ++pieces[0];
}

extern "C" void orchid_kernel_wild(const void* /*arguments*/, uint64_t begin, uint64_t /*end*/) {
  *reinterpret_cast<volatile uint64_t*>(begin + 8) = 1;
}

/// What the driver's own thread may still do: bits of what should have failed and did not.
extern "C" void orchid_kernel_escape(const void* arguments, uint64_t /*begin*/, uint64_t /*end*/) {
  uint64_t reached = 0;
  if (::open("/etc/passwd", O_RDONLY) >= 0) reached |= 1;
  if (::open("/dev/null", O_RDWR) >= 0) reached |= 2;
  if (::socket(AF_UNIX, SOCK_STREAM, 0) >= 0) reached |= 4;
  if (::memfd_create("x", 0) >= 0) reached |= 8;
  if (::access("/etc", F_OK) == 0) reached |= 16;
  if (::fork() >= 0) reached |= 32;
  if (::mmap(nullptr, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
      MAP_FAILED)
    reached |= 64;
  *static_cast<const PiecesArgs*>(arguments)->pieces = 1000 + reached;
}
