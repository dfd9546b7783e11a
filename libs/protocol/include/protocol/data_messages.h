// protocol/data_messages.h: what an executor and the gateway say about data objects over the
// control connection (docs/PROTOCOL.md §2, "Data").
//
// A data object is immutable bytes in a sealed memory file of an executor. While it is written it
// is a room. The gateway gives it its id; the executor is the authority for whether it is there.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/error_code.h"
#include "foundation/units.h"
#include "protocol/data_id.h"
#include "protocol/lease_tenant.h"

namespace orchid {

/// What an executor has for data objects, which is not for its workers.
struct DataMemory {
  ByteCount bytes;  // its budget
  ByteCount used;   // by rooms and sealed objects
  friend bool operator==(const DataMemory&, const DataMemory&) = default;
};

/// What a data object is known by, the same on all its holders.
struct DataTerms {
  LeaseTenant tenant;
  ByteCount bytes;
  std::string name;  // by the rules for functions; "": it has none
  std::uint64_t version = 0;
  std::optional<std::chrono::milliseconds> expires_in;  // from now; nothing: never
  /// 64 hexadecimal digits: whoever knows them may open the room, or read the object, at the lane
  /// socket. Never logged.
  std::string secret;
  /// Who may do so: the tenant, root, and this user, the gateway's own; nothing: nobody else.
  std::optional<std::uint32_t> holder_uid = {};
  friend bool operator==(const DataTerms&, const DataTerms&) = default;
};

/// A sealed object that an executor has.
struct DataHeld {
  DataId data;
  DataTerms terms;
  std::chrono::milliseconds created_ago{0};
  std::uint64_t order = 0;  // as of `SealData`
  friend bool operator==(const DataHeld&, const DataHeld&) = default;
};

// Numbered messages of the gateway, to executors whose hello has `data_memory`.

/// Room is to be made for an object, and charged whole at once. Idempotent by id.
struct MakeData {
  DataId data;
  DataTerms terms;
  std::chrono::milliseconds write_within{0};
};

/// All its bytes are written. The gateway has decided that the object is to be: once it is sealed,
/// it is there.
struct SealData {
  DataId data;
  /// From now, in place of what it was made with; nothing: that stays. The time that its writer
  /// took is not the object's.
  std::optional<std::chrono::milliseconds> expires_in = {};
  /// Of the versions of a name the one with the largest is the newest, whoever has it and whatever
  /// the clocks say: larger than of all that were to be sealed before, also before the gateway
  /// began anew.
  std::uint64_t order = 0;
};

/// Idempotent: answered by `DataDropped` also when there is no such object.
struct DropData {
  DataId data;
};

// Numbered messages of the executor.

struct DataMade {
  DataId data;
};

struct DataRefused {
  DataId data;
  ErrorCode code = ErrorCode::internal;  // no_data_memory, quota, conflict, system
  std::string message;
};

struct DataSealed {
  DataId data;
  ByteCount bytes;
};

enum class DataEnd : std::uint8_t {
  deleted,     // the gateway said so
  expired,     // its time is over
  evicted,     // unnamed, and used longest ago when others needed the room
  unfinished,  // a room that was not sealed in time, or could not be
  unknown,     // what is to be sealed is not there
};
[[nodiscard]] std::string_view to_string(DataEnd end);
[[nodiscard]] std::optional<DataEnd> parse_data_end(std::string_view name);

/// It is not there any more. Workers that have it mapped keep it until their call has ended.
struct DataDropped {
  DataId data;
  DataEnd reason = DataEnd::deleted;
};

using DataMessage =
    std::variant<MakeData, SealData, DropData, DataMade, DataRefused, DataSealed, DataDropped>;

}  // namespace orchid
