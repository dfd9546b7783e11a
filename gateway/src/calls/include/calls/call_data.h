// calls/call_data.h: the data objects that a call is given.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "placement/grant.h"
#include "placement/worker_request.h"
#include "protocol/data_id.h"

namespace orchid::gateway {

/// As the names stood when the call was accepted. Immutable.
struct CallData {
  std::vector<DataId> ids;          // in the order of the call; 1 to `limits::data_per_call`
  std::vector<std::string> labels;  // for people: "climate@3"; one for each
  placement::GrantId at;            // of the executor that has them
  std::string host;                 // its name
  /// While it lives, newer versions of their names do not make them go. Destroyed on any thread.
  std::shared_ptr<const void> keeper = nullptr;
  std::string waits_for{};  // for people: what it has yet to get; empty: it has all
  std::uint64_t as_of = 0;  // the finder's `changes` when it was looked up
};

/// "d-…,d-…": what CallDataFinder reads. Empty for none.
[[nodiscard]] std::string to_string(const std::shared_ptr<const CallData>& data);

/// What the header field Orchid-Data names for a tenant, which is kept for as long as the answer
/// lives. On the control thread. Errors:
/// `bad_request`, `not_found`, `data_lost`, `data_elsewhere`; `unreachable`: it may be there later.
struct CallDataFinder {
  using Found = Result<std::shared_ptr<const CallData>>;
  /// Now. What is not where the call is to run is on its way there: see `waits_for`. `worker`: that
  /// the call needs; an executor that could never give one is not where it runs, whatever it has.
  std::function<Found(uid_t tenant, std::string_view names, const placement::WorkerRequest& worker)>
      find{};
  struct Wait {
    uid_t tenant = 0;
    std::string names{};
    placement::WorkerRequest worker{};
    MonotonicTime deadline{};
    /// Set by whoever has the client; null: it does not matter whether that is there.
    std::shared_ptr<const std::atomic<bool>> client_gone = nullptr;
  };
  /// Once all is where the call is to run. `timed_out`: that was not by the deadline; `cancelled`:
  /// the client has gone. Calls `done` once, perhaps at once.
  std::function<void(Wait wait, std::function<void(Found)> done)> gather{};
  /// Grows whenever another answer may be due for the same question, before anybody is told of the
  /// reason. May be read on any thread; null: every answer is due anew.
  const std::atomic<std::uint64_t>* changes = nullptr;
};

}  // namespace orchid::gateway
