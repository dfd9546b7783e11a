#include "process_state.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "foundation/numbers.h"
#include "mapping_list.h"

namespace orchid::executor {
namespace {

/// Whether all of each object is mapped from its own memory file, and read-only. In one piece or
/// several: advice to the kernel splits mappings. And nothing else of such files is: its pages
/// would be there after the object, and nobody would count them.
class DataCheck {
 public:
  /// `ranges`: in the order of addresses.
  explicit DataCheck(std::vector<MappedData> ranges) : ranges_(std::move(ranges)) {}
  /// The mappings in the order of addresses.
  void look(std::string_view text) {
    if (!text.contains(data_file_name)) return;
    if (!is_next(parse_mapping(text))) has_others_ = true;
  }
  [[nodiscard]] bool is_as_it_was() const { return whole_ == ranges_.size() && !has_others_; }

 private:
  [[nodiscard]] bool is_next(const MappingLine& line) {
    if (whole_ == ranges_.size()) return false;
    const MappedData& data = ranges_[whole_];
    const auto start = reinterpret_cast<std::uintptr_t>(data.bytes.data());
    const bool is_part = line.start == start + found_ && line.protection == "r--p" &&
                         line.inode == data.inode && line.file.starts_with(data_file_name) &&
                         line.offset == found_;
    if (!is_part) return false;
    found_ = line.end - start;
    if (found_ < data.bytes.size()) return true;
    ++whole_;
    found_ = 0;
    return true;
  }

  std::vector<MappedData> ranges_;
  std::size_t whole_ = 0;    // of the ranges
  std::uint64_t found_ = 0;  // bytes of the next one
  bool has_others_ = false;
};

}  // namespace

void ProcessState::remember() {
  if (options_.descriptors >= 0) descriptors_at_start_ = count_entries(options_.descriptors);
  mappings_at_start_ = 0;
  for_each_mapping([&](std::string_view) {
    ++mappings_at_start_;
    return true;
  });
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

/// Both questions in one pass: the kernel makes the text anew for each.
std::string_view ProcessState::find_mappings() {
  if (options_.mappings < 0) return {};
  DataCheck data(options_.data == nullptr ? std::vector<MappedData>{} : options_.data->ranges());
  const std::size_t most = mappings_at_start_ + most_further_mappings +
                           (options_.data == nullptr ? 0 : options_.data->size());
  std::size_t count = 0;
  for_each_mapping([&](std::string_view line) {
    data.look(line);
    return ++count <= most;
  });
  if (count > most) return "the function left too many mappings of memory";
  if (!data.is_as_it_was()) return "the function changed how data that it was given is mapped";
  return {};
}

/// Lines that are longer than the kernel makes them are cut.
template <typename Each>
void ProcessState::for_each_mapping(Each each) const {
  if (options_.mappings < 0 || ::lseek(options_.mappings, 0, SEEK_SET) < 0) return;
  std::array<char, 8192> text;
  std::size_t kept = 0;
  while (true) {
    const ssize_t got = ::read(options_.mappings, text.data() + kept, text.size() - kept);
    if (got <= 0) return;
    std::string_view rest(text.data(), kept + static_cast<std::size_t>(got));
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      if (!each(rest.substr(0, end))) return;
      rest.remove_prefix(end + 1);
    }
    if (rest.size() == text.size()) rest = {};
    std::ranges::copy(rest, text.begin());
    kept = rest.size();
  }
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
