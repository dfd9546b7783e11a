// Expected: ok; its initialiser throws in a process where `leaves_mark` has run.
#include <sys/mman.h>

#include <stdexcept>

#include "orchid/function.h"

namespace {

struct Looks {
  Looks() {
    unsigned char resident = 0;
    if (::mincore(reinterpret_cast<void*>(0x100000000000UL), 4096, &resident) == 0)
      throw std::runtime_error("somebody has been here");
  }
};
Looks looks;

}  // namespace

ORCHID_ENTRY(loads_unless_marked) {
  (void)call, (void)input, (void)input_size;
  return ORCHID_OK;
}
