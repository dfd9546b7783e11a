#include "crew/board.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace orchid::bench {

Result<Board> Board::create() {
  void* memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail_errno("mmap");
  return Board(static_cast<Page*>(memory));
}

Board::Board(Board&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

Board::~Board() {
  if (page_ != nullptr) ::munmap(page_, sizeof(Page));
}

void Board::publish(unsigned process, std::span<const std::byte> bytes) {
  assert(bytes.size() <= most_bytes);
  Place& place = page_->places[process];
  std::ranges::copy(bytes, place.bytes.begin());
  place.size.store(static_cast<std::uint32_t>(bytes.size()), std::memory_order_release);
}

Result<std::span<const std::byte>> Board::of(unsigned process) const {
  const Place& place = page_->places[process];
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (const auto size = place.size.load(std::memory_order_acquire); size != 0)
      return std::span<const std::byte>(place.bytes).first(size);
    if (std::chrono::steady_clock::now() > end)
      return fail(ErrorCode::timed_out, "a member of the crew did not start");
    ::sched_yield();
  }
}

}  // namespace orchid::bench
