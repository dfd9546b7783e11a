// protocol/control_messages.h: what an executor and the gateway say over the control connection
// (docs/PROTOCOL.md §2).
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/error_code.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "protocol/core_list.h"
#include "protocol/data_messages.h"
#include "protocol/lane_protocol.h"
#include "protocol/lease_id.h"
#include "protocol/lease_tenant.h"
#include "protocol/limits.h"
#include "protocol/memory_messages.h"

namespace orchid {

constexpr std::uint32_t control_protocol_version = 1;

/// `index`: as the batch system counts the machine's GPUs, where one has handed them over.
struct OfferedGpu {
  std::uint32_t index = 0;
  std::string model;                            // "" when nobody says
  std::optional<std::uint32_t> numa_node = {};  // nothing: not known
  /// Why no lease can have it now, for people: the driver's words, or that its process is being
  /// started. Empty: a lease can.
  std::string fault = {};
  friend bool operator==(const OfferedGpu&, const OfferedGpu&) = default;
};

/// A machine as its executor sees it. `cores` and `gpus` are those that this executor may use,
/// cores as numbers of the operating system.
struct HostDescription {
  std::string boot_id;
  std::string hostname;
  std::string architecture;
  std::string cpu;
  std::string features;  // sorted
  CoreList cores;
  ByteCount memory;
  std::string kind = "cpu";
  /// All hardware threads of the machine, core by core and socket by socket, as numbers of the
  /// operating system: batch systems count them so. And the NUMA node of each. Empty: not known.
  std::vector<std::uint32_t> thread_order;
  std::vector<std::uint32_t> thread_numa_nodes;
  std::vector<OfferedGpu> gpus{};  // each index once
};

/// Who handed an executor its cores: the machine's owner who started it, a batch job whose only
/// purpose that is, or one that does not use them.
enum class GrantSource : std::uint8_t { local, pilot, share };
[[nodiscard]] std::string_view to_string(GrantSource source);
[[nodiscard]] std::optional<GrantSource> parse_grant_source(std::string_view name);

/// Whose functions may run there.
enum class GrantUsers : std::uint8_t { owner, everybody };
[[nodiscard]] std::string_view to_string(GrantUsers users);
[[nodiscard]] std::optional<GrantUsers> parse_grant_users(std::string_view name);

struct GrantTerms {
  GrantSource source = GrantSource::local;
  std::string cluster;    // of the batch job; "" when there is none, or it has no name
  std::uint64_t job = 0;  // 0: none
  std::string node;       // what the batch system calls the host; "": as its hostname
  std::optional<std::chrono::milliseconds> ends_in;  // nothing: no end is known
  bool draining = false;                             // nothing new is to be placed there
  /// Of a site's executor, which has the site's token whoever granted the cores: the uid of who
  /// did. Nothing: whose token it is; a share is for its owner alone, the others for everybody.
  std::optional<std::uint32_t> owner = std::nullopt;
  std::optional<GrantUsers> users = std::nullopt;
  friend bool operator==(const GrantTerms&, const GrantTerms&) = default;
};

/// How a worker waits for its next call: it spins, spins for a while and then sleeps, or sleeps.
enum class WaitMode : std::uint8_t { hot, adaptive, blocking };
[[nodiscard]] std::string_view to_string(WaitMode mode);
[[nodiscard]] std::optional<WaitMode> parse_wait_mode(std::string_view name);

/// What a lease has that a client of its own holds, and not the gateway: it ends by itself, and
/// outlives a gateway that is started anew.
struct ClientTerms {
  LeaseId client_lease;  // what the client knows it by; its workers may lie on several hosts
  WaitMode wait = WaitMode::adaptive;
  std::chrono::milliseconds expires_in{0};  // from now
  bool separate_processes = false;          // no process of it runs the code of two modules
  std::uint32_t crew = 0;  // the worker is one of so many members of a crew; 0: of none
  bool crew_spread =
      false;  // its members may be at several executors, and elsewhere than its client
  friend bool operator==(const ClientTerms&, const ClientTerms&) = default;
};

/// What its workers are claimed with.
[[nodiscard]] constexpr std::uint32_t lane_protocol_for(const ClientTerms& terms) {
  if (terms.crew != 0) return terms.crew_spread ? spread_crew_lane_protocol : crew_lane_protocol;
  return terms.separate_processes ? apart_lane_protocol : shared_lane_protocol;
}

/// A client's lease that an executor has.
struct LeaseHeld {
  LeaseId lease;
  LeaseTenant tenant;
  std::uint32_t workers = 1;
  std::uint32_t cores_per_worker = 1;
  CoreList core_ids;  // which ones
  ByteCount memory;   // per worker
  ClientTerms client;
  CoreList gpus{};  // indices
};

// Frames without a number.

/// The executor's first frame.
struct ControlHello {
  std::uint32_t oldest_protocol = control_protocol_version;
  std::uint32_t newest_protocol = control_protocol_version;
  std::string version;   // of the program, for people
  std::string executor;  // random for each process
  HostDescription host;
  GrantTerms grant;
  std::string lane_socket;   // path
  std::string lane_address;  // "host:port" for clients of other hosts; empty: there is none
  std::uint32_t lane_protocol = shared_lane_protocol;  // the newest that it speaks
  std::vector<LeaseHeld> held;  // the gateway may be one that has never heard of them
  std::string stream;           // empty, or the one to resume
  std::uint64_t ack = 0;        // in that stream
  std::optional<DataMemory> data_memory = {};  // nothing: it keeps no data objects
  std::vector<DataHeld> data = {};             // the sealed ones
  bool copies_data = false;    // it sends data to other executors, and fetches it from them
  bool leases_memory = false;  // of its memory for data
  bool digests_data = false;   // when it is asked to
  bool keeps_data = false;     // as files, beyond its own end
  bool streams_data = false;   // to and from the gateway, when that is on another host
  std::vector<MemoryHeld> memory = {};  // the leases of it
};

struct ControlWelcome {
  std::uint32_t protocol = control_protocol_version;
  std::uint64_t epoch = 0;
  std::string stream;
  std::uint64_t ack = 0;
  bool resumed = false;
  std::string gateway;        // which one it is, also when it starts anew; "": an older one
  bool names_data = false;    // it hears what calls ask of data: FindData, PublishData
  bool finds_memory = false;  // and of leases of memory: FindMemory
  bool spares_data = false;   // and what lacks memory: SpareFor
};

/// The gateway closes the connection after it.
struct ControlRefused {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

struct ControlAck {};
struct ControlPing {};

// Numbered messages of the gateway.

struct OpenLease {
  LeaseId lease;
  std::string secret;  // 64 hexadecimal digits; never logged
  LeaseTenant tenant;
  std::uint32_t workers = 1;
  std::uint32_t cores_per_worker = 1;
  CoreList
      core_ids;      // workers × cores_per_worker that the executor offers; no other lease has them
  ByteCount memory;  // per worker
  std::chrono::milliseconds claim_within{limits::lease_claim};
  std::optional<ClientTerms> client;
  /// The gateway's own, which claims workers for its tenants; nothing: only the tenant claims.
  std::optional<std::uint32_t> holder_uid = std::nullopt;
  CoreList gpus{};  // indices of GPUs that the executor offers; no other lease has them
};

/// From now on the lease lasts so long. One that is not there is answered with `LeaseClosed`.
struct RenewLease {
  LeaseId lease;
  std::chrono::milliseconds expires_in{0};
};

struct CloseLease {
  LeaseId lease;
};

// Numbered messages of the executor.

struct LeaseOpened {
  LeaseId lease;
  std::uint32_t workers = 0;
};

struct LeaseRefused {
  LeaseId lease;
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

/// reclaimed: its cores were taken back by their owner.
enum class LeaseEnd : std::uint8_t { released, lapsed, revoked, expired, reclaimed };
[[nodiscard]] std::string_view to_string(LeaseEnd end);
[[nodiscard]] std::optional<LeaseEnd> parse_lease_end(std::string_view name);

struct LeaseClosed {
  LeaseId lease;
  LeaseEnd reason = LeaseEnd::released;
};

struct CapacityReport {
  std::uint32_t cores_free = 0;     // not in a lease
  std::uint32_t workers_ready = 0;  // pre-forked
  std::map<std::string, std::uint64_t> counters;
  std::optional<std::uint64_t> milliwatts;  // that the machine's processors draw; nothing: unknown
  std::optional<ByteCount> data_used = {};  // by data objects; nothing: it keeps none
};

/// What the executor offers from now on. Leases on cores that are no longer named end, and so do
/// those on GPUs that have a fault.
struct GrantChanged {
  CoreList cores;
  std::optional<std::chrono::milliseconds> ends_in;
  bool draining = false;
  std::optional<std::vector<OfferedGpu>> gpus = std::nullopt;  // nothing: as before
};

/// The messages that a stream numbers, acknowledges and sends again after a broken connection.
using ControlMessage =
    std::variant<OpenLease, RenewLease, CloseLease, LeaseOpened, LeaseRefused, LeaseClosed,
                 CapacityReport, GrantChanged, MakeData, SealData, DropData, WishCopies, SpareData,
                 OfferData, FetchData, ReceiveData, EndDataTransfer, DataMade, DataRefused,
                 DataSealed, DataDropped, DataKept, DigestData, DataDigest, DataNotDigested,
                 FileData, DataFiled, DataNotFiled, DataOffered, DataNotOffered, DataFetched,
                 DataNotFetched, FindData, PublishData, DataFound, DataAccepted, DataDeclined,
                 SpareFor, DataSpared, LeaseMemory, RenewMemory, EndMemory, MemoryLeased,
                 MemoryRefused, MemoryEnded, FindMemory, MemoryFound, MemoryNotFound>;

using ControlBody = std::variant<ControlHello, ControlWelcome, ControlRefused, ControlAck,
                                 ControlPing, ControlMessage>;

struct ControlFrame {
  std::uint64_t sequence = 0;  // 0 for frames without a number
  std::uint64_t ack = 0;  // not used by hello, welcome and refused: the first two carry their own
  ControlBody body;
};

[[nodiscard]] std::string encode(const ControlFrame& frame);
/// Errors: `bad_request`, naming the type and the field that is missing or wrong; `too_large`.
[[nodiscard]] Result<ControlFrame> parse_control_frame(std::string_view text);

/// A numbered message whose content cannot be read, since the other side is of another release or
/// has a fault. It is taken like any other: unacknowledged it would come again after each new
/// connection, and cut the two sides off for good.
struct UnreadableMessage {
  std::uint64_t sequence = 0;
  std::uint64_t ack = 0;
  std::optional<ControlMessage> refusal;  // to its sender, if that waits for an answer
};
/// Of a text that `parse_control_frame` has refused for `why`. Nothing: it is no numbered message.
[[nodiscard]] std::optional<UnreadableMessage> unreadable_message(std::string_view text,
                                                                  const Failure& why);

}  // namespace orchid
