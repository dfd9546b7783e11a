// protocol/lane_messages.h: what a lane client and an executor say over a lane socket
// (docs/PROTOCOL.md §3). Text only; the descriptors that go along are named at each message.
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
#include "protocol/lane_protocol.h"
#include "protocol/lease_id.h"
#include "protocol/outcome.h"
#include "protocol/running_log.h"

namespace orchid {

/// A worker keeps so many modules linked; the one that was asked for longest ago goes first, and
/// its client learns that from its next call, which is answered `need_code`.
constexpr std::size_t modules_per_worker = 64;

/// Of what a function makes: it is looked at on the agent's thread.
constexpr ByteCount largest_made_module = 4_MiB;

// From the client.

struct LaneClaim {
  LeaseId lease;
  std::string secret;  // 64 hexadecimal digits; never logged
  std::uint32_t protocol = shared_lane_protocol;
  std::string address;  // only to orchid-dispatch: the lane address of the worker's executor
  bool knows_compiling = false;  // `LaneCompiling`, and the code `compile_limit`
  bool knows_progress = false;   // `LaneProgress`
  /// Of a crew: how many members it has; 0: as many as were asked for.
  std::uint32_t members = 0;
  /// Of a crew at several executors, with `members`: which one the worker is to be, and which of
  /// them this executor has, in order; 0, the client, is among those if it is on this host.
  std::uint32_t member = 0;
  std::vector<std::uint32_t> near = {};
};

/// Another member that the worker is to connect with, of a crew at several executors.
struct LanePeer {
  std::uint32_t member = 0;
  std::string address;  // where its worker listens: "IP:port"; empty: it connects
  std::string key;      // 32 hexadecimal digits, of this pair alone; never logged
};
/// Of a crew at several executors: whom the worker is to be wired with. Answered by `LaneWired`, or
/// the worker ends.
struct LaneWire {
  std::uint64_t worker = 0;  // which one is meant
  std::vector<LanePeer> peers;
};

struct LaneAnnounce {
  std::string digest;
  /// Until the deadline of the calls that wait for it; nothing: none does, or the client is old.
  std::optional<std::chrono::milliseconds> time_left = {};
};

/// Comes with one descriptor: the module as a sealed memory file.
struct LaneCode {
  std::string digest;
};

struct LaneCancel {
  std::uint64_t request = 0;  // its id in the lane
};

struct LaneReplace {
  std::string reason;
  /// The one that is meant: another may have taken its place by now. 0: whichever is there.
  std::uint64_t worker = 0;
  /// Another member of its crew, at another executor, is lost: it is nobody's fault here.
  bool crew_lost = false;
};

/// Which bytes of a data object a descriptor is for.
enum class DataAccess : std::uint8_t {
  read,   // of a sealed object
  write,  // of a room; once
};
[[nodiscard]] std::string_view to_string(DataAccess access);
[[nodiscard]] std::optional<DataAccess> parse_data_access(std::string_view name);

/// The first message of a connection that is for this alone. Within a host.
struct LaneOpenData {
  DataId data;
  std::string secret;  // 64 hexadecimal digits; never logged
  DataAccess access = DataAccess::read;
};

/// The worker of this connection is to map these objects of its tenant: at most
/// `limits::data_per_call`. Each is answered by `LaneAttached` or `LaneNotAttached`. None of them
/// is evicted until `LaneDetach`, or until the worker ends.
struct LaneAttach {
  std::vector<DataId> data;
};

/// The worker unmaps them: at most `limits::data_per_call`. Not answered.
struct LaneDetach {
  std::vector<DataId> data;
};

/// Answers `LaneFetch`: with one descriptor, the bytes of the module `digest`; or without, and with
/// an empty `digest`: why there are none.
struct LaneFetched {
  std::string name;
  std::string digest;
  ErrorCode code = ErrorCode::internal;
  std::string message;
  bool made = false;      // by a call of the crew: as in LaneMade
  std::string base = {};  // of what was made: as in LaneMade
};

/// Answers `LaneMade`.
struct LaneKept {
  std::string digest;
  /// Why it is not kept; nothing: it is.
  std::optional<Failure> refusal = {};
};

/// Answers `LaneLocate`: the member, or why there is none.
struct LaneLocated {
  std::string data;
  std::uint32_t member = 0;  // 0: none
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

// From the executor.

/// Within a host it comes with three descriptors: lane memory, eventfd that wakes the worker,
/// eventfd that wakes the client. To a client of another host without any, and with `port` and
/// `key`.
struct LaneClaimed {
  std::uint64_t worker = 0;
  std::int64_t pid = 0;
  std::int32_t core = -1;  // -1: not bound
  std::uint32_t generation = 0;
  ByteCount request_bytes;
  ByteCount response_bytes;
  std::uint16_t port = 0;  // where the worker waits, on the host of the executor's address
  std::string key;         // 32 hexadecimal digits: what opens that lane; never logged
  /// Whoever runs the executor says that nobody on the network between the hosts means ill: RDMA
  /// may be used, if both ends have it.
  bool trusted_fabric = false;
  /// Of a crew: which member it is, and how many there are. Three more descriptors come along: the
  /// crew's memory, the eventfd that wakes this member, and the one that wakes the client.
  std::uint32_t member = 0;
  std::uint32_t members = 0;  // 0: of no crew
};

/// The worker has all its peers, and takes calls.
struct LaneWired {
  std::uint64_t worker = 0;
};

struct LaneRefused {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

struct LaneNeedCode {
  std::string digest;
};

/// A call of the client's crew wants a module that the client may not have loaded. `name`: its
/// digest, or the first 16 digits of that ("sha256:" and these), or a deployed function ("N",
/// "N@VERSION").
struct LaneFetch {
  std::string name;
};

/// A call of the client's crew is to go on where that data object is, which is not at this
/// executor. `data`: its name ("N", "N@VERSION") or its id.
struct LaneLocate {
  std::string data;
};

/// A call of a crew at several executors has made a module, and the client is to keep it for
/// members at the others. Comes with one descriptor, a sealed memory file: the module's bytes; or,
/// of the module `base` with constants set, these as text (protocol/constants.h).
struct LaneMade {
  std::string digest;
  std::string base = {};  // digest
};

/// The module waits for a compiler, or is being compiled. `LaneSlot` or `LaneRejected` follows.
struct LaneCompiling {
  std::string digest;
  bool over = false;  // the code is there, and is being loaded
};

/// Where the executor had the code: in this worker, in its memory, on its disk, or nowhere (it was
/// compiled just now).
enum class CodeSource : std::uint8_t { worker, memory, disk, compiled };
[[nodiscard]] std::string_view to_string(CodeSource source);
[[nodiscard]] std::optional<CodeSource> parse_code_source(std::string_view name);

struct LaneSlot {
  std::string digest;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::vector<std::string> entries;  // in slot order: entry k is called as header field `entry` = k
  std::chrono::microseconds compile_us{0};
  std::chrono::microseconds link_us{0};
  CodeSource source = CodeSource::worker;
};

struct LaneRejected {
  std::string digest;
  ErrorCode code = ErrorCode::module_rejected;
  std::string message;
};

/// How far the running call says that it is, to clients of other hosts; the others read it in the
/// lane. Only when it has changed, and some tens of times a second at most.
struct LaneProgress {
  static constexpr std::uint32_t whole = 1000;
  std::uint64_t request = 0;
  std::uint32_t thousandths = 0;  // at most `whole`; user code says so
};

/// This worker is gone. A `LaneClaimed` with its replacement follows when that is ready.
struct LaneEnded {
  std::uint64_t request = 0;  // 0: none was running
  Outcome outcome = Outcome::worker_lost;
  std::string message;
  int signal = 0;  // 0: none
  int exit_status = 0;
  bool started = false;  // false: the call provably did not run
  /// Only between hosts, of a worker that ended by itself and said that it ran no call: the last
  /// request that it says it has answered. 0: it does not matter. User code can forge that.
  std::uint64_t answered = 0;
  std::chrono::milliseconds replaced_in{0};  // more than 0 when workers die one after the other
  /// What the call had logged, for clients of other hosts; the others read it in the lane. At most
  /// `ended_log_bytes`.
  RunningLog log;
};
constexpr std::size_t ended_log_bytes = 16 * 1024;

/// The answer to `LaneOpenData`, with one descriptor; the executor closes the connection behind it,
/// as it does behind `LaneRefused`.
struct LaneData {
  DataId data;
  ByteCount bytes;
};

/// The worker has it mapped.
struct LaneAttached {
  DataId data;
  ByteCount bytes;
};

struct LaneNotAttached {
  DataId data;
  /// `data_lost`: the executor does not have it; `denied`: it is another tenant's; `no_capacity`:
  /// the worker could not map it.
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

using LaneMessage =
    std::variant<LaneClaim, LaneClaimed, LaneRefused, LaneAnnounce, LaneNeedCode, LaneCode,
                 LaneCompiling, LaneSlot, LaneRejected, LaneCancel, LaneReplace, LaneProgress,
                 LaneEnded, LaneOpenData, LaneData, LaneAttach, LaneDetach, LaneAttached,
                 LaneNotAttached, LaneWire, LaneWired, LaneFetch, LaneFetched, LaneMade, LaneKept,
                 LaneLocate, LaneLocated>;

[[nodiscard]] std::string encode(const LaneMessage& message);
/// Errors: `bad_request`, naming the type and the field that is missing or wrong.
[[nodiscard]] Result<LaneMessage> parse_lane_message(std::string_view text);

}  // namespace orchid
