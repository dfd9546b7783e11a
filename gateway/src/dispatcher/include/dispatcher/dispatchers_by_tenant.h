// dispatcher/dispatchers_by_tenant.h: a dispatcher for each tenant whose calls run on an HTTP
// thread, since a worker is one tenant's alone; and one more for each set of hosts that can run
// them, for each executor that has the data of some, and for each need of functions other than one
// core. So calls wait for such places alone as they may have, and nobody's call waits behind one
// that needs another place.
#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "calls/call.h"
#include "calls/worker_for.h"
#include "dispatcher/dispatcher.h"
#include "foundation/clock.h"
#include "leases/worker_supply.h"

namespace orchid::gateway {

/// Owned by its HTTP thread, as the io_context is; `add_owner` is called before that runs.
class DispatchersByTenant final : public CallRunner {
 public:
  struct Options {
    uid_t owner = 0;           // of the gateway: has a dispatcher from the start to the end
    ModuleHosts usual{};       // of the modules that the owner calls most likely
    std::uint64_t thread = 0;  // which of the HTTP threads this is, from 0; below `most_threads`
    Dispatcher::Options each;  // `id` is given by this class
    /// Of another tenant's, without calls and workers: then it goes.
    std::chrono::milliseconds forget_after{120'000};
  };
  /// How a dispatcher comes to be known to the supply, and is forgotten there.
  struct Registry {
    /// `worker`: what each of its workers has, and constraints on its host.
    std::function<void(HolderId, uid_t tenant, placement::WorkerRequest worker, Dispatcher&)> add;
    std::function<void(HolderId)> remove;
  };
  static constexpr std::uint64_t most_threads = 64;

  /// `clock` and `supply` outlive it.
  DispatchersByTenant(boost::asio::io_context& io, const Clock& clock, WorkerSupply& supply,
                      Registry registry, Options options);
  DispatchersByTenant(const DispatchersByTenant&) = delete;
  DispatchersByTenant& operator=(const DispatchersByTenant&) = delete;
  void add_owner() { (void)of({options_.owner, {}, options_.usual}, nullptr); }

  void start(Call call, CallDone done) override;
  void expect(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version) override;
  void warm(uid_t tenant, const std::shared_ptr<const FunctionVersion>& version,
            const CallPlace& place) override;
  void cancel(const std::string& invocation) override;
  [[nodiscard]] RunningLog running_log(const std::string& invocation) const override;
  [[nodiscard]] std::optional<double> running_progress(
      const std::string& invocation) const override;
  bool poll() override;
  [[nodiscard]] bool expects_answer_soon() const override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void finish_sleep() override;

  /// Forgets tenants that have gone, and needs that no function has any more. To be called now and
  /// then, outside of what it calls back.
  void sweep();
  /// As Dispatcher::stop, of all.
  void stop();
  [[nodiscard]] std::size_t live_calls() const;
  [[nodiscard]] std::size_t dispatchers() const { return dispatchers_.size(); }

 private:
  /// Of calls that the same workers can run. Borrowed until it is in the map.
  struct KeyView {
    uid_t tenant;
    const CallPlace& place;
    const ModuleHosts& hosts;
    std::uint64_t needs = 0;  // their number; 0: one core
  };
  struct Key {
    uid_t tenant;
    CallPlace place;
    ModuleHosts hosts;
    std::uint64_t needs = 0;
  };
  struct Before {
    using is_transparent = void;
    template <typename Left, typename Right>
    bool operator()(const Left& left, const Right& right) const {
      return std::tie(left.tenant, left.place, left.hosts, left.needs) <
             std::tie(right.tenant, right.place, right.hosts, right.needs);
    }
  };
  struct Entry {
    HolderId id;
    std::shared_ptr<const WorkerNeeds> needs;  // shared with the functions that have them
    std::unique_ptr<Dispatcher> dispatcher;
    MonotonicTime used;  // when it last had calls or workers
  };
  Dispatcher& of(KeyView calls, std::shared_ptr<const WorkerNeeds> needs);

  boost::asio::io_context& io_;
  const Clock& clock_;
  WorkerSupply& supply_;
  Registry registry_;
  Options options_;
  std::map<Key, Entry, Before> dispatchers_;
  std::uint64_t next_ = 0;  // of the dispatchers of this thread
};

}  // namespace orchid::gateway
