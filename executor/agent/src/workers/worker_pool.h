// workers/worker_pool.h: pre-forked workers, so that neither a call nor the replacement of a
// crashed worker waits for a fork.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <unordered_map>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "children/own_program.h"
#include "foundation/units.h"
#include "workers/worker_process.h"

namespace orchid::executor {

/// Owned by the agent's thread. Workers come in two kinds: for clients of this host, and for
/// clients of others, whose network connection takes longest to set up.
class WorkerPool {
 public:
  struct Options {
    std::filesystem::path worker_program;
    std::size_t spare = 2;         // workers that are kept ready
    ByteCount data_limit = 4_GiB;  // of each worker
    transport::LaneGeometry geometry;
    std::vector<std::string> readable_paths;
    std::string remote_address;  // the IP address that workers for clients of other hosts listen on
    bool trusted_fabric = false;   // they may use RDMA, and their clients as well
    std::size_t spare_remote = 1;  // such workers that are kept listening, if there is an address
    bool on_gpus = false;          // they are born with a lane to a device process
    std::chrono::milliseconds birth_deadline{5000};
    SchedulingClass scheduling = SchedulingClass::normal;
  };
  using EndHandler = std::function<void(ChildEvent)>;

  WorkerPool(boost::asio::io_context& io, ChildWatch& children, Options options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void start();
  /// No births from now on; ends the zygote and the workers that nobody has taken.
  void stop();
  /// The next ready worker, as soon as there is one; calls back at once if there is one now.
  using Taken = std::function<void(std::shared_ptr<WorkerProcess>)>;
  void take(Taken taken) { take(local_, std::move(taken)); }
  /// A worker that waits for a client of another host, at its `remote_lane`. Without a limit: who
  /// takes it ends it when nobody comes.
  void take_remote(Taken taken) { take(remote_, std::move(taken)); }
  /// Which member of which crew a worker is to be.
  struct CrewBirth {
    CrewPlace place;
    std::shared_ptr<const transport::CrewWires> wires;  // shared by the crew's members
  };
  /// Makes that worker; null: it was not born. Calls back later.
  void bear(CrewBirth birth, Taken taken);
  /// Is called once when that worker's process has ended. Its owner keeps the object as long as it
  /// likes.
  void on_end(const WorkerProcess& worker, EndHandler handler) {
    end_handlers_[worker.id()] = std::move(handler);
  }

  /// Is called with each worker whose process has ended, whoever had it.
  void watch_ends(std::function<void(std::uint64_t worker)> ended) { ended_ = std::move(ended); }

  /// All that have a process now.
  [[nodiscard]] const std::unordered_map<std::uint64_t, std::shared_ptr<WorkerProcess>>& alive()
      const {
    return alive_;
  }
  /// Workers may have peers on other hosts.
  [[nodiscard]] bool takes_remote() const { return !options_.remote_address.empty(); }
  [[nodiscard]] const std::string& remote_address() const { return options_.remote_address; }
  void set_spare(std::size_t spare);
  /// No births while it is paused: there is no core for them. The workers that are there stay.
  void pause(bool paused);
  [[nodiscard]] std::size_t ready() const { return local_.ready.size(); }
  /// Of both kinds as many workers are ready as are kept.
  [[nodiscard]] bool full() const {
    return local_.ready.size() >= options_.spare && remote_.ready.size() >= spare_remote();
  }
  /// Of each worker, when it is born.
  [[nodiscard]] ByteCount data_limit() const { return options_.data_limit; }
  [[nodiscard]] std::uint64_t births() const { return births_; }
  [[nodiscard]] pid_t zygote_pid() const { return zygote_pid_; }

 private:
  struct Unborn {
    std::shared_ptr<WorkerProcess> worker;
    UniqueFd control;  // our end
    std::unique_ptr<boost::asio::steady_timer> deadline;
    bool remote = false;  // for a client of another host
    Taken taken = {};     // who it is made for; empty: nobody in particular
  };
  using Unborns = std::unordered_map<std::uint64_t, Unborn>;
  void start_zygote();
  void zygote_ended(const ChildEvent& event);
  void from_zygote(Packet& packet);
  void from_worker(std::uint64_t id, Packet& packet);
  [[nodiscard]] std::size_t spare_remote() const {
    return options_.remote_address.empty() ? 0 : options_.spare_remote;
  }
  void fill();
  void fill_later();
  [[nodiscard]] Result<void> request_birth(bool remote, const CrewBirth* crew = nullptr,
                                           Taken taken = {});
  void lose_unborn(Unborns::iterator lost);
  static void wire(WorkerProcess& worker);
  [[nodiscard]] Result<void> request_births(bool remote, std::size_t wanted);
  void born(const Born& message, Packet& packet);
  /// Its first taker may have been waiting.
  struct Kind {
    std::deque<std::shared_ptr<WorkerProcess>> ready;
    std::deque<Taken> waiting;
  };
  void ready(Kind& kind, const std::shared_ptr<WorkerProcess>& worker);
  void take(Kind& kind, Taken taken);
  void worker_event(const std::shared_ptr<WorkerProcess>& worker, const ChildEvent& event);
  void retry_later();

  boost::asio::io_context& io_;
  ChildWatch& children_;
  Options options_;
  std::unique_ptr<PacketChannel> zygote_;
  pid_t zygote_pid_ = -1;
  bool zygote_ready_ = false;
  bool stopped_ = false;
  bool paused_ = false;
  processes::Restarts failures_{child_restarts};  // of the zygote and of births
  boost::asio::steady_timer retry_timer_;
  boost::asio::steady_timer fill_timer_;
  bool fills_later_ = false;
  Unborns unborn_;  // asked for, not yet ready
  std::unordered_map<std::uint64_t, std::shared_ptr<WorkerProcess>> alive_;
  Kind local_;
  Kind remote_;
  std::unordered_map<std::uint64_t, EndHandler> end_handlers_;
  std::function<void(std::uint64_t)> ended_;
  std::uint64_t next_id_ = 1;
  std::uint64_t births_ = 0;
};

}  // namespace orchid::executor
