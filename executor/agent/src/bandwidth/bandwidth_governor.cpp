#include "bandwidth/bandwidth_governor.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "foundation/log.h"
#include "protocol/digest.h"

namespace orchid::executor {
namespace {

/// A call that ends before it has run so long is measured with the next ones, but not for ever.
constexpr std::chrono::seconds longest_measurement{2};
constexpr std::chrono::milliseconds measuring_interval{2};

std::chrono::nanoseconds read_clock(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::chrono::nanoseconds(0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

BandwidthGovernor::BandwidthGovernor(boost::asio::io_context& io, WorkerPool& workers,
                                     Options options,
                                     std::map<std::string, std::uint64_t>& counters)
    : io_(io),
      workers_(workers),
      options_(options),
      counters_(counters),
      cap_(static_cast<double>(options.per_second.value)),
      touch_cost_(cost_of_a_touch()),
      timer_(io) {}

BandwidthGovernor::~BandwidthGovernor() {
  walker_.stop();
  walker_.join();
}

void BandwidthGovernor::start() {
  if (const auto works = check_accessed_memory(); !works)
    log::warn("event=bandwidth_cap_without_effect reason=\"{}\"", works.error().message);
  look();
}

void BandwidthGovernor::stop() {
  stopped_ = true;
  timer_.cancel();
  for (const auto& [id, worker] : workers_.alive()) worker->go_on();
}

/// Processor time counts when a call ran at this look or the one before, or has ended in between.
BandwidthCap::Worker BandwidthGovernor::look_at(const WorkerProcess& worker, Seen& seen) {
  const StatusPage& page = worker.page();
  const bool running =
      run_state_of(page.state.load(std::memory_order_acquire)) == RunState::running;
  const std::uint64_t calls = page.calls.load(std::memory_order_relaxed);
  BandwidthCap::Worker now{.id = worker.id(), .cores = static_cast<double>(worker.cores())};
  now.busy = running || calls != seen.calls;
  if (seen.clock == 0 && ::clock_getcpuclockid(worker.pid(), &seen.clock) != 0) return now;
  const auto cpu = read_clock(seen.clock);
  if ((now.busy || seen.running) && cpu > seen.cpu) now.used = cpu - seen.cpu;
  seen.cpu = cpu;
  seen.calls = calls;
  seen.running = running;
  return now;
}

void BandwidthGovernor::look() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<BandwidthCap::Worker> workers;
  std::unordered_map<std::uint64_t, Seen> seen;
  for (const auto& [id, worker] : workers_.alive()) {
    const auto known = seen_.find(id);
    Seen& entry = seen[id] = known == seen_.end() ? Seen{} : known->second;
    BandwidthCap::Worker look = look_at(*worker, entry);
    const std::string* module =
        worker->module_at(worker->page().slot.load(std::memory_order_relaxed));
    if (known == seen_.end()) look.used = {};  // its birth is nobody's call
    if (module != nullptr && look.busy) look.rate = traffic_.rate(*module);
    consider_measuring(worker, module, look);
    workers.push_back(look);
  }
  seen_ = std::move(seen);
  if (measurement_ && now - measurement_->begun > longest_measurement)
    give_up_measurement("the function did not run long enough");
  BandwidthCap::Decision decision = cap_.look(now, workers);
  for (const auto& [id, worker] : workers_.alive()) {
    if (std::ranges::find(decision.hold, id) == decision.hold.end()) {
      worker->go_on();
    } else if (!worker->held()) {
      worker->hold();
      ++counters_["function_holds"];
      ++actions_;
    }
  }
  if (measurement_) decision.next = std::min(decision.next, measuring_interval);
  timer_.expires_after(decision.next);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) look();
  });
}

void BandwidthGovernor::consider_measuring(const std::shared_ptr<WorkerProcess>& worker,
                                           const std::string* module,
                                           const BandwidthCap::Worker& now_seen) {
  if (measurement_) {
    if (measurement_->worker == worker) go_on_measuring(now_seen, module);
    return;
  }
  if (now_seen.busy && module != nullptr &&
      traffic_.is_due(*module, std::chrono::steady_clock::now()))
    begin_measurement(worker, *module);
}

