// orchid/client.h: deploys functions to Orchid and calls them.
//
//   orchid::Client client;                 // finds the gateway that `orchid up` started
//   client.deploy_file("dot", "dot.orc");
//   auto dot = client.function<double(std::span<const double>, std::span<const double>)>("dot");
//   double d = dot(a, b);
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchid/crew.h"
#include "orchid/error.h"
#include "orchid/invocation.h"
#include "orchid/lease.h"
#include "orchid/mapped_data.h"
#include "orchid/memory.h"
#include "orchid/submitted_flow.h"
#include "orchid/typed_function.h"

namespace orchid {

namespace sdk {
class SharedLeaseThreads;
}

/// Where the gateway is and who asks. What is empty is looked for: the gateway in ORCHID_GATEWAY,
/// then in the file gateway.json that `orchid up` leaves in $XDG_RUNTIME_DIR/orchid or
/// /tmp/orchid-<uid> of its host, and in orchid/gateway below $XDG_STATE_HOME or ~/.local/state for
/// the other hosts of a cluster; the token in ORCHID_TOKEN, then in the file that gateway.json
/// names. Its Unix socket is taken before its TCP addresses where it is reachable; there the kernel
/// says who asks, and no token is needed.
struct ClientOptions {
  std::string gateway;  // "http://host:port" or "unix:/path"
  std::string token;
  std::chrono::milliseconds connect_timeout{5000};
  /// Instead of `gateway` and `token`: makes a connection to a gateway that knows by it who asks,
  /// and gives its descriptor, which is the client's from then on; -1: there is none now. Called on
  /// any thread.
  std::function<int()> connect{};
};

struct EntryInfo {
  std::string name;
  std::string signature;  // empty: takes and gives raw bytes
};

struct FunctionInfo {
  std::string name;
  std::string version;  // digest
  std::vector<EntryInfo> entries;
  std::vector<std::string> targets;          // "x86_64 bitcode"
  std::vector<std::string> architectures{};  // of hosts that it has an image for, sorted
  std::uint64_t size = 0;                    // of the module, in bytes
  std::string needs;                         // "1 core, 1 GPU | 4 cores"; empty: one core
  /// The same, for `LeaseOptions::alternatives`: one at least.
  std::vector<WorkerSize> alternatives{};
  /// What its functions do outside of their calls; empty: calls may be repeated without harm.
  std::vector<std::string> effects{};
  std::string json;  // the gateway's whole answer
};

struct InvokeOptions {
  std::chrono::nanoseconds deadline{0};  // from now, to the result; 0: the gateway's default
  std::string idempotency_key;           // `submit` makes one up when empty
  std::string request_id;                // X-Request-Id, for logs; may be empty
  std::string signature;                 // the call is refused when the entry has another one
  std::string trace_parent;              // W3C traceparent; may be empty
  std::string host_kind{};               // it runs on such a host: "cpu", "gpu", "dpu"; empty: any
  /// On a worker with a GPU ("gpu") or without one ("cores"), where its function may have either;
  /// empty: as the function prefers.
  std::string device{};
  std::string cluster{};  // it runs on a host of this cluster: its batch system's name; empty: any
  /// That it is given, and runs beside: "NAME", "NAME@3" or ids, at most 64.
  std::vector<std::string> data{};
  bool at_most_once = false;  // never started twice, also when its worker is lost
  /// Its output becomes the next version of the data object of this name, and the reply is the
  /// document that describes it (JSON); empty: the output is the reply.
  std::string output_data{};
  /// Of `invoke`: called on its thread, several times a second, while a call lasts longer than a
  /// second; false cancels the call. A call that is watched is stored durably after that second,
  /// and goes on when this process ends.
  std::function<bool(const InvocationStatus& status)> watch{};
};

/// A data object: immutable bytes that functions are given without moving them. See
/// docs/guide/data.md.
struct DataInfo {
  std::string id;             // "d-…"
  std::string name;           // empty: it has none
  std::uint64_t version = 0;  // of the name, from 1
  std::uint64_t size = 0;     // in bytes
  std::string state;          // "sealed", "lost"
  std::string created;        // as the gateway writes times
  std::string expires;        // the same; empty: never
  std::vector<std::string> hosts;
  std::vector<std::string> arriving_at{};  // hosts to which it is being copied
  std::uint32_t copies_wanted = 1;         // at least
  std::string digest{};                    // "sha256:…"; empty: nobody has asked for it yet
  bool durable = false;                    // kept as a file, too
  std::string json;                        // the gateway's whole answer
  /// "climate@3", or the id of one without a name.
  [[nodiscard]] std::string label() const {
    return name.empty() ? id : name + "@" + std::to_string(version);
  }
};

struct DataOptions {
  std::string if_match;                // only when this id is the newest version
  bool only_new = false;               // only when the name is not taken
  std::chrono::seconds expires_in{0};  // 0: never; without a name as the site says
  std::uint32_t copies = 1;            // at least so many are kept, on different hosts
  bool durable = false;                // its executor keeps it as a file, too, beyond its own end
};

struct CopyOptions {
  std::uint32_t copies = 0;  // at least so many are kept from now on; 0: as many as before
  std::string host{};        // one is to be there; empty: wherever there is room
};

/// Puts bytes into the room that it is given, and says how many: not 0 before all are there.
using DataReader = std::function<std::size_t(std::span<std::byte> room)>;
/// Writes all bytes of an object into the memory that it is given, which is zero. What it throws
/// ends the transfer, and nothing is kept.
using DataWriter = std::function<void(std::span<std::byte> room)>;
/// What it throws ends the transfer.
using DataTaker = std::function<void(std::span<const std::byte> bytes)>;

struct DeployOptions {
  std::string if_match;  // deploy only when this is the current version
  /// So many invocations run at once, others wait; 0: as many as there are workers. Not given: as
  /// it was.
  std::optional<unsigned> concurrency{};
  /// What a worker of it has, the best first: "1 gpu | 4 cores" takes a GPU where one is free and
  /// four cores elsewhere. "1 core" as long as nothing was ever given. Empty: as it was.
  std::string needs{};
};

/// Any thread may use one Client at any time; connections are kept and shared. All members throw
/// `orchid::Error`.
class Client {
 public:
  explicit Client(ClientOptions options = {});

