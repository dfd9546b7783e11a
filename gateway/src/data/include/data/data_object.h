// data/data_object.h: one data object as the gateway's books have it.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/clock.h"
#include "foundation/units.h"
#include "hosts/host_book.h"
#include "protocol/data_id.h"
#include "protocol/lease_tenant.h"

namespace orchid::gateway {

enum class DataState : std::uint8_t {
  room,    // it is being written, and nobody finds it
  sealed,  // immutable, with one copy at least, or one that may just have become whole
  lost,    // no copy is left
};
[[nodiscard]] std::string_view to_string(DataState state);

/// An executor that has a copy, or the room.
struct DataHolder {
  ExecutorId executor;
  std::string host;  // its name
};

/// A value.
struct DataObject {
  DataId id{};
  LeaseTenant tenant{};
  ByteCount bytes{};
  std::string name{};         // empty: it has none
  std::uint64_t version = 0;  // of the name, from 1
  std::string secret{};       // of the rooms and copies; never logged
  DataState state = DataState::room;
  MonotonicTime created{};
  std::uint64_t order = 0;  // grows from each that is to be sealed to the next; 0: a room still
  MonotonicTime expires = MonotonicTime::max();
  std::vector<DataHolder> holders{};   // of a sealed one perhaps none, while its last copy arrives
  std::vector<DataHolder> arriving{};  // of a sealed one: where a copy of it is being written
  std::uint32_t copies = 1;            // at least so many are wanted
  bool durable = false;                // a holder keeps it as a file, beyond that executor's end
  std::string digest{};                // "sha256:…"; empty: nobody has asked for it yet
  std::string last_host{};             // of one that is lost: where its last copy was
  std::string why_lost{};
};

/// By the order in which they were to be sealed, and not by their numbers: a gateway that began
/// anew may have given small numbers before an executor brought back larger ones, with older bytes.
[[nodiscard]] bool is_older(const DataObject& left, const DataObject& right);

/// What somebody wants of an object: at least so many copies, and one of them on this host.
struct WantedCopies {
  std::optional<std::uint32_t> count{};
  std::string host{};  // empty: wherever there is room
};

/// Max: nothing ends it.
[[nodiscard]] MonotonicTime data_end(std::optional<std::chrono::milliseconds> lives_for,
                                     MonotonicTime now);
/// "climate@3", or the id of one without a name.
[[nodiscard]] std::string label_of(const DataObject& object);

}  // namespace orchid::gateway
