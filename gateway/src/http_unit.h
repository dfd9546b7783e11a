// http_unit.h: everything that belongs to one HTTP thread, built together.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <span>
#include <vector>

#include "config/config.h"
#include "dispatcher/dispatch_counts.h"
#include "dispatcher/dispatchers_by_tenant.h"
#include "flows/flow_process.h"
#include "foundation/posts_together.h"
#include "foundation/task.h"
#include "http/routes.h"
#include "invocations/following_runner.h"
#include "invocations/keeping_runner.h"
#include "invocations/limited_runner.h"
#include "invocations/sync_calls.h"
#include "leases/broker_supply.h"
#include "server/http_thread.h"

namespace orchid::gateway {

/// Built by the main thread in two steps: the dispatchers first, since the control thread's objects
/// need them; then the rest. Runs on its HTTP thread, and is destroyed by the main thread after
/// that has ended.
class HttpUnit {
 public:
  /// What HTTP threads share: owned by the gateway, outlives them.
  struct Shared {
    const Config& config;
    const Clock& clock;
    const TokenBook& tokens;
    AsyncInvocations& async;
    Poster control;
    CookieJudge by_cookie;
  };
  /// `worker_idle_time`: a worker that no call has used for so long is given back.
  HttpUnit(std::size_t index, const Clock& clock, BrokerSupply& supply,
           std::chrono::milliseconds worker_idle_time);
  void complete(const Shared& shared, std::span<const MakeRoutes> routes);

  [[nodiscard]] boost::asio::io_context& io() { return io_; }
  [[nodiscard]] Poster poster() { return poster_; }
  [[nodiscard]] CallRunner& runner() { return keeping_; }
  /// Both before the first call.
  void keep_outputs(OutputKeeper keep) { keeping_.set_keeper(std::move(keep)); }
  void find_data(FollowingRunner::Find find) { following_.set_find(std::move(find)); }
  [[nodiscard]] DispatchersByTenant& dispatchers() { return dispatchers_; }
  /// Any thread.
  [[nodiscard]] const DispatchCounts& dispatch_counts() const { return dispatch_counts_; }
  /// Ends what still waits or runs with `cancelled`, and gives the workers back.
  void stop_calls();
  [[nodiscard]] SyncCalls& calls() { return *calls_; }
  [[nodiscard]] HttpThread& thread() { return *thread_; }
  /// The thread's body, up to the end of the drain.
  void run();

 private:
  std::size_t index_;
  boost::asio::io_context io_{1};  // one thread runs it
  Poster poster_ =
      PostsTogether::together([this](Task task) { boost::asio::post(io_, std::move(task)); });
  DispatchCounts dispatch_counts_;
  DispatchersByTenant dispatchers_;
  FollowingRunner following_;
  LimitedRunner limited_;
  KeepingRunner keeping_;
  std::unique_ptr<SyncCalls> calls_;
  std::vector<std::unique_ptr<Routes>> routes_;
  Router router_;
  std::unique_ptr<HttpThread> thread_;
};

/// Connections go to these threads in turn, and whoever is at the other end of one is its tenant.
/// Called on one thread, while all units are there.
[[nodiscard]] TakeFlowConnection give_in_turn(const std::vector<std::unique_ptr<HttpUnit>>& units);

}  // namespace orchid::gateway
