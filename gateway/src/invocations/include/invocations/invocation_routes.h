// invocations/invocation_routes.h: POST /v1/functions/N/invocations: the calls themselves,
// synchronous and asynchronous.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "calls/recent_call_data.h"
#include "foundation/clock.h"
#include "foundation/task.h"
#include "functions/function_table.h"
#include "functions/published.h"
#include "http/routes.h"
#include "invocations/async_invocations.h"
#include "invocations/invocation_options.h"
#include "invocations/sync_calls.h"

namespace orchid::gateway {

/// Owned by its HTTP thread; outlives its router and its connections.
class InvocationRoutes final : public Routes, private ClientWatcher {
 public:
  struct Parts {
    SyncCalls& calls;         // of this thread
    AsyncInvocations& async;  // on the control thread
    Published<FunctionTable>& table;
    const Clock& clock;
    Poster here;
    Poster control;
    CallDataFinder find_data;  // asked on the control thread
    CheckCluster check_cluster;
    InvocationDefaults defaults;
  };
  explicit InvocationRoutes(Parts parts);
  void add_to(Router& router) override;
  void client_gone(std::uint64_t call) override { parts_.calls.caller_gone(call); }

 private:
  /// Calls that wait for data on the control thread: their clients may go. Belongs to the thread of
  /// the routes.
  class DataWaits final : public ClientWatcher {
   public:
    using Sign = std::shared_ptr<std::atomic<bool>>;  // shared with the control thread, which looks
    [[nodiscard]] std::pair<std::uint64_t, Sign> add();
    void remove(std::uint64_t call) { signs_.erase(call); }
    void client_gone(std::uint64_t call) override;

   private:
    std::map<std::uint64_t, Sign> signs_;
    std::uint64_t newest_ = 0;
  };
  struct Accepted {
    ResolvedEntry entry;
    InvocationOptions options;
    bool at_most_once = false;
    MonotonicTime at{};
    std::shared_ptr<const CallData> data = nullptr;
    std::chrono::microseconds transfer{0};
    [[nodiscard]] bool is_stored() const {
      return options.respond_async || options.idempotency_key.has_value();
    }
  };
  void invoke(Request& request, const Reply& reply);
  [[nodiscard]] Result<Accepted> judge(const Request& request);
  void look_for_cluster(Request& request, const Reply& reply, Accepted accepted);
  void go_on(Request& request, const Reply& reply, Accepted accepted);
  void find_data(Request& request, const Reply& reply, Accepted accepted);
  [[nodiscard]] std::chrono::microseconds transfer_since(MonotonicTime at) const;
  void start(Request& request, const Reply& reply, Accepted accepted);
  void run(Request& request, const Reply& reply, Accepted accepted);
  void answer(const Reply& reply, const std::string& function, SyncAnswer result);
  void look_for_lost_data(const Reply& reply, const std::string& function, uid_t tenant,
                          const std::string& data, SyncAnswer result);
  void submit(Request& request, const Reply& reply, Accepted accepted);

  Parts parts_;
  DataWaits data_waits_;
  RecentCallData recent_data_;
  Published<FunctionTable>::Reader table_;
};

/// The answer to a call that ended: its output, or a problem. Shared with those who ask for the
/// output later.
[[nodiscard]] Response outcome_response(const std::string& id, const std::string& function,
                                        CallResult result);
[[nodiscard]] CallResult result_of(const InvocationRecord& record, Payload output);
/// 202: the call goes on.
[[nodiscard]] Response accepted_response(const std::string& id, StoredState state);

}  // namespace orchid::gateway
