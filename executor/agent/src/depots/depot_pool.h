// depots/depot_pool.h: the depots of this executor: one for each tenant that needs one.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "children/child_watch.h"
#include "depots/depot.h"
#include "foundation/unique_fd.h"
#include "protocol/lease_tenant.h"

namespace orchid::executor {

/// Owned by the agent's thread. It never reads what workers send.
class DepotPool {
 public:
  struct Handlers {
    /// A worker of that depot's tenant asks for something: `Depot::answer` follows.
    std::function<void(Depot&, const DepotAsked&)> asked;
    std::function<void(std::uint64_t worker)> nonsense;
    std::function<void(std::uint64_t worker)> unserved;
  };
  DepotPool(boost::asio::io_context& io, ChildWatch& children, Depot::Options options)
      : io_(io), children_(children), options_(std::move(options)) {}
  /// Before a worker is taken.
  void set_handlers(Handlers handlers) { handlers_ = std::move(handlers); }

  /// The worker is that tenant's from now on. `socket`: the depot's end of its service socket.
  /// Nothing is started before the worker sends something.
  void take(std::uint64_t worker, UniqueFd socket, const LeaseTenant& tenant);
  /// It has ended.
  void leave(std::uint64_t worker);
  /// The tenant's, which is started when it is given a worker or business.
  [[nodiscard]] Depot& of(const LeaseTenant& tenant);
  /// Null: there is none now.
  [[nodiscard]] Depot* find(std::uint32_t uid) const;
  [[nodiscard]] std::size_t size() const { return depots_.size(); }
  /// Ends the processes; none is started any more.
  void stop();

 private:
  /// A worker that has not sent anything yet.
  struct Quiet {
    boost::asio::posix::stream_descriptor socket;
    LeaseTenant tenant;
  };
  void spoke(std::uint64_t worker);

  boost::asio::io_context& io_;
  ChildWatch& children_;
  Depot::Options options_;
  Handlers handlers_;
  std::map<std::uint32_t, std::unique_ptr<Depot>> depots_;  // by uid
  std::unordered_map<std::uint64_t, Quiet> quiet_;
  std::unordered_map<std::uint64_t, std::uint32_t> served_;  // uid by worker
  bool stopped_ = false;
};

}  // namespace orchid::executor