  FunctionInfo deploy(std::string_view name, std::span<const std::byte> module,
                      const DeployOptions& options = {});
  FunctionInfo deploy_file(std::string_view name, const std::filesystem::path& module,
                           const DeployOptions& options = {});
  [[nodiscard]] std::vector<FunctionInfo> functions();
  [[nodiscard]] FunctionInfo describe(std::string_view name);
  void remove(std::string_view name);
  /// A worker of yours loads the function ahead of its first call: an idle one, or one more where
  /// nobody else wants its place; or none. Of `calls`, which are to come, `host_kind`, `device`,
  /// `cluster` and `data` count: it is a worker where those would run, and what the data lacks
  /// there is copied. Does not wait for it. Errors: `not_found`, and those of the data.
  void load_ahead(std::string_view name, const InvokeOptions& calls = {});

  /// Calls `function` ("N", "N.E", "N@<version>") with raw bytes and waits for its output.
  Reply invoke(std::string_view function, std::span<const std::byte> input,
               const InvokeOptions& options = {});
  Reply invoke(std::string_view function, std::string_view input,
               const InvokeOptions& options = {});
  /// Hands the call over and returns at once; it is not lost when this process or the gateway ends.
  [[nodiscard]] Invocation submit(std::string_view function, std::span<const std::byte> input,
                                  const InvokeOptions& options = {});
  /// The handle of an invocation whose id is known.
  [[nodiscard]] Invocation invocation(std::string id) const;
  [[nodiscard]] std::vector<InvocationStatus> invocations();

  /// A typed callable. Asks once for the function's signature; Error `signature_mismatch` when F
  /// has other types.
  template <typename F>
  [[nodiscard]] Function<F> function(std::string_view name) {
    return Function<F>(*this, checked_reference(name, values::signature_of<F>()));
  }

  /// Makes a data object of `size` bytes, a new version where the name is taken; `name` empty:
  /// none. It is there when this returns. Errors: `no_capacity` (no executor has room), `conflict`,
  /// `quota`.
  DataInfo put_data(std::string_view name, std::uint64_t size, const DataReader& read,
                    const DataOptions& options = {});
  DataInfo put_data(std::string_view name, std::span<const std::byte> bytes,
                    const DataOptions& options = {});
  /// The same where `write` makes the bytes. On the host of the executor that is to have them they
  /// are written where they will lie, and not copied; elsewhere `write` gets memory of this
  /// program's own, and they are sent.
  DataInfo write_data(std::string_view name, std::uint64_t size, const DataWriter& write,
                      const DataOptions& options = {});
  /// The bytes of an object in this program's memory: on the host of the executor that has it
  /// without a copy, else fetched. Errors: `not_found`, `data_lost`.
  [[nodiscard]] MappedData map_data(std::string_view reference);
  /// `reference`: "NAME", "NAME@3" or an id. Errors: `not_found`, also when no copy is left.
  void get_data(std::string_view reference, const DataTaker& take);
  [[nodiscard]] DataInfo describe_data(std::string_view reference);
  /// The same with its SHA-256. The first time the bytes are read for it, on a host that has them.
  [[nodiscard]] DataInfo digest_data(std::string_view reference);
  [[nodiscard]] std::vector<DataInfo> list_data();
  /// Orders copies, and does not wait for them: `arriving_at` says where they are to be. Errors:
  /// `not_found`, also of a host that keeps no data of yours.
  DataInfo copy_data(std::string_view reference, const CopyOptions& options);
  /// It is kept as a file from now on, too, where an executor has a directory for that (decision
  /// 0047), as `DataOptions::durable` does when it is put: also what a call has made. Returns when
  /// the file is written. It lives so long from now at least; 0: as it did.
  DataInfo keep_data(std::string_view reference,
                     std::chrono::seconds for_at_least = std::chrono::seconds(0));
  /// Of a name without a version all versions.
  void remove_data(std::string_view reference);

