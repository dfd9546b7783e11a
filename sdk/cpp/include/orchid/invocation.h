// orchid/invocation.h: a call that was handed to Orchid, and what came of it.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orchid {

namespace sdk {
class Session;
}

/// Where the time of a call went, in the order in which it passes. A part that did not happen is
/// zero. The parts of a call through the gateway add up to its total.
struct CallTiming {
  std::chrono::nanoseconds connect{0};  // to the gateway; a kept connection costs nothing
  std::chrono::nanoseconds send{0};     // the request, until its last byte has left
  std::chrono::nanoseconds queue{0};    // waiting for a free worker
  std::chrono::nanoseconds place{0};    // getting a lease and a lane
  std::chrono::nanoseconds compile{0};
  std::chrono::nanoseconds link{0};
  std::chrono::nanoseconds run{0};      // inside the function
  std::chrono::nanoseconds wait{0};     // for the answer's first byte, beside all of these
  std::chrono::nanoseconds receive{0};  // the answer, from its first byte to its last
  std::chrono::nanoseconds total{0};    // as this process saw it, the network included
};

/// A step of a call of a crew: what ran where.
struct CallStep {
  unsigned member = 0;
  std::string entry;
  std::chrono::nanoseconds run{0};
};

/// The result of a call that went well.
struct Reply {
  std::vector<std::byte> output;
  std::string invocation;  // its id
  CallTiming timing;
  std::vector<CallStep> path{};  // of a call of a crew that was to be traced, and its children
  std::string node{};            // on which it ran, of a call through the gateway; empty: not told
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(output.data()), output.size()};
  }
};

struct InvocationStatus {
  std::string id;
  std::string function;
  std::string state;    // "queued", "running", "done"
  std::string outcome;  // once finished: "ok", or what went wrong
  std::string message;  // why it was not ok
  std::string node;
  unsigned attempt = 0;
  std::string json;                  // the gateway's whole answer
  std::optional<double> progress{};  // from 0 to 1, as a running function tells it
  [[nodiscard]] bool finished() const { return !outcome.empty(); }
};

/// What a call has printed and logged.
struct InvocationLog {
  std::string text;
  std::uint64_t dropped = 0;  // bytes that followed and were not kept: a log has a limit
};

/// A handle to a call that runs on without it. A cheap value; any thread. All members throw
/// `orchid::Error`.
class Invocation {
 public:
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] InvocationStatus status() const;
  /// Waits until it is finished or `timeout` has passed, and says how it stands then.
  [[nodiscard]] InvocationStatus wait(std::chrono::milliseconds timeout) const;
  /// Waits until it is finished; its output, or an Error that says why there is none. Error
  /// `timed_out`: still going after `timeout`.
  [[nodiscard]] Reply output(std::chrono::milliseconds timeout = std::chrono::hours(24)) const;
  /// So far.
  [[nodiscard]] InvocationLog log() const;
  /// Asks for a stop. Cancelling what is finished changes nothing.
  void cancel() const;

 private:
  friend class Client;
  Invocation(std::shared_ptr<sdk::Session> session, std::string id)
      : session_(std::move(session)), id_(std::move(id)) {}
  std::shared_ptr<sdk::Session> session_;  // shared: a handle may outlive its client
  std::string id_;
};

}  // namespace orchid
