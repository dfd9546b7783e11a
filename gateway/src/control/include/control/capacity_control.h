// control/capacity_control.h: the control thread's part in running calls: executors come in at its
// gate, dispatchers get workers from its broker.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "clusters/clusters.h"
#include "foundation/clock.h"
#include "hosts/executor_gate.h"
#include "hosts/remote_dispatch.h"
#include "leases/client_leases.h"
#include "leases/worker_broker.h"
#include "leases/worker_supply.h"
#include "reports/host_report.h"

namespace orchid::gateway {

class HostsDocument;

/// Belongs to the control thread, whose io_context it is given; what other threads may call says
/// so, and posts. Made before the threads run, destroyed after they have ended and before the
/// io_contexts.
class CapacityControl final : public WorkerSupply, private ExecutorEvents {
 public:
  struct Options {
    WorkerBroker::Options broker;
    Capacity::Options capacity;      // `knowledge` is set here
    std::size_t client_workers = 0;  // in a user's own leases together; 0: no limit
    RemoteDispatch::Options dispatch;
    std::vector<CapacitySource::Options> sources;
    std::optional<uid_t> owner = std::nullopt;  // whose gateway this is; nothing: everybody's
    std::string gateway{};                      // which one it is, also when it starts anew
  };
  CapacityControl(boost::asio::io_context& control, const Clock& clock, Options options);
  ~CapacityControl() override;

  /// Any thread: a new connection of an executor; see ExecutorGate::accept.
  void accept(boost::asio::generic::stream_protocol::socket socket, UpgradeRequest request,
              PeerIdentity identity) {
    gate_.accept(std::move(socket), std::move(request), std::move(identity));
  }

  /// Any thread. `taker` is called on the thread that runs `home`, and only while `alive`, which
  /// that thread alone destroys, lives.
  void add_dispatcher(HolderId id, LeaseTenant tenant, boost::asio::io_context& home,
                      WorkerTaker& taker, std::weak_ptr<const void> alive);
  /// Any thread. Its leases are given back.
  void remove_dispatcher(HolderId id);
  void want_workers(HolderId dispatcher, unsigned total) override;  // any thread
  void give_back(HolderId dispatcher, LeaseId lease) override;      // any thread

  // Any thread; what is asked for is handed over on the thread that runs `reply_to`.
  /// What GET /v1/hosts says.
  void report_hosts(HostsAsked asked, boost::asio::io_context& reply_to,
                    std::function<void(std::string)> done);
  /// What GET /v1/demand says.
  void report_demand(boost::asio::io_context& reply_to, std::function<void(std::string)> done);
  /// What GET /v1/leases/ID/placement says. Errors: `not_found`.
  void explain(uid_t tenant, LeaseId lease, boost::asio::io_context& reply_to,
               std::function<void(Result<std::string>)> done);
  /// What GET /v1/placement says.
  void consider(WorkerTerms terms, boost::asio::io_context& reply_to,
                std::function<void(std::string)> done);
  // Clients' leases. Any thread; each answer comes on the thread that runs `reply_to`.
  void open_lease(ClientLeaseRequest request, boost::asio::io_context& reply_to,
                  ClientLeases::Opened done);
  /// `work` is called on the control thread, its result handed to `done`.
  template <typename Answer>
  void with_leases(std::function<Answer(ClientLeases&, MonotonicTime)> work,
                   boost::asio::io_context& reply_to, std::function<void(Answer)> done);

  /// Control thread: whether an executor is connected that could give workers.
  [[nodiscard]] bool has_executor() const { return broker_.has_supply(); }
  [[nodiscard]] std::size_t executors_connected() const { return broker_.hosts().connected(); }
  /// Control thread: the capacity sources' part of /metrics.
  [[nodiscard]] std::string metrics() const;
  /// Any thread: closes the executors' connections and calls `done` on the control thread.
  /// Executors keep running and dial again.
  void stop(std::function<void()> done);

 private:
  struct Dispatcher {
    uid_t tenant;
    boost::asio::io_context* home;
    WorkerTaker* taker;
    std::weak_ptr<const void> alive;
  };
  void on_control(std::function<void()> work);
  template <typename Work>
  void on_dispatcher(const Dispatcher& dispatcher, Work work);
  void perform();
  void perform_one(const BrokerAction& action);
  [[nodiscard]] bool tell_client(const BrokerAction& action);
  [[nodiscard]] WorkerGrant reachable(WorkerGrant grant, const Dispatcher& dispatcher);
  [[nodiscard]] RemoteDispatch& dispatch_of(uid_t tenant);
  void forget_dispatcher(HolderId id);
  void tick();
  void clusters_changed(const TouchedNodes& nodes);
  [[nodiscard]] nlohmann::json demand() const;
  void go_on_with(std::shared_ptr<HostsDocument> document, boost::asio::io_context& reply_to,
                  std::function<void(std::string)> done);

  void executor_joined(const ControlHello& hello, const PeerIdentity& identity) override;
  void executor_resumed(const ExecutorId& id) override;
  void executor_lost(const ExecutorId& id) override;
  void executor_said(const ExecutorId& id, const ControlMessage& message) override;

  boost::asio::io_context& control_;
  const Clock& clock_;
  Clusters clusters_;
  WorkerBroker broker_;
  ClientLeases clients_;
  std::string boot_id_;
  std::optional<uid_t> owner_;
  RemoteDispatch::Options dispatch_options_;
  /// One for each tenant, since it speaks UCX with what runs that tenant's code; by uid.
  std::map<uid_t, std::unique_ptr<RemoteDispatch>> dispatch_;
  ExecutorGate gate_;
  boost::asio::steady_timer timer_;
  std::map<HolderId, Dispatcher> dispatchers_;
  bool stopped_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell posted work whether we are still here
};

template <typename Answer>
void CapacityControl::with_leases(std::function<Answer(ClientLeases&, MonotonicTime)> work,
                                  boost::asio::io_context& reply_to,
                                  std::function<void(Answer)> done) {
  on_control([this, work = std::move(work), &reply_to, done = std::move(done)]() mutable {
    boost::asio::post(reply_to, [done = std::move(done), answer = work(clients_, clock_.now())] {
      done(answer);
    });
  });
}

}  // namespace orchid::gateway
