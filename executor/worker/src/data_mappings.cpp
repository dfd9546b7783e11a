#include "data_mappings.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace orchid::executor {

Result<void> DataMappings::map(const DataId& data, int file, std::uint64_t bytes) {
  if (mapped_.contains(data)) return {};  // within a call, and nobody was told
  struct stat status{};
  // Not fstat(), for which the C library asks with a path: the sandbox refuses that.
  if (::syscall(SYS_fstat, file, &status) != 0) return fail_errno("status of data's memory file");
  auto mapped = MappedFile::map(file, {.limit = ByteCount{bytes}});
  if (!mapped) return fail(std::move(mapped.error()));
  if (mapped->bytes().size() != bytes)
    return fail(ErrorCode::bad_request, "the memory file has another size than the data");
  mapped_.insert_or_assign(data, Mapped{.file = std::move(*mapped), .inode = status.st_ino});
  return {};
}

std::vector<MappedData> DataMappings::ranges() const {
  std::vector<MappedData> ranges;
  for (const auto& [data, mapped] : mapped_)
    if (!mapped.file.bytes().empty())
      ranges.push_back({.bytes = mapped.file.bytes(), .inode = mapped.inode});
  std::ranges::sort(ranges, {}, [](const MappedData& range) { return range.bytes.data(); });
  return ranges;
}

}  // namespace orchid::executor
