// bandwidth/bandwidth_governor.h: measures what the running functions move between memory and
// cores, and holds those that move much for a part of the time (--bandwidth-cap).
#pragma once
#include <time.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "bandwidth/accessed_memory.h"
#include "bandwidth/bandwidth_cap.h"
#include "bandwidth/memory_traffic.h"
#include "workers/worker_pool.h"

namespace orchid::executor {

/// Owned by the agent's thread. Has a thread of its own for walks through a worker's page tables,
/// which take milliseconds: it owns nothing but the walk it is at, and blocks on the memory lock of
/// that worker.
class BandwidthGovernor {
 public:
  struct Options {
    ByteCount per_second;      // of all functions together
    ByteCount cache_per_core;  // of the last level
  };
  /// `counters`: "function_holds" and "functions_measured" are added to.
  BandwidthGovernor(boost::asio::io_context& io, WorkerPool& workers, Options options,
                    std::map<std::string, std::uint64_t>& counters);
  ~BandwidthGovernor();
  BandwidthGovernor(const BandwidthGovernor&) = delete;
  BandwidthGovernor& operator=(const BandwidthGovernor&) = delete;
  void start();
  /// Nobody is held any more.
  void stop();
  /// Holds and measurements so far.
  [[nodiscard]] std::uint64_t actions() const { return actions_; }

 private:
  /// What was seen of a worker at the last look.
  struct Seen {
    clockid_t clock = 0;
    std::chrono::nanoseconds cpu{0};
    std::uint64_t calls = 0;
    bool running = false;
  };
  /// The one measurement that is under way.
  struct Measurement {
    enum class Stage { clearing, touching, reading };
    std::uint64_t number = 0;  // tells late results of the walks from those that are waited for
    std::shared_ptr<WorkerProcess> worker;
    std::string module;
    std::shared_ptr<AccessedMemory> memory;
    clockid_t clock = 0;  // the worker's
    Stage stage = Stage::clearing;
    std::optional<Touched> shortly;
    std::chrono::nanoseconds used{0};  // processor time of the module since everything was cleared
    std::chrono::nanoseconds cost{0};
    MonotonicTime begun;
  };
  struct Walked {
    Result<ByteCount> touched;        // 0 after clearing
    std::chrono::nanoseconds cpu{0};  // of the worker, in the middle of the walk
    std::chrono::nanoseconds took{0};
  };
  void look();
  [[nodiscard]] BandwidthCap::Worker look_at(const WorkerProcess& worker, Seen& seen);
  void consider_measuring(const std::shared_ptr<WorkerProcess>& worker, const std::string* module,
                          const BandwidthCap::Worker& now_seen);
  void begin_measurement(const std::shared_ptr<WorkerProcess>& worker, const std::string& module);
  void go_on_measuring(const BandwidthCap::Worker& seen, const std::string* module);
  void walk(bool clear);
  void walked(const Walked& result);
  void conclude(double rate);
  void give_up_measurement(const std::string& why);

  boost::asio::io_context& io_;
  WorkerPool& workers_;
  Options options_;
  std::map<std::string, std::uint64_t>& counters_;
  BandwidthCap cap_;
  MemoryTraffic traffic_;
  std::unordered_map<std::uint64_t, Seen> seen_;
  std::optional<Measurement> measurement_;
  std::uint64_t measurements_ = 0;
  std::uint64_t actions_ = 0;
  std::chrono::nanoseconds touch_cost_;
  bool stopped_ = false;
  boost::asio::steady_timer timer_;
  boost::asio::thread_pool walker_{1};  // last: its work ends before all else does
};

}  // namespace orchid::executor
