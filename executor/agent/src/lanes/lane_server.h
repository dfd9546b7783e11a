// lanes/lane_server.h: where clients claim the workers of their leases: a Unix socket, and a TCP
// port for clients of other hosts.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "lanes/lane_session.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class LaneServer {
 public:
  /// How often running calls are looked at: deadlines are kept to about this.
  static constexpr std::chrono::milliseconds watch_interval{10};
  /// And how often workers that sleep are.
  static constexpr std::chrono::milliseconds sleep_interval{20};

  /// Connections from other hosts that have claimed nothing yet; more are cut off.
  static constexpr std::size_t strangers = 64;

  /// `remote`: a listening TCP socket; may be empty.
  LaneServer(LaneServices& services, UniqueFd listener, UniqueFd remote);
  /// Ends the sessions of that lease.
  void revoke(const LeaseId& lease, const Failure& why);
  void revoke_all(const Failure& why);
  /// The cores of that lease's workers are taken back.
  void evict(const LeaseId& lease);
  /// An object was dropped: workers that have it mapped unmap it.
  void drop_data(const DataId& data);
  /// All workers' cores are taken back, and nobody is admitted any more.
  void evict_all();
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }
  /// Whose worker that is; null: nobody's.
  [[nodiscard]] std::shared_ptr<LaneSession> session_of(std::uint64_t worker) const;
  /// As LaneSession has it. Errors: also `unreachable`: the worker has no client now.
  void locate_data(std::uint64_t worker, const std::string& data,
                   ClientQuestions<std::uint32_t>::Told told) const;
  /// Of the members of that crew.
  [[nodiscard]] std::vector<std::shared_ptr<LaneSession>> sessions_of(const LeaseId& crew) const;
  /// Workers of one module each that slept at the last look, and what they keep.
  struct Sleepers {
    std::uint64_t count = 0;
    ByteCount memory;
  };
  [[nodiscard]] const Sleepers& sleepers() const { return sleepers_; }

 private:
  enum class Door { local, remote };
  void accept(Door door);
  void admit(UniqueFd socket);
  void admit_remote(UniqueFd socket);
  [[nodiscard]] std::shared_ptr<LaneSession> make_session(std::optional<uid_t> uid);
  void watch();
  void look_at_sleepers(MonotonicTime now);
  [[nodiscard]] Sleepers look_at_place(std::span<LaneSession* const> place, MonotonicTime now);

  LaneServices& services_;
  CrewBook crews_;
  boost::asio::posix::stream_descriptor listener_;
  boost::asio::posix::stream_descriptor remote_;
  boost::asio::steady_timer timer_;
  bool watching_ = false;
  bool closed_ = false;
  MonotonicTime slept_at_;  // when the sleepers were looked at
  Sleepers sleepers_;
  std::unordered_set<std::shared_ptr<LaneSession>> sessions_;
};

/// For DataOfCalls::ask_crews. `lanes` outlives it.
[[nodiscard]] inline auto crews_of(const LaneServer& lanes) {
  return [&lanes](std::uint64_t worker, const std::string& data,
                  ClientQuestions<std::uint32_t>::Told told) {
    lanes.locate_data(worker, data, std::move(told));
  };
}

}  // namespace orchid::executor
