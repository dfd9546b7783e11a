// worker/data_mappings.h: the data objects that calls of this worker can be given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/files.h"
#include "foundation/result.h"
#include "protocol/data_id.h"

namespace orchid::executor {

/// Where an object is mapped, and the number of its memory file.
struct MappedData {
  std::span<const std::byte> bytes;
  std::uint64_t inode = 0;
};

/// What /proc/self/maps calls a mapping of an object's memory file.
constexpr std::string_view data_file_name = "/memfd:orchid-data";

/// Owned by the worker's thread. Each object is mapped privately and read-only, from its sealed
/// memory file: nobody's writes can change it, and a write by user code ends the process. What user
/// code does to the mapping itself, this process alone has; `ProcessState` finds it.
class DataMappings {
 public:
  /// `bytes`: what its size is to be. Errors: `bad_request` (not sealed, another size), `system`.
  [[nodiscard]] Result<void> map(const DataId& data, int file, std::uint64_t bytes);
  void unmap(const DataId& data) { mapped_.erase(data); }
  /// Null: it is not mapped.
  [[nodiscard]] const MappedFile* find(const DataId& data) const {
    const auto found = mapped_.find(data);
    return found == mapped_.end() ? nullptr : &found->second.file;
  }
  [[nodiscard]] bool empty() const { return mapped_.empty(); }
  [[nodiscard]] std::size_t size() const { return mapped_.size(); }
  /// Where they lie, in the order of addresses; without the empty ones.
  [[nodiscard]] std::vector<MappedData> ranges() const;

 private:
  struct Mapped {
    MappedFile file;
    std::uint64_t inode = 0;
  };
  std::unordered_map<DataId, Mapped> mapped_;
};

}  // namespace orchid::executor
