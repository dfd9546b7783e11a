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
#include <vector>

#include "foundation/error_code.h"
#include "foundation/result.h"
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
  std::uint32_t copies = 1;  // at least so many are wanted, on different hosts
  bool durable = false;      // the executor that makes its room keeps it as a file, too
  friend bool operator==(const DataTerms&, const DataTerms&) = default;
};

/// A sealed object that an executor has.
struct DataHeld {
  DataId data;
  DataTerms terms;
  std::chrono::milliseconds created_ago{0};
  std::uint64_t order = 0;  // as of `SealData`
  std::string digest = {};  // "sha256:…"; empty: nobody has asked for it yet
  friend bool operator==(const DataHeld&, const DataHeld&) = default;
};

/// As text, for a file that is to be read by a later process of the executor.
[[nodiscard]] std::string encode(const DataHeld& held);
/// Errors: `bad_request`.
[[nodiscard]] Result<DataHeld> parse_held_data(std::string_view text);

// Numbered messages of the gateway, to executors whose hello has `data_memory`.

/// Room is to be made for an object, and charged whole at once. Idempotent by id.
struct MakeData {
  DataId data;
  DataTerms terms;
  std::chrono::milliseconds write_within{0};
  /// Of a copy: how long ago the object was sealed; nothing: it will be sealed for the first time.
  std::optional<std::chrono::milliseconds> created_ago = {};
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

/// From now on so many copies of it are wanted; a gateway that begins anew is told so.
struct WishCopies {
  DataId data;
  std::uint32_t copies = 1;
};

/// There are enough copies without this one: it goes, unless somebody uses it. Answered by
/// `DataDropped`, as `evicted`, or by `DataKept`.
struct SpareData {
  DataId data;
};

/// The digest of a sealed object is wanted. Answered by `DataDigest`, or `DataNotDigested`. To
/// executors whose hello has `digests_data`.
struct DigestData {
  DataId data;
};

/// A sealed object is to be kept as a file from now on, also one that a call has made. Answered by
/// `DataFiled`, at once if it is one, or `DataNotFiled`. To executors whose hello has `keeps_data`.
struct FileData {
  DataId data;
  /// From now, if that is longer than it has; nothing: its end stays.
  std::optional<std::chrono::milliseconds> expires_in = {};
};

// Copies, between executors whose hello says that they copy data. A transfer has a number that is
// not used twice, and a key, 32 hexadecimal digits, that both of its ends are told. Never logged.

/// Somebody will come for a sealed object.
struct OfferData {
  DataId data;
  std::uint64_t transfer = 0;
  std::string key;
  std::chrono::milliseconds within{0};  // all of it
  /// So long who comes may not get on; nothing: some seconds. It has a client behind it, perhaps.
  std::optional<std::chrono::milliseconds> patience = {};
};

/// Somebody will come with the bytes of a room, from the gateway: to executors whose hello has
/// `streams_data`. Answered by `DataOffered`, then by `DataFetched` or `DataNotFetched`.
struct ReceiveData {
  DataId data;
  std::uint64_t transfer = 0;
  std::string key;
  std::chrono::milliseconds within{0};  // all of it
};

/// Into its room here. What is there already is not fetched again.
struct FetchData {
  DataId data;
  std::uint64_t transfer = 0;
  std::string key;
  std::string address;  // "host:port", as the sender has said
  std::chrono::milliseconds within{0};
};

/// Idempotent. Who fetches says once more how it has ended, with what lies in the room then; who
/// sends says nothing.
struct EndDataTransfer {
  DataId data;
  std::uint64_t transfer = 0;
};

// Numbered messages of the executor.

struct DataOffered {
  DataId data;
  std::uint64_t transfer = 0;
  std::string address;
};

/// Also after `DataOffered`, when it could not be sent whole.
struct DataNotOffered {
  DataId data;
  std::uint64_t transfer = 0;
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

/// All of it is in the room, which can be sealed.
struct DataFetched {
  DataId data;
  std::uint64_t transfer = 0;
};

struct DataNotFetched {
  DataId data;
  std::uint64_t transfer = 0;
  ByteCount have;  // of it, in the room
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

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
  spoiled,     // the file that keeps it is not what was written
};
[[nodiscard]] std::string_view to_string(DataEnd end);
[[nodiscard]] std::optional<DataEnd> parse_data_end(std::string_view name);

/// It is not there any more. Workers that have it mapped keep it until their call has ended.
struct DataDropped {
  DataId data;
  DataEnd reason = DataEnd::deleted;
};

/// It could be spared, and is not: somebody uses it, or it is not there.
struct DataKept {
  DataId data;
};

struct DataDigest {
  DataId data;
  std::string digest;  // "sha256:…"
};

struct DataNotDigested {
  DataId data;
  ErrorCode code = ErrorCode::internal;  // data_lost, no_capacity, no_data_memory, system, …
  std::string message;
};

struct DataFiled {
  DataId data;
};

struct DataNotFiled {
  DataId data;
  ErrorCode code = ErrorCode::internal;  // data_lost, unsupported, quota, disk_full, no_capacity, …
  std::string message;
};

// What calls ask for: to a gateway whose welcome has `names_data`. The executor numbers its
// questions; the gateway answers each.

/// Which object a call means by a name, or where the one with an id is.
struct FindData {
  std::uint64_t question = 0;
  LeaseTenant tenant;
  std::string reference;  // "NAME", "NAME@3", or an id
};

/// A call has succeeded, and the executor has what it has made, sealed: they are to be given
/// versions, all of them or none. Each `terms` has no version and no `expires_in`.
struct PublishData {
  struct Object {
    DataId data;
    DataTerms terms;
  };
  std::uint64_t question = 0;
  std::vector<Object> objects;  // of one tenant
};

// What lacks memory here asks for: to a gateway whose welcome has `spares_data`, numbered likewise.

/// What a call or a lease of memory wants would fit if so much more could go than the executor
/// evicts by itself: named objects, of which there are enough copies elsewhere.
struct SpareFor {
  std::uint64_t question = 0;
  ByteCount bytes;
};

// The gateway's answers.

/// What can go was named before, with `SpareData`; or nothing does, since it would not be enough.
struct DataSpared {
  std::uint64_t question = 0;
  bool enough = false;
};

/// The executor that asks has it.
struct DataFound {
  std::uint64_t question = 0;
  DataId data;
};

/// They are there for everybody who may see them.
struct DataAccepted {
  struct Object {
    DataId data;
    std::uint64_t version = 0;  // 0: it has no name
    std::uint64_t order = 0;    // as of `SealData`
    std::optional<std::chrono::milliseconds> expires_in = {};
  };
  std::uint64_t question = 0;
  std::vector<Object> objects;
  std::optional<std::uint32_t> holder_uid = {};  // of their terms
};

/// Of either question. What was offered is not wanted.
struct DataDeclined {
  std::uint64_t question = 0;
  ErrorCode code = ErrorCode::internal;  // not_found, data_lost, data_elsewhere, quota, conflict, …
  std::string message;
};

using DataMessage =
    std::variant<MakeData, SealData, DropData, WishCopies, SpareData, OfferData, FetchData,
                 ReceiveData, EndDataTransfer, DataMade, DataRefused, DataSealed, DataDropped,
                 DataKept, DigestData, DataDigest, DataNotDigested, FileData, DataFiled,
                 DataNotFiled, DataOffered, DataNotOffered, DataFetched, DataNotFetched, FindData,
                 PublishData, DataFound, DataAccepted, DataDeclined, SpareFor, DataSpared>;

}  // namespace orchid