  /// Hands a flow over and returns when it is on disk; it goes on when this process or the gateway
  /// ends. Errors: `bad_request` (what is wrong with it, with line and column), `quota`,
  /// `disk_full`, `conflict` (its idempotency key is another flow's).
  SubmittedFlow submit_flow(const FlowSubmission& flow);
  /// The handle of a flow whose id is known.
  [[nodiscard]] SubmittedFlow submitted_flow(std::string id) const;
  /// Newest first.
  [[nodiscard]] std::vector<FlowStatus> submitted_flows();

  /// Workers that this program calls by itself (orchid/lease.h). Returns when enough of them are
  /// connected. Errors: `no_capacity`, `quota`, `unsupported` (no lane leads to them from here).
  [[nodiscard]] Lease lease(const LeaseOptions& options = {});

  /// Memory of an executor, of zero pages, that this program alone reads and writes
  /// (orchid/memory.h). Kept as long as a handle of it lives. Errors: `no_capacity` (no executor
  /// has room for it), `quota`, `unreachable`, `unsupported`.
  [[nodiscard]] RemoteMemory memory(const MemoryOptions& options);
  /// The memory of a lease that another program of the same user keeps, when that does not use it
  /// now. Errors: `not_found`, `unreachable` (also when somebody uses it).
  [[nodiscard]] RemoteMemory attach_memory(std::string_view lease,
                                           const MemoryOptions& options = {});

  /// Memory without a connection, for other programs of the same user to attach to. It lasts for
  /// `options.duration` unless it is kept. Errors: as of `memory`.
  [[nodiscard]] MemoryInfo reserve_memory(const MemoryOptions& options);
  /// It lasts so long from now on. Error `not_found`.
  void keep_memory(std::string_view lease, std::chrono::milliseconds duration);

  /// Workers on this host that send calls on to each other (orchid/crew.h): all of them or none.
  /// Returns when they are connected. Errors: as `lease`.
  [[nodiscard]] Crew crew(const CrewOptions& options = {});

  /// Gives back a lease of another program of the same user. Error `not_found`.
  void release_lease(std::string_view id);

  /// A link to the gateway's page for people, which logs one browser in as the user whom this
  /// client is, once, and within a minute. `address`: where that browser finds the gateway
  /// ("http://localhost:8080"); empty: as this client does, or else as the gateway says.
  [[nodiscard]] std::string make_page_link(std::string_view address = {});

  /// Any JSON document of the HTTP API, such as "/v1/limits", as text.
  [[nodiscard]] std::string get(std::string_view path);
  /// Where this client talks to, for messages: "unix:/run/user/1000/orchid/gateway.sock".
  [[nodiscard]] std::string address() const;

 private:
  std::string checked_reference(std::string_view name, std::string_view wanted_signature);
  std::shared_ptr<sdk::Session> session_;  // shared with the handles that this client gives out
  std::shared_ptr<sdk::SharedLeaseThreads> lease_threads_;  // shared with copies of this client
};

// ---- what typed_function.h declares and needs a Client for ----

template <typename R, typename... All, std::size_t Data, typename... Args>
R TypedCalls<R(All...), Data, sdk::Types<Args...>>::call(const InvokeOptions& options,
                                                         Args... args) const {
  if constexpr (Data > 0) sdk::check_data_count(options.data.size(), Data, name_);
  const std::vector<std::byte> input = values::encode_all(std::as_const(args)...);
  InvokeOptions typed = options;
  typed.signature = values::signature_of<R(All...)>();
  return decode_reply<R>(client_.invoke(name_, input, typed), name_);
}

template <typename R, typename... All, std::size_t Data, typename... Args>
R TypedCalls<R(All...), Data, sdk::Types<Args...>>::operator()(Args... args) const
  requires(Data == 0)
{
  return call(InvokeOptions{}, static_cast<Args&&>(args)...);
}

template <typename R, typename... All, std::size_t Data, typename... Args>
Pending<R> TypedCalls<R(All...), Data, sdk::Types<Args...>>::submit_with(
    const InvokeOptions& options, Args... args) const {
  if constexpr (Data > 0) sdk::check_data_count(options.data.size(), Data, name_);
  const std::vector<std::byte> input = values::encode_all(std::as_const(args)...);
  InvokeOptions typed = options;
  typed.signature = values::signature_of<R(All...)>();
  return Pending<R>(client_.submit(name_, input, typed), name_);
}

template <typename R, typename... All, std::size_t Data, typename... Args>
Pending<R> TypedCalls<R(All...), Data, sdk::Types<Args...>>::submit(Args... args) const
  requires(Data == 0)
{
  return submit_with(InvokeOptions{}, static_cast<Args&&>(args)...);
}

}  // namespace orchid
