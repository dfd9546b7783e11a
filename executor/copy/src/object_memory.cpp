#include "object_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "foundation/huge_pages.h"

namespace orchid::executor {

Result<RoomMemory> RoomMemory::map(int fd, ByteCount bytes) {
  constexpr int needed = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & needed) != needed)
    return fail(ErrorCode::bad_request, "the room's size can change");
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < 0) return fail_errno("lseek");
  if (static_cast<std::uint64_t>(end) != bytes.value)
    return fail(ErrorCode::bad_request, "the room has another size than the object");
  if (bytes.value == 0) return RoomMemory({});
  void* address = ::mmap(nullptr, bytes.value, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return fail_errno("mmap a room");
  const std::span room(static_cast<std::byte*>(address), bytes.value);
  prefer_huge_pages(room.data(), room.size());
  return RoomMemory(room);
}

RoomMemory::~RoomMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace orchid::executor
