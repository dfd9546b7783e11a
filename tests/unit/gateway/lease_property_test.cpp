// Random histories of dispatchers, executors, offers that shrink, a batch job that comes and goes,
// broken connections and restarts, with a model of the executors: whatever happens, no core is
// promised twice, and once it is quiet everybody has what he can have.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "deliver.h"
#include "foundation/log.h"
#include "leases/worker_broker.h"
#include "one_job.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

constexpr int histories = 100'000;
constexpr int steps = 60;

/// An executor process and its stream. It obeys blindly: it is the book's task not to ask for too
/// much, but where executors were lost, which agree between themselves.
struct ModelExecutor {
  Executor description;
  CoreList most;  // of which it offers some
  bool connected = true;
  bool was_lost = false;
  std::map<LeaseId, std::vector<std::uint32_t>> leases;  // with their cores
  std::set<LeaseId> evicted;                             // of them; they have still to end
  std::deque<ControlMessage> to_executor;
  std::deque<ControlMessage> to_gateway;
};

class LeaseHistory {
 public:
  explicit LeaseHistory(unsigned seed) : random_(seed), shared_host_(random_() % 2 == 0) {
    const unsigned count = 1 + random_() % 3;
    for (unsigned i = 0; i < count; ++i) add_executor(i);
    start_gateway();
  }

  void step() {
    now_ += milliseconds(random_() % 50);
    const unsigned what = random_() % 100;
    ModelExecutor& executor = executors_[random_() % executors_.size()];
    const HolderId dispatcher(1 + random_() % dispatcher_count);
    if (what < 20)
      broker_->want_workers(dispatcher, random_() % 5, now_);
    else if (what < 35)
      give_back(dispatcher);
    else if (what < 60)
      deliver_to_executor(executor);
    else if (what < 80)
      deliver_to_gateway(executor);
    else if (what < 84)
      lose(executor);
    else if (what < 90)
      reconnect(executor, random_() % 3 != 0);
    else if (what < 91)
      crash(executor);
    else if (what < 92)
      change_job();
    else if (what < 93)
      change_offer(executor, random_());
    else if (what < 94)
      end_evictions(executor);
    else if (what < 95)
      lapse(executor);
    else if (what < 96)
      now_ += std::chrono::seconds(random_() % 40);
    else if (what < 97 && !shared_host_)
      restart_gateway();
    else
      broker_->tick(now_);
    perform();
    check();
  }

  void settle() {
    for (ModelExecutor& executor : executors_) reconnect(executor, false);
    // One wants everything: nothing is asked to and fro any more.
    refuses_ = false;
    job_.cores = {};
    broker_->clusters_changed({.all = true}, now_);
    for (ModelExecutor& executor : executors_) change_offer(executor, all_cores);
    for (std::uint64_t id = 1; id <= dispatcher_count; ++id)
      broker_->want_workers(HolderId(id), id == 1 ? 100 : 0, now_);
    perform();
    for (int round = 0; round < 80; ++round) {
      now_ += milliseconds(20);
      for (ModelExecutor& executor : executors_) {
        while (!executor.to_executor.empty()) deliver_to_executor(executor);
        end_evictions(executor);
        while (!executor.to_gateway.empty()) deliver_to_gateway(executor);
      }
      broker_->tick(now_);
      perform();
      check();
    }
    std::size_t known = 0;
    for (const ModelExecutor& executor : executors_)
      for (const auto& [lease, cores] : executor.leases) {
        ++known;
        REQUIRE(broker_->leases().find(lease) != nullptr);
      }
    CHECK(known == broker_->leases().leases().size());
    CHECK(known == usable_cores());
    CHECK(held_[HolderId(1)].size() == known);
  }

 private:
  static constexpr std::uint64_t dispatcher_count = 3;
  static constexpr unsigned all_cores = ~0U;

