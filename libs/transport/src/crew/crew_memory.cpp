#include "transport/crew_memory.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace orchid::transport {

Result<CrewWires> make_crew_wires(std::uint32_t members) {
  CrewWires wires;
  wires.memory.reset(::memfd_create("orchid-crew", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!wires.memory) return fail_errno("memfd_create");
  const CrewLayout layout{members};
  if (::ftruncate(wires.memory.get(), static_cast<off_t>(layout.file_bytes())) != 0)
    return fail_errno("ftruncate");
  if (::fcntl(wires.memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail_errno("seal a crew's memory");
  for (std::uint32_t member = 0; member <= members; ++member) {
    wires.wake.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wires.wake.back()) return fail_errno("eventfd");
  }
  return wires;
}

}  // namespace orchid::transport
