#include "bandwidth/accessed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "foundation/numbers.h"

namespace orchid::executor {

Result<AccessedMemory> AccessedMemory::of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid);
  UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno("open " + path);
  return AccessedMemory(std::move(directory));
}

Result<void> AccessedMemory::clear() const {
  const UniqueFd file(::openat(directory_.get(), "clear_refs", O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), "1", 1) != 1) return fail_errno("clear_refs");
  return {};
}

Result<ByteCount> AccessedMemory::touched() const {
  constexpr std::string_view key = "\nReferenced:";
  const UniqueFd file(::openat(directory_.get(), "smaps_rollup", O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("smaps_rollup");
  std::array<char, 4096> buffer{};
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  if (size < 0) return fail_errno("smaps_rollup");
  const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  std::size_t at = text.find(key);
  if (at == std::string_view::npos)
    return fail(ErrorCode::system, "this kernel's smaps_rollup has no line Referenced");
  at = text.find_first_not_of(' ', at + key.size());
  const auto kilobytes = leading_number<std::uint64_t>(text.substr(std::min(at, text.size())));
  if (!kilobytes) return fail(ErrorCode::system, "smaps_rollup: Referenced is no number");
  return ByteCount{*kilobytes * 1024};
}

Result<void> check_accessed_memory() {
  const auto self = AccessedMemory::of(::getpid());
  if (!self) return fail(self.error());
  if (auto cleared = self->clear(); !cleared) return cleared;
  // Pages that were there before may be in the TLB still, and then their bits are not set again.
  constexpr std::size_t size = 256UL << 10;
  void* fresh = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (fresh == MAP_FAILED) return fail_errno("mmap");
  const auto touched = self->touched();
  ::munmap(fresh, size);
  if (!touched) return fail(touched.error());
  if (touched->value >= size) return {};
  return fail(ErrorCode::system, "this kernel shows no accesses in /proc/self/smaps_rollup");
}

std::chrono::nanoseconds cost_of_a_touch() {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t size = 32UL << 20;
  constexpr int rounds = 3;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto self = AccessedMemory::of(::getpid());
  if (memory == MAP_FAILED || !self) return {};
  auto* bytes = static_cast<volatile char*>(memory);
  const auto walk = [bytes, page] {
    const auto begun = Clock::now();
    for (std::size_t i = 0; i < size; i += page) bytes[i] = 1;
    return Clock::now() - begun;
  };
  (void)walk();
  // The least of some: what else runs makes them longer.
  Clock::duration warm = Clock::duration::max();
  Clock::duration cleared = Clock::duration::max();
  for (int round = 0; round < rounds; ++round) {
    warm = std::min(warm, walk());
    if (!self->clear()) warm = Clock::duration::max();
    cleared = std::min(cleared, walk());
  }
  ::munmap(memory, size);
  return std::max(Clock::duration(0), cleared - warm) / static_cast<long>(size / page);
}

Result<void> give_up_huge_pages() {
  if (::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) return fail_errno("PR_SET_THP_DISABLE");
  return {};
}

}  // namespace orchid::executor
