// worker/messages.h: what the agent, the zygote and a worker tell each other over packet sockets,
// as JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/result.h"
#include "protocol/data_id.h"
#include "protocol/limits.h"

namespace orchid::executor {

/// Where a worker waits for a client of another host.
struct RemoteLane {
  std::string address;          // an IP address of this host; empty: all of them
  std::string key;              // 32 hexadecimal digits: the client has to know it; never logged
  bool trusted_fabric = false;  // RDMA may be used, where there is a device for it
};

/// Which member of a crew a worker is.
struct CrewPlace {
  std::uint32_t member = 0;
  std::uint32_t members = 0;
  /// Those at this executor, and 0 if the client is on this host. Empty: all are, and nobody is
  /// elsewhere.
  std::vector<std::uint32_t> near = {};
};
/// A member at another executor.
struct CrewPeer {
  std::uint32_t member = 0;
  std::string address;  // where it listens; empty: it connects
  std::string key;      // 32 hexadecimal digits; never logged
};

/// Agent to zygote. Descriptors: the worker's control socket, lane memory, eventfd that wakes the
/// worker, eventfd that wakes the client, status page. With `device_lane` three more: of its lane
/// to a device process, in which it is the client, the memory, the eventfd that wakes that process,
/// and the one that wakes the worker.
struct Birth {
  std::uint64_t worker = 0;
  std::uint64_t data_limit = 0;  // bytes
  std::uint64_t request_bytes = 0;
  std::uint64_t response_bytes = 0;
  std::int32_t core = -1;  // -1: not bound
  std::vector<std::string> readable_paths;
  std::optional<RemoteLane> remote;
  bool device_lane = false;
  std::optional<CrewPlace> crew = {};  // `CrewWiring` follows
};
/// Zygote to agent. Descriptor: the pidfd.
struct Born {
  std::uint64_t worker = 0;
  std::int64_t pid = 0;
};
struct BirthFailed {
  std::uint64_t worker = 0;
  std::string message;
};
/// Zygote to agent, once, when it can fork workers.
struct ZygoteReady {};

/// Worker program to agent, when it was started to look at the network's devices.
struct FabricFound {
  bool verbs = false;       // a lane over a trusted fabric would use an RDMA device
  std::string description;  // what it would use, and why; or why there is no lane between hosts
  bool usable = true;       // there is UCX at all
};

/// Agent to worker: it is in its cgroup, confinement may begin. Descriptor: the worker's end of its
/// service socket (protocol/service_messages.h).
struct Proceed {};
/// Agent to a member of a crew, behind `Proceed`, as often as it takes. Descriptors, over all of
/// these: the crew's memory, and the eventfds that wake its members, the client's first.
struct CrewWiring {};
/// Agent to a member that listens: whom it is to be wired with. `WorkerReady` follows.
struct WireCrew {
  std::vector<CrewPeer> peers;
};
/// Member to agent: one of another executor is gone. It waits to be ended.
struct CrewLost {
  std::string message;
};
/// Worker to agent: confined, waiting for calls.
struct WorkerReady {};
/// Worker to agent: it waits for its client of another host, or a member of a crew for `WireCrew`;
/// `WorkerReady` follows once they are there.
struct WorkerListening {
  std::uint16_t port = 0;
};
/// Worker to agent: it cannot be confined, and ends.
struct WorkerUnfit {
  std::string message;
};
/// Agent to worker, when a lease takes it.
struct Assign {
  std::uint64_t spin_us = 0;  // how long to spin before blocking; 2^32 and more: for ever
  std::uint64_t output_limit = limits::output_size.value;  // bytes
  std::uint32_t cores = 1;                                 // that its calls may use
};
/// Agent to worker. Descriptor: the code as a sealed memory file.
struct Load {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool quick = false;       // it is of that tier
  bool first = false;       // that this worker loads: what fails now is not an earlier one's doing
  bool on_gpu = false;      // its kernels run on the worker's GPU, not on its cores
  std::string digest = {};  // of the module
};
/// Agent to worker: better code of the module that is there. Descriptor: as with `Load`. Answered
/// by `Improved`; not if the slot holds something else by then.
struct Improve {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};
struct Improved {
  std::uint32_t slot = 0;
  std::string message;  // why the old code stays; empty: it does not
};
struct Unload {
  std::uint32_t slot = 0;
};
/// Agent to worker: end, between two calls. What has not begun is called again elsewhere.
struct Retire {
  std::string reason;
};
struct Loaded {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::vector<std::string> entries;  // sorted: entry k is called by the number k
  std::uint64_t link_us = 0;
};
/// Behind it the worker ends, unless it was the first load and none of its code has run.
struct LoadFailed {
  std::uint32_t slot = 0;
  std::string message;
};

/// Agent to worker: calls are given this object from now on. Descriptor: its sealed memory file,
/// opened to read. Answered by `DataMapped` or `DataNotMapped`.
struct MapData {
  DataId data;
  std::uint64_t bytes = 0;
};
/// Agent to worker. Answered by `DataUnmapped`.
struct UnmapData {
  DataId data;
};
struct DataMapped {
  DataId data;
};
struct DataNotMapped {
  DataId data;
  std::string message;
};
struct DataUnmapped {
  DataId data;
};

using WorkerMessage =
    std::variant<Birth, Born, BirthFailed, ZygoteReady, Proceed, WorkerReady, WorkerListening,
                 WorkerUnfit, Assign, Load, Improve, Unload, Retire, Loaded, LoadFailed, Improved,
                 FabricFound, MapData, UnmapData, DataMapped, DataNotMapped, DataUnmapped,
                 CrewWiring, WireCrew, CrewLost>;

[[nodiscard]] std::string encode(const WorkerMessage& message);
/// Errors: `bad_request`.
[[nodiscard]] Result<WorkerMessage> parse_worker_message(std::string_view text);

}  // namespace orchid::executor
