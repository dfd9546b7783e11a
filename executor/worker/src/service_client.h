// worker/service_client.h: what a worker asks its tenant's depot, within a call.
#pragma once
#include <chrono>
#include <cstdint>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/service_messages.h"

namespace orchid::executor {

/// Owned by the worker's thread. One question at a time; the answer is waited for.
class ServiceClient {
 public:
  /// The depot may have to be started, and the gateway to be asked.
  static constexpr std::chrono::seconds patience{30};
  /// `socket`: the worker's end of its service socket, which lives as long as the process.
  explicit ServiceClient(int socket) : socket_(socket) {}

  struct Answer {
    DataId data;
    std::uint64_t bytes = 0;
    UniqueFd file;  // empty: none came
  };
  /// The sequence is given here. Errors: what the depot refuses with; `unreachable`.
  [[nodiscard]] Result<Answer> ask(ServiceRequest request);

 private:
  int socket_;
  std::uint32_t last_ = 0;  // sequence
};

}  // namespace orchid::executor
