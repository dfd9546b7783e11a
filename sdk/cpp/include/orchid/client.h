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

#include "orchid/error.h"
#include "orchid/invocation.h"
#include "orchid/lease.h"
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
  std::string json;  // the gateway's whole answer
};

struct InvokeOptions {
  std::chrono::nanoseconds deadline{0};  // from now, to the result; 0: the gateway's default
  std::string idempotency_key;           // `submit` makes one up when empty
  std::string request_id;                // X-Request-Id, for logs; may be empty
  std::string signature;                 // the call is refused when the entry has another one
  std::string trace_parent;              // W3C traceparent; may be empty
  std::string host_kind{};               // it runs on such a host: "cpu", "gpu", "dpu"; empty: any
  /// That it is given, and runs beside: "NAME", "NAME@3" or ids, at most 64.
  std::vector<std::string> data{};
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
  std::string json;  // the gateway's whole answer
  /// "climate@3", or the id of one without a name.
  [[nodiscard]] std::string label() const {
    return name.empty() ? id : name + "@" + std::to_string(version);
  }
};

struct DataOptions {
  std::string if_match;                // only when this id is the newest version
  bool only_new = false;               // only when the name is not taken
  std::chrono::seconds expires_in{0};  // 0: never; without a name as the site says
};

/// Puts bytes into the room that it is given, and says how many: not 0 before all are there.
using DataReader = std::function<std::size_t(std::span<std::byte> room)>;
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
  /// `reference`: "NAME", "NAME@3" or an id. Errors: `not_found`, also when no copy is left.
  void get_data(std::string_view reference, const DataTaker& take);
  [[nodiscard]] DataInfo describe_data(std::string_view reference);
  [[nodiscard]] std::vector<DataInfo> list_data();
  /// Of a name without a version all versions.
  void remove_data(std::string_view reference);

  /// Workers that this program calls by itself (orchid/lease.h). Returns when enough of them are
  /// connected. Errors: `no_capacity`, `quota`, `unsupported` (no lane leads to them from here).
  [[nodiscard]] Lease lease(const LeaseOptions& options = {});

  /// Gives back a lease of another program of the same user. Error `not_found`.
  void release_lease(std::string_view id);

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

template <typename R, typename... Args>
R Function<R(Args...)>::call(const InvokeOptions& options, Args... args) const {
  const std::vector<std::byte> input = values::encode_all(std::as_const(args)...);
  InvokeOptions typed = options;
  typed.signature = values::signature_of<R(Args...)>();
  return decode_reply<R>(client_.invoke(name_, input, typed), name_);
}

template <typename R, typename... Args>
R Function<R(Args...)>::operator()(Args... args) const {
  return call(InvokeOptions{}, static_cast<Args&&>(args)...);
}

template <typename R, typename... Args>
Pending<R> Function<R(Args...)>::submit(Args... args) const {
  const std::vector<std::byte> input = values::encode_all(std::as_const(args)...);
  InvokeOptions typed;
  typed.signature = values::signature_of<R(Args...)>();
  return Pending<R>(client_.submit(name_, input, typed), name_);
}

}  // namespace orchid
