#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "foundation/duplicate.h"
#include "transport/lane_orders.h"
#include "transport/local_lane.h"

namespace orchid::transport {

Result<LaneDescriptors> make_lane(const LaneGeometry& geometry) {
  LaneDescriptors lane;
  lane.geometry = geometry;
  lane.memory.reset(::memfd_create("orchid-lane", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!lane.memory) return fail_errno("memfd_create");
  if (::ftruncate(lane.memory.get(), static_cast<off_t>(geometry.file_bytes())) != 0)
    return fail_errno("ftruncate");
  if (::fcntl(lane.memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail_errno("seal a lane");
  lane.wake_worker.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  lane.wake_client.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!lane.wake_worker || !lane.wake_client) return fail_errno("eventfd");
  return lane;
}

Result<void> empty_lane(const LaneDescriptors& lane) {
  if (::fallocate(lane.memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(lane.geometry.file_bytes())) != 0)
    return fail_errno("emptying a lane");
  return {};
}

Result<LaneDescriptors> duplicate(const LaneDescriptors& lane) {
  auto memory = orchid::duplicate(lane.memory.get());
  if (!memory) return fail(std::move(memory.error()));
  auto wake_worker = orchid::duplicate(lane.wake_worker.get());
  if (!wake_worker) return fail(std::move(wake_worker.error()));
  auto wake_client = orchid::duplicate(lane.wake_client.get());
  if (!wake_client) return fail(std::move(wake_client.error()));
  return LaneDescriptors{std::move(*memory), std::move(*wake_worker), std::move(*wake_client),
                         lane.geometry};
}

Result<LaneMemory> LaneMemory::map(int memory_fd, const LaneGeometry& geometry) {
  // Not fstat: the C library may ask by path, which a sandbox refuses.
  const off_t end = ::lseek(memory_fd, 0, SEEK_END);
  if (end < 0) return fail_errno("lseek");
  if (static_cast<std::size_t>(end) != geometry.file_bytes())
    return fail(ErrorCode::bad_request,
                "the lane's memory file has another size than was announced");
  void* base =
      ::mmap(nullptr, geometry.file_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
  if (base == MAP_FAILED) return fail_errno("mmap a lane");
  return LaneMemory(static_cast<std::byte*>(base), geometry);
}

LaneMemory::LaneMemory(LaneMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), geometry_(other.geometry_) {}

LaneMemory& LaneMemory::operator=(LaneMemory&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(geometry_, other.geometry_);
  return *this;
}

bool LaneMemory::is_answered(std::uint64_t request_id) const {
  auto& sequence = response_ring()[(request_id - 1) % ring_entries].header.sequence;
  return std::atomic_ref<std::uint64_t>(sequence).load(lane_orders.see_published) >= request_id;
}

LaneMemory::~LaneMemory() {
  if (base_ != nullptr) ::munmap(base_, geometry_.file_bytes());
}

}  // namespace orchid::transport
