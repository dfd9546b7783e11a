// calls/call.h: one call on its way through the gateway, and what came of it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calls/call_counts.h"
#include "calls/call_data.h"
#include "calls/concurrency_gate.h"
#include "calls/function_needs.h"
#include "calls/module_hosts.h"
#include "calls/worker_for.h"
#include "foundation/clock.h"
#include "foundation/unique_fd.h"
#include "module/manifest.h"
#include "placement/call_device.h"
#include "placement/host.h"
#include "protocol/lease_id.h"
#include "protocol/outcome.h"
#include "protocol/running_log.h"

namespace orchid::gateway {

/// One deployed version of a function. Immutable, shared by all calls that run it: a running call
/// keeps its version.
struct FunctionVersion {
  std::string function;
  std::string digest;
  module::Manifest manifest;
  UniqueFd module;           // a sealed memory file
  mutable CallCounts calls;  // changes
  /// Of the function, shared by its versions; may be null. Changes.
  std::shared_ptr<ConcurrencyGate> gate = nullptr;
  /// Likewise; null: one core.
  std::shared_ptr<FunctionNeeds> needs = nullptr;
  ModuleHosts hosts{};  // of the manifest

  /// What its workers have now; null: one core. Any thread.
  [[nodiscard]] std::shared_ptr<const WorkerNeeds> worker_needs() const {
    return needs != nullptr ? needs->get() : nullptr;
  }
};

/// Bytes and what keeps them alive: a vector, or a buffer of a lane.
struct Payload {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keeper;
  [[nodiscard]] static Payload of(std::vector<std::byte> content) {
    auto owned = std::make_shared<const std::vector<std::byte>>(std::move(content));
    return {*owned, owned};
  }
};

struct Call {
  std::string invocation;  // its id
  uid_t tenant = 0;        // whose
  std::shared_ptr<const FunctionVersion> version;
  std::uint16_t entry = 0;  // index in the manifest's sorted entries
  Payload input;
  MonotonicTime accepted;
  MonotonicTime deadline;
  bool at_most_once = false;
  bool is_asynchronous = false;  // its queue takes it back when it finds no worker
  std::optional<placement::HostKind> kind = std::nullopt;      // of its host; nothing: any
  std::optional<placement::CallDevice> device = std::nullopt;  // nothing: as its function prefers
  std::string cluster = {};                                    // of its host; empty: any
  std::shared_ptr<const CallData> data = nullptr;              // that it is given; null: none
  std::string output_data = {};            // the data that its output becomes, by name; empty: none
  ConcurrencyGate::Place place = nullptr;  // at the function's gate; null: not yet, or no limit
};

/// Where the time went; each part is zero when it did not happen. Sums to the whole less what HTTP
/// took.
struct CallTimings {
  std::chrono::microseconds queue{0};  // waiting for a free worker
  std::chrono::microseconds place{0};  // getting a lease and a lane
  std::chrono::microseconds compile{0};
  std::chrono::microseconds link{0};
  std::chrono::nanoseconds run{0};        // inside the function
  bool quick_code = false;                // which ran before the best code for the host was there
  std::chrono::microseconds transfer{0};  // before all that: until its data was where it ran
};

struct CallResult {
  Outcome outcome = Outcome::ok;
  std::optional<ErrorCode>
      refused{};         // why it was not run, where the outcome alone says too little
  std::string message;   // one line: why it was not ok
  std::string node;      // host name; empty: it never reached one
  LeaseId lease;         // of its worker; without a node: the one that was refused, which says why
  unsigned attempt = 0;  // 1: the first try
  Payload output;
  /// Its output became this data object, "ID NAME@VERSION", and `output` is the document that
  /// describes it; empty: it did not.
  std::string kept_as;
  std::string log;
  std::uint64_t log_dropped = 0;
  CallTimings timings;
};

/// Called once, on the runner's thread.
using CallDone = std::function<void(CallResult)>;

/// Runs calls on workers. One for each HTTP thread, owned by it; all functions are called on that
/// thread.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  /// Always ends with `done`, at the latest 1 s after the call's deadline. Never blocks; may call
  /// `done` before it returns.
  virtual void start(Call call, CallDone done) = 0;
  /// Calls of this version are likely to come: an idle worker, if there is one, loads it ahead.
  virtual void expect(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version) = 0;
  /// The same of calls that come soon, and may run at such a place: where no worker is idle one is
  /// taken for them, if there is room for it that nobody else wants.
  virtual void warm(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version,
                    const CallPlace& place) = 0;
  /// Asks for a stop; `done` follows with `cancelled`, or with what happened first.
  virtual void cancel(const std::string& invocation) = 0;
  /// The log of a running call so far; empty when it is not running here.
  [[nodiscard]] virtual RunningLog running_log(const std::string& invocation) const = 0;
  /// How far a running call says it is, from 0 to 1; nothing when it has not said, or does not run
  /// here.
  [[nodiscard]] virtual std::optional<double> running_progress(
      const std::string& invocation) const = 0;
  /// Takes what has arrived; true when something had. The thread calls it between rounds of its
  /// event loop.
  virtual bool poll() = 0;
  /// True when an answer is likely within microseconds, so that the thread should poll on rather
  /// than sleep.
  [[nodiscard]] virtual bool expects_answer_soon() const = 0;
  /// Before the thread blocks in its event loop: false when something has arrived meanwhile. After:
  /// `finish_sleep`.
  [[nodiscard]] virtual bool prepare_to_sleep() = 0;
  virtual void finish_sleep() = 0;
};

}  // namespace orchid::gateway