  void add_executor(unsigned index) {
    ModelExecutor executor;
    executor.description = {.id = ExecutorId("e" + std::to_string(next_executor_++)),
                            .owner = {.tenant = {1000 + index, "u"}, .peer_uid = {}},
                            .host = {.boot_id = "here", .hostname = "node", .memory = 64_GiB}};
    executor.description.lane_socket = "/run/" + std::to_string(index);
    const std::uint32_t cores = 1 + random_() % 3;
    // On a shared host the executors' cores overlap.
    for (std::uint32_t core = 0; core < cores; ++core)
      executor.description.host.cores.push_back(shared_host_ ? core + index : core + 10 * index);
    executor.most = executor.description.host.cores;
    if (random_() % 2 == 0) executor.description.grant.job = OneJob::number;
    executors_.push_back(std::move(executor));
  }

  void start_gateway() {
    broker_ =
        std::make_unique<WorkerBroker>(WorkerBroker::Options{.epoch = ++epoch_, .boot_id = "here"},
                                       Capacity::Options{.knowledge = &job_});
    held_.clear();
    // One has workers of two cores, and one those where there are any.
    broker_->add_dispatcher(HolderId(1), {});
    broker_->add_dispatcher(HolderId(2), {}, {.alternatives = {{.cores = 2}}});
    broker_->add_dispatcher(HolderId(3), {}, {.alternatives = {{.cores = 2}, {.cores = 1}}});
    for (ModelExecutor& executor : executors_) join(executor);
    perform();
  }
  void restart_gateway() {
    for (ModelExecutor& executor : executors_) executor.to_gateway.clear();
    start_gateway();
  }

  /// A fresh stream: nothing of the old one is on its way any more; leases of older epochs go.
  void join(ModelExecutor& executor) {
    executor.connected = true;
    executor.to_executor.clear();
    executor.to_gateway.clear();
    std::erase_if(executor.leases,
                  [this](const auto& lease) { return lease.first.epoch < epoch_; });
    broker_->executor_joined(executor.description, {}, now_);
  }
  void lose(ModelExecutor& executor) {
    if (!executor.connected) return;
    executor.connected = false;
    executor.was_lost = true;
    broker_->executor_lost(executor.description.id, now_);
  }
  void reconnect(ModelExecutor& executor, bool resume) {
    if (executor.connected) return;
    if (resume && broker_->hosts().find(executor.description.id) != nullptr) {
      executor.connected = true;
      broker_->executor_resumed(executor.description.id, now_);
    } else {
      join(executor);
    }
  }
  void crash(ModelExecutor& executor) {
    lose(executor);
    perform();
    executor.leases.clear();
    executor.evicted.clear();
    executor.description.id = ExecutorId("e" + std::to_string(next_executor_++));
    join(executor);
  }
  void lapse(ModelExecutor& executor) {
    if (executor.leases.empty()) return;
    const LeaseId lease = executor.leases.begin()->first;
    end(executor, lease, LeaseEnd::lapsed);
  }
  static void end(ModelExecutor& executor, LeaseId lease, LeaseEnd reason) {
    executor.leases.erase(lease);
    executor.evicted.erase(lease);
    executor.to_gateway.push_back(LeaseClosed{lease, reason});
  }
  void change_job() {
    job_.cores = {};
    for (std::uint32_t core = 0; core < 6; ++core)
      if (random_() % 3 == 0) job_.cores.insert(core);
    broker_->clusters_changed({.all = true}, now_);
  }
  /// Those of its cores whose bits are set.
  static void change_offer(ModelExecutor& executor, unsigned bits) {
    CoreList& offer = executor.description.host.cores;
    offer.clear();
    for (std::size_t i = 0; i < executor.most.size(); ++i)
      if ((bits >> i & 1U) != 0) offer.push_back(executor.most[i]);
    for (const auto& [lease, cores] : executor.leases)
      if (!std::ranges::includes(offer, cores)) executor.evicted.insert(lease);
    executor.to_gateway.push_back(GrantChanged{.cores = offer});
  }
  static void end_evictions(ModelExecutor& executor) {
    for (const LeaseId lease : std::set(executor.evicted))
      end(executor, lease, LeaseEnd::reclaimed);
  }
  void give_back(HolderId dispatcher) {
    auto& leases = held_[dispatcher];
    if (leases.empty()) return;
    const LeaseId lease = *leases.begin();
    leases.erase(leases.begin());
    broker_->given_back(dispatcher, lease, now_);
  }

