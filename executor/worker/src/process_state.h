// worker/process_state.h: what the kernel keeps for the process and a call may have changed:
// mappings, memory, descriptors. Each question is a system call or more, so it is asked at
// intervals.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "data_mappings.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Owned by the worker's thread.
class ProcessState {
 public:
  /// Opened before the sandbox closed; -1: not asked.
  struct Options {
    int descriptors = -1;                // /proc/self/fd
    int mappings = -1;                   // /proc/self/maps
    int memory = -1;                     // /proc/self/statm
    const DataMappings* data = nullptr;  // what has to stay mapped as it is; outlives the object
  };
  /// The kernel allows 65 530. What a process maps to keep it, and what its threads need, are some
  /// hundreds.
  static constexpr std::size_t most_further_mappings = 4096;
  /// So much of its limits has to be free for the code of a module that may come, or an eighth of
  /// a smaller worker's memory.
  static constexpr ByteCount memory_to_load = 32_MiB;
  static constexpr ByteCount addresses_to_load = 1_GiB;

  explicit ProcessState(const Options& options) : options_(options) {}
  /// What is there now may stay.
  void remember();
  /// What cannot be put back, or nothing. Valid until the next question.
  [[nodiscard]] std::string_view find_changes();
  [[nodiscard]] std::string_view find_descriptors();

 private:
  struct Mapped {
    std::uint64_t all = 0;   // bytes
    std::uint64_t data = 0;  // of these what RLIMIT_DATA counts
  };
  /// Of a folder of /proc, but "." and ".."; -1: it does not say.
  [[nodiscard]] static int count_entries(int directory);
  [[nodiscard]] std::string_view find_mappings();
  [[nodiscard]] std::string_view find_memory();
  [[nodiscard]] bool has_room_to_load() const;
  /// With each line of /proc/self/maps, for as long as `each` is true.
  template <typename Each>
  void for_each_mapping(Each each) const;
  [[nodiscard]] Mapped mapped() const;

  Options options_;
  int descriptors_at_start_ = 0;
  std::size_t mappings_at_start_ = 0;
  Mapped mapped_at_start_;
  std::string text_;
};

}  // namespace orchid::executor
