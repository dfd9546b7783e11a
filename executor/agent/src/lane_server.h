// agent/lane_server.h: the executor's Unix socket, where clients claim the workers of their leases.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <memory>
#include <unordered_set>

#include "lane_session.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class LaneServer {
 public:
  /// How often running calls are looked at: deadlines are kept to about this.
  static constexpr std::chrono::milliseconds watch_interval{10};

  LaneServer(LaneServices& services, UniqueFd listener);
  /// Ends the sessions of that lease.
  void revoke(const LeaseId& lease, const Failure& why);
  void revoke_all(const Failure& why);
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }

 private:
  void accept();
  void watch();

  LaneServices& services_;
  boost::asio::posix::stream_descriptor listener_;
  boost::asio::steady_timer timer_;
  bool watching_ = false;
  std::unordered_set<std::shared_ptr<LaneSession>> sessions_;
};

}  // namespace orchid::executor
