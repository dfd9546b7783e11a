// Rooms that a process of ours fills with what comes from elsewhere.
#include <utility>

#include "data/data_service.h"

namespace orchid::executor {

Result<DataService::Opened> DataService::open_for_copy(const DataId& data) {
  return open_to_fill(data, book_.open_for_copy(data));
}

Result<DataService::Opened> DataService::open_for_gateway(const DataId& data) {
  return open_to_fill(data, book_.open_for_gateway(data));
}

Result<DataService::Opened> DataService::open_to_fill(const DataId& data,
                                                      const Result<ByteCount>& bytes) {
  if (!bytes) return fail(bytes.error());
  auto file = files_.at(data).open_to_write();
  if (!file) {
    book_.unpin(data);
    return fail(std::move(file.error()));
  }
  return Opened{*bytes, std::move(*file)};
}

}  // namespace orchid::executor