void BandwidthGovernor::begin_measurement(const std::shared_ptr<WorkerProcess>& worker,
                                          const std::string& module) {
  measurement_.emplace(Measurement{.number = ++measurements_,
                                   .worker = worker,
                                   .module = module,
                                   .memory = nullptr,
                                   .shortly = {},
                                   .begun = std::chrono::steady_clock::now()});
  auto memory = AccessedMemory::of(worker->pid());
  if (!memory) return give_up_measurement(memory.error().message);
  if (::clock_getcpuclockid(worker->pid(), &measurement_->clock) != 0)
    return give_up_measurement("the worker has no clock");
  measurement_->memory = std::make_shared<AccessedMemory>(std::move(*memory));
  walk(true);
}

void BandwidthGovernor::go_on_measuring(const BandwidthCap::Worker& seen,
                                        const std::string* module) {
  if (module == nullptr || *module != measurement_->module)
    return give_up_measurement("the worker runs something else");
  if (measurement_->stage == Measurement::Stage::clearing) return;
  measurement_->used += seen.used;
  const auto enough = measurement_->shortly ? long_part : short_part;
  if (measurement_->stage == Measurement::Stage::touching && measurement_->used >= enough)
    walk(false);
}

void BandwidthGovernor::walk(bool clear) {
  measurement_->stage = clear ? Measurement::Stage::clearing : Measurement::Stage::reading;
  boost::asio::post(walker_, [this, clear, number = measurement_->number,
                              memory = measurement_->memory, clock = measurement_->clock] {
    const auto begun = std::chrono::steady_clock::now();
    const auto cpu = read_clock(clock);
    Walked result{.touched = ByteCount{}};
    if (!clear) {
      result.touched = memory->touched();
    } else if (auto cleared = memory->clear(); !cleared) {
      result.touched = fail(std::move(cleared.error()));
    }
    result.cpu = (cpu + read_clock(clock)) / 2;
    result.took = std::chrono::steady_clock::now() - begun;
    boost::asio::post(io_, [this, number, result = std::move(result)] {
      if (!stopped_ && measurement_ && measurement_->number == number) walked(result);
    });
  });
}

void BandwidthGovernor::walked(const Walked& result) {
  if (!result.touched) return give_up_measurement(result.touched.error().message);
  measurement_->cost += result.took;
  const bool cleared = measurement_->stage == Measurement::Stage::clearing;
  measurement_->stage = Measurement::Stage::touching;
  // It ran while the walk went on, and perhaps until this thread has heard of it.
  std::chrono::nanoseconds since_look{0};
  if (const auto found = seen_.find(measurement_->worker->id()); found != seen_.end())
    since_look = result.cpu - found->second.cpu;
  if (cleared) {
    measurement_->used = -since_look;  // the next look adds it
    return;
  }
  const Touched touched =
      without_cost({*result.touched, measurement_->used + since_look}, touch_cost_);
  const ByteCount cache{options_.cache_per_core.value * measurement_->worker->cores()};
  if (measurement_->shortly) return conclude(rate_of(*measurement_->shortly, touched, cache));
  if (const auto rate = rate_of(touched, cache)) return conclude(*rate);
  measurement_->shortly = touched;
}

void BandwidthGovernor::conclude(double rate) {
  const std::string module = measurement_->module;
  const double before = traffic_.rate(module);
  traffic_.measured(module, rate, measurement_->cost, std::chrono::steady_clock::now());
  ++counters_["functions_measured"];
  ++actions_;
  if ((before > 0) != (rate > 0))
    log::info("event=function_measured module={} mib_per_second={} cost_us={}",
              short_digest(module), static_cast<std::uint64_t>(rate) >> 20U,
              std::chrono::duration_cast<std::chrono::microseconds>(measurement_->cost).count());
  measurement_.reset();
}

void BandwidthGovernor::give_up_measurement(const std::string& why) {
  log::debug("event=function_not_measured module={} reason=\"{}\"",
             short_digest(measurement_->module), why);
  traffic_.not_measured(measurement_->module, std::chrono::steady_clock::now());
  measurement_.reset();
}

}  // namespace orchid::executor
