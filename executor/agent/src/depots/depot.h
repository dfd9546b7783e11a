// depots/depot.h: the depot of one tenant: its process, from one to the next, and the workers that
// it serves.
#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "children/own_program.h"
#include "children/time_limit.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "processes/restart_policy.h"
#include "protocol/depot_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. There is a process while there is a worker or some business; one
/// that ends meanwhile is followed by another, which goes on with the same workers: nothing is in a
/// depot that is not here as well.
class Depot {
 public:
  struct Options {
    std::filesystem::path program;
    ByteCount data_limit = 64_MiB;  // of its own memory
    std::chrono::milliseconds start_limit{10'000};
    /// How long it stays when it has nothing to do: a tenant's workers are replaced now and then.
    std::chrono::milliseconds idle_for{5'000};
    SchedulingClass scheduling = SchedulingClass::normal;
  };
  struct Handlers {
    /// A worker that it serves asks for something; `answer` follows, now or later.
    std::function<void(const DepotAsked&)> asked;
    /// The worker broke the rules of its service socket, and is served no more.
    std::function<void(std::uint64_t worker)> nonsense;
    /// The worker could not be sent what it waits for, and is served no more.
    std::function<void(std::uint64_t worker)> unserved;
    /// It had nothing to do, and its process has been reaped. May destroy it.
    std::function<void()> over;
  };
  Depot(boost::asio::io_context& io, ChildWatch& children, const Options& options,
        LeaseTenant tenant, Handlers handlers);
  /// Kills its process.
  ~Depot();
  Depot(const Depot&) = delete;
  Depot& operator=(const Depot&) = delete;

  /// `socket`: the depot's end of the worker's service socket.
  void serve(std::uint64_t worker, UniqueFd socket);
  /// That worker has ended.
  void leave(std::uint64_t worker);
  /// `descriptor`: -1: there is none. One that nobody waits for any more is dropped.
  void answer(const DepotAnswer& answer, int descriptor = -1);
  /// It has something to do for its tenant besides serving workers; once each.
  void begin_business();
  void end_business();
  /// Ends the process; none is started any more.
  void stop();

  [[nodiscard]] const LeaseTenant& tenant() const { return tenant_; }
  /// -1: it has no process now.
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  struct Served {
    UniqueFd socket;
    bool told = false;               // the process that there is has it
    bool before = false;             // one before it had it
    std::set<std::uint32_t> open{};  // sequences of what that process has asked, without an answer
  };
  [[nodiscard]] bool is_needed() const { return !workers_.empty() || business_ != 0; }
  void need();
  void need_no_more();
  void start();
  void start_later();
  void happened(const ChildEvent& event);
  void from_depot(Packet& packet);
  void take_request(const DepotAsked& asked);
  void hand_over(std::uint64_t id, Served& worker);
  void send(const DepotMessage& message, int descriptor = -1);
  void send_waiting();
  void kill();

  boost::asio::io_context& io_;
  ChildWatch& children_;
  const Options& options_;
  LeaseTenant tenant_;
  Handlers handlers_;
  std::map<std::uint64_t, Served> workers_;
  std::size_t business_ = 0;
  std::unique_ptr<PacketChannel> channel_;
  /// What the process that there is has not had room for yet.
  struct Waiting {
    std::string text;
    UniqueFd descriptor;  // empty: none goes with it
  };
  std::deque<Waiting> waiting_;
  pid_t pid_ = -1;
  bool ready_ = false;      // the process is confined
  bool put_down_ = false;   // it had nothing to do, and was killed for that
  bool is_greedy_ = false;  // it asks for more than its workers can have asked, which was logged
  bool stopped_ = false;
  processes::Restarts failures_{child_restarts};
  TimeLimit pause_;  // until the next start
  TimeLimit start_limit_;
  TimeLimit idle_limit_;
};

}  // namespace orchid::executor
