// leases/broker_supply.h: the broker's workers for dispatchers.
#pragma once
#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/task.h"
#include "hosts/remote_dispatch.h"
#include "leases/broker_loop.h"
#include "leases/worker_supply.h"

namespace orchid::gateway {

/// Belongs to the control thread, whose io_context it is given; what other threads may call says
/// so, and posts.
class BrokerSupply final : public WorkerSupply, private ActionPerformer {
 public:
  struct Options {
    std::string boot_id;                        // this host's
    std::optional<uid_t> owner = std::nullopt;  // whose gateway this is; nothing: everybody's
    RemoteDispatch::Options dispatch{};         // of the owner
  };
  BrokerSupply(boost::asio::io_context& control, BrokerLoop& loop, Options options);

  /// Any thread. `taker` is called on the thread of `home`, and only while `alive`, which that
  /// thread alone destroys, lives. `worker`: as WorkerBroker::add_dispatcher.
  void add_dispatcher(HolderId id, LeaseTenant tenant, Poster home, WorkerTaker& taker,
                      std::weak_ptr<const void> alive, placement::WorkerRequest worker = {});
  /// Any thread. Its leases are given back.
  void remove_dispatcher(HolderId id);
  void want_workers(HolderId dispatcher, unsigned total) override;  // any thread
  void spare_worker(HolderId dispatcher) override;                  // any thread
  void give_back(HolderId dispatcher, LeaseId lease) override;      // any thread

  /// Control thread: makes its workers reachable ahead of the first call.
  void executor_joined(const Executor& executor);
  /// Control thread: ends the processes.
  void stop();

 private:
  struct Dispatcher {
    uid_t tenant;
    Poster home;
    WorkerTaker* taker;
    std::weak_ptr<const void> alive;
  };
  [[nodiscard]] bool perform(const BrokerAction& action) override;
  template <typename Work>
  void tell(HolderId id, Work work);
  template <typename Work>
  static void tell(const Dispatcher& dispatcher, Work work);
  [[nodiscard]] WorkerGrant reachable(WorkerGrant grant, const Dispatcher& dispatcher);
  [[nodiscard]] RemoteDispatch& dispatch_of(uid_t tenant);
  void forget_dispatcher(HolderId id);

  boost::asio::io_context& control_;
  BrokerLoop& loop_;
  Options options_;
  /// One for each tenant, since it speaks UCX with what runs that tenant's code; by uid.
  std::map<uid_t, std::unique_ptr<RemoteDispatch>> dispatch_;
  std::map<HolderId, Dispatcher> dispatchers_;
};

}  // namespace orchid::gateway
