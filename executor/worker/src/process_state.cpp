#include "process_state.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "foundation/numbers.h"

namespace orchid::executor {

void ProcessState::remember() {
  if (options_.descriptors >= 0) descriptors_at_start_ = count_entries(options_.descriptors);
  mappings_at_start_ = count_mappings(std::numeric_limits<std::size_t>::max());
  mapped_at_start_ = mapped();
}

std::string_view ProcessState::find_changes() {
  if (const auto mappings = find_mappings(); !mappings.empty()) return mappings;
  if (const auto memory = find_memory(); !memory.empty()) return memory;
  return find_descriptors();
}

std::string_view ProcessState::find_descriptors() {
  if (options_.descriptors < 0) return {};
  const int open = count_entries(options_.descriptors);
  if (open == descriptors_at_start_) return {};
  text_ =
      "the function left " + std::to_string(open - descriptors_at_start_) + " descriptor(s) open";
  return text_;
}

std::string_view ProcessState::find_mappings() {
  if (options_.mappings < 0) return {};
  const std::size_t most = mappings_at_start_ + most_further_mappings;
  if (count_mappings(most) <= most) return {};
  return "the function left too many mappings of memory";
}

std::string_view ProcessState::find_memory() {
  if (options_.memory < 0 || has_room_to_load()) return {};
  ::malloc_trim(0);  // what is free may not have been given back yet
  if (has_room_to_load()) return {};
  return "the function kept so much memory that no other could be loaded";
}

bool ProcessState::has_room_to_load() const {
  const Mapped now = mapped();
  rlimit data{};
  rlimit addresses{};
  if (now.all == 0 || ::getrlimit(RLIMIT_DATA, &data) != 0 ||
      ::getrlimit(RLIMIT_AS, &addresses) != 0)
    return true;
  const std::uint64_t own = data.rlim_cur - std::min(data.rlim_cur, mapped_at_start_.data);
  const std::uint64_t wanted = std::min<std::uint64_t>(memory_to_load.value, own / 8);
  const auto has = [](rlim_t limit, std::uint64_t used, std::uint64_t room) {
    return limit == RLIM_INFINITY || (used <= limit && limit - used >= room);
  };
  return has(data.rlim_cur, now.data, wanted) &&
         has(addresses.rlim_cur, now.all, addresses_to_load.value);
}

/// Lines of /proc/self/maps; looks no further once there are more than `at_most`.
std::size_t ProcessState::count_mappings(std::size_t at_most) const {
  if (options_.mappings < 0 || ::lseek(options_.mappings, 0, SEEK_SET) < 0) return 0;
  std::array<char, 4096> text;
  std::size_t count = 0;
  while (count <= at_most) {
    const ssize_t got = ::read(options_.mappings, text.data(), text.size());
    if (got <= 0) break;
    count += static_cast<std::size_t>(std::count(text.data(), text.data() + got, '\n'));
  }
  return count;
}

ProcessState::Mapped ProcessState::mapped() const {
  std::array<char, 128> text;
  const ssize_t got =
      options_.memory < 0 ? -1 : ::pread(options_.memory, text.data(), text.size(), 0);
  if (got <= 0) return {};
  std::array<std::uint64_t, 6> pages{};  // the first: all; the sixth: data and stack
  std::string_view rest(text.data(), static_cast<std::size_t>(got));
  for (std::uint64_t& field : pages) {
    field = take_number<std::uint64_t>(rest).value_or(0);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.all = pages[0] * page, .data = pages[5] * page};
}

int ProcessState::count_entries(int directory) {
  alignas(8) std::array<char, 4096> buffer{};
  if (::lseek(directory, 0, SEEK_SET) < 0) return -1;
  int count = 0;
  while (true) {
    const long got = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    if (got <= 0) return got < 0 ? -1 : count - 2;  // less "." and ".."
    for (long at = 0; at < got; ++count) {
      constexpr long length_offset = 16;  // of linux_dirent64::d_reclen
      at += static_cast<unsigned char>(buffer[static_cast<std::size_t>(at + length_offset)]) |
            static_cast<unsigned char>(buffer[static_cast<std::size_t>(at + length_offset + 1)])
                << 8;
    }
  }
}

}  // namespace orchid::executor
