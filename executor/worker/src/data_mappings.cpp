#include "data_mappings.h"

#include <algorithm>
#include <utility>

namespace orchid::executor {

Result<void> DataMappings::map(const DataId& data, int file, std::uint64_t bytes) {
  auto mapped = MappedFile::map(file, {.limit = ByteCount{bytes}});
  if (!mapped) return fail(std::move(mapped.error()));
  if (mapped->bytes().size() != bytes)
    return fail(ErrorCode::bad_request, "the memory file has another size than the data");
  mapped_.insert_or_assign(data, std::move(*mapped));
  return {};
}

std::vector<std::span<const std::byte>> DataMappings::ranges() const {
  std::vector<std::span<const std::byte>> ranges;
  for (const auto& [data, file] : mapped_)
    if (!file.bytes().empty()) ranges.push_back(file.bytes());
  std::ranges::sort(ranges, {}, [](const auto& range) { return range.data(); });
  return ranges;
}

}  // namespace orchid::executor