  /// By another lease of the host, which happens only where an executor has been lost sight of.
  [[nodiscard]] bool is_claimed(const ModelExecutor& by, const OpenLease& wanted) const {
    for (const ModelExecutor& other : executors_)
      for (const auto& [lease, taken] : other.leases)
        if (lease != wanted.lease && std::ranges::any_of(taken, [&](std::uint32_t core) {
              return std::ranges::binary_search(wanted.core_ids, core);
            })) {
          REQUIRE((other.was_lost || by.was_lost));
          return true;
        }
    return false;
  }

  void deliver_to_executor(ModelExecutor& executor) {
    if (!executor.connected || executor.to_executor.empty()) return;
    const ControlMessage message = executor.to_executor.front();
    executor.to_executor.pop_front();
    if (const auto* open = std::get_if<OpenLease>(&message)) {
      const bool offered = std::ranges::includes(executor.description.host.cores, open->core_ids);
      const bool refuses =
          !offered || is_claimed(executor, *open) || (refuses_ && random_() % 20 == 0);
      if (refuses && !executor.leases.contains(open->lease)) {
        executor.to_gateway.push_back(LeaseRefused{open->lease, ErrorCode::no_capacity, "model"});
        return;
      }
      executor.leases.try_emplace(open->lease, open->core_ids);
      executor.to_gateway.push_back(LeaseOpened{open->lease, open->workers});
    } else if (const auto* close = std::get_if<CloseLease>(&message)) {
      end(executor, close->lease, LeaseEnd::released);
    }
  }
  void deliver_to_gateway(ModelExecutor& executor) {
    if (!executor.connected || executor.to_gateway.empty()) return;
    const ControlMessage message = executor.to_gateway.front();
    executor.to_gateway.pop_front();
    deliver(*broker_, executor.description.id, message, now_);
    perform();
  }

  void perform() {
    for (auto actions = broker_->take_actions(); !actions.empty();
         actions = broker_->take_actions())
      for (const BrokerAction& action : actions) {
        if (const auto* send = std::get_if<SendToExecutor>(&action)) {
          for (ModelExecutor& executor : executors_)
            if (executor.description.id == send->executor)
              executor.to_executor.push_back(send->message);
        } else if (const auto* give = std::get_if<GiveWorker>(&action)) {
          CHECK(held_[give->holder].insert(give->grant.lease).second);
        } else if (const auto* ended = std::get_if<TellLeaseEnded>(&action)) {
          held_[ended->holder].erase(ended->lease);
        } else if (const auto* back = std::get_if<AskBack>(&action)) {
          for (unsigned i = 0; i < back->count; ++i) give_back(back->holder);
        }
      }
  }

  [[nodiscard]] std::size_t usable_cores() const {
    std::set<std::uint32_t> cores;
    for (const ModelExecutor& executor : executors_)
      cores.insert(executor.description.host.cores.begin(), executor.description.host.cores.end());
    return cores.size();
  }
  void check() {
    std::set<std::uint32_t> taken;  // of the host
    for (const ModelExecutor& executor : executors_)
      for (const auto& [lease, cores] : executor.leases) {
        const bool offered = std::ranges::includes(executor.description.host.cores, cores);
        REQUIRE((offered || executor.evicted.contains(lease)));
        for (const std::uint32_t core : cores) REQUIRE(taken.insert(core).second);
      }
  }

  std::mt19937 random_;
  bool shared_host_;
  bool refuses_ = true;
  OneJob job_;
  unsigned next_executor_ = 0;
  std::uint64_t epoch_ = 0;
  MonotonicTime now_{};
  std::vector<ModelExecutor> executors_;
  std::unique_ptr<WorkerBroker> broker_;
  std::map<HolderId, std::set<LeaseId>> held_;
};

TEST_CASE("no core is ever promised twice, and no lease is lost, in any history") {
  log::configure("unit_gateway", LogLevel::error);
  for (unsigned seed = 0; seed < histories; ++seed) {
    CAPTURE(seed);
    LeaseHistory world(seed);
    for (int step = 0; step < steps; ++step) world.step();
    world.settle();
  }
}

}  // namespace
}  // namespace orchid::gateway
