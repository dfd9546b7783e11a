// worker/call_objects.h: the data objects that the running call opens by name, and those that it
// makes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data_mappings.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "protocol/data_id.h"
#include "service_client.h"

namespace orchid::executor {

/// Owned by the worker's thread; one for all of its calls, one after the other.
class CallObjects {
 public:
  CallObjects(ServiceClient& depot, DataMappings& data, const orchid::Clock& clock = system_clock())
      : depot_(depot), data_(data), clock_(clock) {}

  /// By "NAME", "NAME@VERSION" or id. Mapped as data that the call was given is, and stays for
  /// later calls. A name means the same object for as long as the call lasts. Errors: what the
  /// depot refuses with; `bad_request`, `no_capacity` (it cannot be mapped).
  [[nodiscard]] Result<std::span<const std::byte>> open(std::string_view name);
  /// The member of the crew that is to go on with that object: one on a host that has it. For a
  /// second it is remembered. Errors: what the depot refuses with.
  [[nodiscard]] Result<std::uint32_t> locate(std::string_view name);
  /// Zeros, to be written in place. Errors: as above.
  [[nodiscard]] Result<std::span<std::byte>> create(std::uint64_t most);
  /// The room is unmapped, whatever comes of it. `name`: empty: it has none. Errors: as above.
  [[nodiscard]] Result<DataId> seal(const void* room, std::uint64_t used, std::string_view name);

  /// The call has asked for something, so it is to be ended.
  [[nodiscard]] bool in_use() const { return made_ || !opened_.empty(); }
  /// Something that is nobody else's before the call has succeeded.
  [[nodiscard]] bool has_made() const { return made_; }
  /// An answer of the depot was given up: the worker can ask for nothing more.
  [[nodiscard]] bool has_given_up() const { return depot_.has_given_up(); }
  /// A seal was refused since the last time that this was asked: the call may have kept a mapping.
  [[nodiscard]] bool take_refused_seal() { return std::exchange(seal_refused_, false); }
  /// The entry has returned: rooms that it has not sealed are mapped no more.
  void unmap_rooms();
  /// The call is over, and its rooms are unmapped: what it has sealed is there for others from now
  /// on, if it has succeeded, and all else has vanished. Errors: what the depot refuses with; then
  /// nothing is there.
  [[nodiscard]] Result<void> end(bool succeeded);

 private:
  struct Room {
    DataId data;
    std::size_t bytes = 0;
  };
  [[nodiscard]] static const orchid::Clock& system_clock();
  [[nodiscard]] Result<std::span<const std::byte>> open_mapped(const DataId& data);
  [[nodiscard]] Result<std::span<const std::byte>> map(ServiceClient::Answer answer);

  ServiceClient& depot_;
  DataMappings& data_;
  const orchid::Clock& clock_;
  /// Of what is mapped: when the executor has last heard that a call has opened it.
  std::unordered_map<DataId, MonotonicTime> told_;
  std::map<std::string, std::span<const std::byte>, std::less<>> opened_;  // by what was asked for
  std::map<const void*, Room> rooms_;                                      // by address
  struct Place {
    std::uint32_t member = 0;
    MonotonicTime until;
  };
  std::map<std::string, Place, std::less<>> places_;  // by what was asked for
  bool seal_refused_ = false;
  bool made_ = false;         // the depot has, or may have, something of this call
  std::uint64_t sealed_ = 0;  // objects of this call
};

}  // namespace orchid::executor
