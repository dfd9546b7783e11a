// worker/service_client.h: what a worker asks its tenant's depot, within a call.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/service_messages.h"

namespace orchid::executor {

/// Owned by the worker's thread. One question at a time; the answer is waited for.
class ServiceClient {
 public:
  /// The depot may have to be started, and the gateway to be asked.
  static constexpr std::chrono::seconds patience{30};
  /// A compiler has 30 s of processor time, and others may want the cores.
  static constexpr std::chrono::seconds patience_for_compiler{120};
  /// To publish, the gateway has to answer only; the agent gives it five seconds.
  static constexpr std::chrono::seconds patience_at_end{8};
  /// `socket`: the worker's end of its service socket, which lives as long as the process.
  /// `stopped`: whether the running call is to stop: then nothing more is waited for, but for what
  /// ends the call.
  explicit ServiceClient(
      int socket, std::function<bool()> stopped = [] { return false; })
      : socket_(socket), stopped_(std::move(stopped)) {}

  struct Answer {
    DataId data;
    std::uint64_t bytes = 0;
    std::string message;
    UniqueFd file;  // empty: none came
  };
  /// The sequence is given here. Errors: what the depot refuses with; `unreachable`; `cancelled`:
  /// the call is to stop.
  [[nodiscard]] Result<Answer> ask(ServiceRequest request);
  /// An answer was not waited for. The depot may still be at that, and nothing else can be asked:
  /// this worker is of no use to calls that ask for something.
  [[nodiscard]] bool has_given_up() const { return given_up_; }

 private:
  int socket_;
  std::function<bool()> stopped_;
  bool given_up_ = false;
  std::uint32_t last_ = 0;  // sequence
};

}  // namespace orchid::executor
