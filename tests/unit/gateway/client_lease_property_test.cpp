// Random histories of clients' leases over several hosts: real broker, real client leases, and the
// executors' real lease tables. Messages are delayed, lost with their connection, or said twice;
// executors crash, gateways start anew or stay away for longer than leases last, and an old one
// comes back and opens, closes and renews leases: it is obeyed by executors that have not met a
// newer one, and by no others. In half of the worlds two executors share each host's cores.
// Whatever happens, the gateway's book promises no core of a host twice, nor do the tables of its
// executors together; and once it is quiet the book and the tables agree.
#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <random>
#include <set>
#include <tuple>

#include "deliver.h"
#include "foundation/log.h"
#include "leases/client_leases.h"
#include "leases/lease_table.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int client_histories = 100'000;
constexpr int client_steps = 40;
constexpr uid_t tenant = 1000;

/// What the kernel of a host knows of its executors' claims.
using HostParts = std::map<std::pair<executor::HostPart, std::uint32_t>, const void*>;

class ModelClaims final : public executor::HostClaims {
 public:
  explicit ModelClaims(HostParts& host) : host_(host) {}
  [[nodiscard]] bool take(executor::HostPart part, std::uint32_t number) override {
    return host_.try_emplace({part, number}, this).second;
  }
  void leave(executor::HostPart part, std::uint32_t number) override {
    CHECK(host_.erase({part, number}) == 1);
  }
  void end() {
    std::erase_if(host_, [this](const auto& claim) { return claim.second == this; });
  }

 private:
  HostParts& host_;
};

/// An executor process with its stream to the gateway.
struct ClientsModelExecutor {
  Executor description;
  std::unique_ptr<ModelClaims> claims;
  executor::LeaseTable table{{}};
  std::map<LeaseId, std::string> secrets;  // of leases that clients can claim here
  std::set<LeaseId> claimed;
  bool connected = false;
  std::uint64_t newest_epoch = 0;  // of the gateways that it has met
  std::deque<ControlMessage> to_executor;
  std::deque<ControlMessage> to_gateway;
};

/// How often gateways of old epochs came, in all histories.
struct OldGateways {
  unsigned long refused = 0;
  unsigned long obeyed = 0;
};

class ClientsHistory {
 public:
  ClientsHistory(unsigned seed, OldGateways& old_gateways)
      : random_(seed), old_gateways_(old_gateways), always_in_touch_(seed % 4 == 1) {
    const unsigned hosts = 1 + random_() % 3;
    const unsigned per_host = 1 + seed % 2;
    for (unsigned i = 0; i < hosts * per_host; ++i) add_executor(i / per_host, i % per_host);
    start_gateway();
  }

  void step() {
    now_ += milliseconds(random_() % 200);
    ClientsModelExecutor& executor = executors_[random_() % executors_.size()];
    const unsigned what = random_() % 100;
    if (what < 12)
      open();
    else if (what < 20)
      close();
    else if (what < 26)
      renew();
    else if (what < 48)
      deliver_to_executor(executor);
    else if (what < 68)
      deliver_to_gateway(executor);
    else if (what < 74)
      claim(executor);
    else if (what < 78)
      give_back(executor);
    else if (what < 82 && !always_in_touch_)
      lose(executor);
    else if (what < 88)
      connect(executor, random_() % 2 == 0);
    else if (what < 90)
      crash(executor);
    else if (what < 91 && !always_in_touch_)
      restart_gateway();
    else if (what < 94)
      visit_by_old_gateways();
    else if (what < 96)
      now_ += random_() % 20 == 0 ? seconds(600 + random_() % 2'000) : seconds(random_() % 40);
    else
      tick();
    perform();
    check();
  }

  void settle() {
    for (ClientsModelExecutor& executor : executors_) connect(executor, false);
    for (int round = 0; round < 4; ++round) {
      tick();
      for (int turn = 0; turn < 40; ++turn)
        for (ClientsModelExecutor& executor : executors_) {
          while (!executor.to_executor.empty()) deliver_to_executor(executor);
          while (!executor.to_gateway.empty()) deliver_to_gateway(executor);
          perform();
        }
      check();
    }
    std::size_t in_book = 0;
    for (const ClientsModelExecutor& executor : executors_) {
      std::size_t taken = 0;
      for (const auto& [id, lease] : broker_->leases().leases())
        if (lease.executor == executor.description.id) taken += lease.cores();
      CHECK(taken == executor.table.usable_cores().size() - executor.table.cores_free());
      in_book += taken;
    }
    std::size_t seen = 0;
    for (const ClientLeaseView& view : clients_->list(tenant, now_))
      for (const WorkerGrant& worker : view.workers) seen += worker.cores;
    CHECK(seen == in_book);
  }

 private:
  /// Two executors of a host have some cores in common.
  void add_executor(unsigned host, unsigned nth) {
    ClientsModelExecutor executor;
    executor.description = {.id = ExecutorId("e" + std::to_string(next_executor_++)),
                            .owner = {.tenant = {tenant, "u"}, .peer_uid = {}},
                            .host = {.boot_id = "host-" + std::to_string(host), .memory = 64_GiB},
                            .version = "1",
                            .lane_socket = "/run/" + std::to_string(2 * host + nth),
                            .lane_address = "n:1"};
    const std::uint32_t cores = 1 + random_() % 4;
    for (std::uint32_t core = 0; core < cores; ++core)
      executor.description.host.cores.push_back(core + nth);
    for (std::uint32_t gpu = 0; gpu < random_() % 3; ++gpu)
      executor.description.host.gpus.push_back({.index = gpu + nth, .model = "a100"});
    executor.claims = std::make_unique<ModelClaims>(parts_[executor.description.host.boot_id]);
    executor.table = new_table(executor);
    executors_.push_back(std::move(executor));
  }

  static executor::LeaseTable new_table(const ClientsModelExecutor& executor) {
    return executor::LeaseTable(executor.description.host.cores,
                                gpu_set(executor.description.host).numbers(),
                                executor.claims.get());
  }

  void start_gateway() {
    broker_ = std::make_unique<WorkerBroker>(
        WorkerBroker::Options{.epoch = ++epoch_, .boot_id = "gateway"});
    clients_ = std::make_unique<ClientLeases>(*broker_, 0);
    for (ClientsModelExecutor& executor : executors_)
      if (always_in_touch_ || random_() % 4 != 0) connect(executor, false);
    perform();
  }
  void restart_gateway() {
    for (ClientsModelExecutor& executor : executors_) {
      executor.connected = false;
      executor.table.lose_gateway(now_);
    }
    start_gateway();
  }

  /// Resumed: nothing is lost. Afresh: all that was on its way is.
  void connect(ClientsModelExecutor& executor, bool resume) {
    if (executor.connected) return;
    executor.connected = true;
    const bool known = broker_->hosts().find(executor.description.id) != nullptr;
    const auto old = executor.table.begin_epoch(epoch_, now_);
    REQUIRE(old.has_value());
    executor.newest_epoch = epoch_;
    if (resume && known) {
      broker_->executor_resumed(executor.description.id, now_);
      return perform();
    }
    executor.to_executor.clear();
    executor.to_gateway.clear();
    const auto held = executor.table.held_by_clients(now_);
    broker_->executor_joined(executor.description,
                             clients_->adopt(held, executor.description, now_), now_);
    perform();
  }
  void lose(ClientsModelExecutor& executor) {
    if (!executor.connected) return;
    executor.connected = false;
    executor.table.lose_gateway(now_);
    broker_->executor_lost(executor.description.id, now_);
  }
  void crash(ClientsModelExecutor& executor) {
    lose(executor);
    perform();
    executor.claims->end();
    executor.table = new_table(executor);
    executor.secrets.clear();
    executor.claimed.clear();
    executor.newest_epoch = 0;
    executor.description.id = ExecutorId("e" + std::to_string(next_executor_++));
    connect(executor, false);
  }
  /// Those from before the newest find the executors that have none.
  void visit_by_old_gateways() {
    if (epoch_ < 2) return;
    for (ClientsModelExecutor& executor : executors_)
      if (!executor.connected) visit_by_old_gateway(executor);
  }
  /// Its welcome, and then its commands. An executor hangs up when it refuses a welcome
  /// (ControlClient), and hears no more.
  void visit_by_old_gateway(ClientsModelExecutor& executor) {
    const std::uint64_t epoch = 1 + random_() % (epoch_ - 1);
    const bool too_old = epoch < executor.newest_epoch;
    const auto before = leases_of(executor);
    const CoreList usable = executor.table.usable_cores();
    const bool greeted = executor.table.begin_epoch(epoch, now_).has_value();
    for (auto count = random_() % 6; count > 0; --count) {
      const ControlMessage command = command_of_old_gateway(executor, epoch);
      // One that opens is refused for itself, too, however it came here.
      if (const auto* open = std::get_if<OpenLease>(&command); open != nullptr && too_old) {
        const auto opened = executor.table.open(*open, now_);
        REQUIRE_FALSE(opened.has_value());
        CHECK(opened.error().code == ErrorCode::denied);
      }
      if (greeted) obey(executor, command);
    }
    executor.table.lose_gateway(now_);
    if (!too_old) {
      REQUIRE(greeted);
      executor.newest_epoch = epoch;
      executor.to_gateway.clear();  // it was said to the old one
      ++old_gateways_.obeyed;
      return;
    }
    CHECK_FALSE(greeted);
    REQUIRE(leases_of(executor) == before);
    REQUIRE(executor.table.usable_cores() == usable);
    ++old_gateways_.refused;
  }
  ControlMessage command_of_old_gateway(const ClientsModelExecutor& executor, std::uint64_t epoch) {
    const auto held = executor.table.held_by_clients(now_);
    const auto what = random_() % 3;
    if (what == 0 || held.empty()) return opened_by_old_gateway(executor, epoch);
    const LeaseId lease = held[random_() % held.size()].lease;
    if (what == 1) return CloseLease{lease};
    return RenewLease{lease, seconds(1 + random_() % 3'000)};
  }
  /// On free cores as a rule: only its epoch is wrong.
  OpenLease opened_by_old_gateway(const ClientsModelExecutor& executor, std::uint64_t epoch) {
    const LeaseId lease{epoch, 1'000'000 + ++opened_by_old_gateways_};
    OpenLease open{
        .lease = lease,
        .secret = "old",
        .tenant = {tenant, "u"},
        .client = ClientTerms{.client_lease = lease, .expires_in = seconds(1 + random_() % 30)}};
    const CoreList cores = executor.table.usable_cores();
    if (!cores.empty() && random_() % 2 == 0) open.core_ids = {cores[random_() % cores.size()]};
    return open;
  }
  using Leases = std::map<LeaseId, std::tuple<CoreList, CoreList, milliseconds>>;
  /// With their cores, GPUs, and the time that they have left.
  [[nodiscard]] Leases leases_of(const ClientsModelExecutor& executor) const {
    Leases leases;
    for (const LeaseHeld& held : executor.table.held_by_clients(now_))
      leases[held.lease] = {held.core_ids, held.gpus, held.client.expires_in};
    return leases;
  }

  std::vector<placement::WorkerShape> alternatives() {
    std::vector<placement::WorkerShape> shapes;
    if (random_() % 3 == 0) shapes.push_back({.cores = 1, .gpus = 1});
    shapes.push_back({.cores = 1 + static_cast<std::uint32_t>(random_() % 2)});
    return shapes;
  }
  void open() {
    const std::uint32_t workers = 1 + random_() % 3;
    ClientLeaseRequest request{.tenant = {tenant, "u"},
                               .worker = {.alternatives = alternatives(),
                                          .client_host = placement::HostId("host-0"),
                                          .client_host_only = random_() % 2 != 0},
                               .workers = workers,
                               .at_least = 1 + static_cast<std::uint32_t>(random_()) % workers,
                               .duration = seconds(1 + random_() % 30),
                               .within = milliseconds(random_() % 5000)};
    clients_->open(request, now_, [this](const Result<ClientLeaseView>& lease) {
      if (lease) known_.insert(lease->id);
    });
  }
  [[nodiscard]] std::optional<LeaseId> any_lease() {
    if (known_.empty()) return std::nullopt;
    auto at = known_.begin();
    std::advance(at, random_() % known_.size());
    return *at;
  }
  void close() {
    if (const auto lease = any_lease()) (void)clients_->close(tenant, *lease, now_);
  }
  void renew() {
    if (const auto lease = any_lease())
      (void)clients_->renew(tenant, *lease, {.duration = seconds(1 + random_() % 30)}, now_);
  }
  void claim(ClientsModelExecutor& executor) {
    for (const auto& [lease, secret] : executor.secrets)
      if (executor.table.claim({lease, secret, tenant})) executor.claimed.insert(lease);
  }
  void give_back(ClientsModelExecutor& executor) {
    if (executor.claimed.empty()) return;
    const LeaseId lease = *executor.claimed.begin();
    executor.claimed.erase(executor.claimed.begin());
    if (const auto closed = executor.table.give_back(lease)) say(executor, *closed);
  }

  void say(ClientsModelExecutor& executor, const ControlMessage& message) {
    executor.to_gateway.push_back(message);
  }
  void tell_cores(ClientsModelExecutor& executor) {
    say(executor, GrantChanged{executor.table.usable_cores(), {}, false});
  }
  void deliver_to_executor(ClientsModelExecutor& executor) {
    if (!executor.connected || executor.to_executor.empty()) return;
    const ControlMessage message = executor.to_executor.front();
    executor.to_executor.pop_front();
    obey(executor, message);
    if (random_() % 8 == 0) obey(executor, message);  // commands are idempotent
  }
  void obey(ClientsModelExecutor& executor, const ControlMessage& message) {
    if (const auto* open = std::get_if<OpenLease>(&message)) {
      const CoreList usable = executor.table.usable_cores();
      const auto opened = executor.table.open(*open, now_);
      if (!opened) say(executor, LeaseRefused{open->lease, opened.error().code, "model"});
      if (executor.table.usable_cores() != usable) tell_cores(executor);
      if (!opened) return;
      executor.secrets[open->lease] = open->secret;
      say(executor, *opened);
    } else if (const auto* close = std::get_if<CloseLease>(&message)) {
      (void)executor.table.close(close->lease);
      executor.claimed.erase(close->lease);
      say(executor, LeaseClosed{close->lease, LeaseEnd::revoked});
    } else if (const auto* renewal = std::get_if<RenewLease>(&message)) {
      if (!executor.table.renew(*renewal, now_))
        say(executor, LeaseClosed{renewal->lease, LeaseEnd::expired});
    }
  }
  void deliver_to_gateway(ClientsModelExecutor& executor) {
    if (!executor.connected || executor.to_gateway.empty()) return;
    const ControlMessage message = executor.to_gateway.front();
    executor.to_gateway.pop_front();
    deliver(*broker_, executor.description.id, message, now_);
    perform();
  }
  void tick() {
    for (ClientsModelExecutor& executor : executors_) {
      for (const LeaseClosed& ended : executor.table.end_overdue(now_)) {
        executor.claimed.erase(ended.lease);
        say(executor, ended);
      }
      if (executor.table.look_at_others()) tell_cores(executor);
    }
    broker_->tick(now_);
    perform();
    clients_->tick(now_);
    perform();
  }

  void perform() {
    for (auto actions = broker_->take_actions(); !actions.empty();
         actions = broker_->take_actions())
      for (const BrokerAction& action : actions) {
        if (const auto* send = std::get_if<SendToExecutor>(&action)) {
          for (ClientsModelExecutor& executor : executors_)
            if (executor.description.id == send->executor)
              executor.to_executor.push_back(send->message);
        } else if (const auto* give = std::get_if<GiveWorker>(&action)) {
          CHECK(clients_->granted(give->holder, give->grant, now_));
        } else if (const auto* ended = std::get_if<TellLeaseEnded>(&action)) {
          (void)clients_->ended(*ended, now_);
        }
      }
  }
  void check() const {
    std::map<std::string, std::set<std::uint32_t>> cores;
    std::map<std::string, std::size_t> taken_on;
    for (const ClientsModelExecutor& executor : executors_) {
      const HostDescription& host = executor.description.host;
      cores[host.boot_id].insert(host.cores.begin(), host.cores.end());
      taken_on[host.boot_id] += executor.table.usable_cores().size() - executor.table.cores_free();
    }
    for (const auto& [host, own] : cores) {
      REQUIRE(taken_on[host] <= own.size());
      REQUIRE(broker_->capacity().cores_leased(host) <= own.size());
    }
    check_gpus();
    std::map<std::string, std::set<std::uint32_t>> in_use;
    for (const ClientsModelExecutor& executor : executors_) {
      std::size_t taken = 0;
      std::set<std::uint32_t> own;
      for (const LeaseHeld& held : executor.table.held_by_clients(now_)) {
        taken += held.cores_per_worker;
        for (const std::uint32_t core : held.core_ids) {
          REQUIRE(own.insert(core).second);
          REQUIRE(in_use[executor.description.host.boot_id].insert(core).second);
        }
      }
      REQUIRE(own.size() == taken);
      REQUIRE(taken == executor.table.usable_cores().size() - executor.table.cores_free());
      REQUIRE(taken <= executor.table.cores().size());
    }
  }

  /// No table has a GPU in two leases, nor have two tables of one host.
  void check_gpus() const {
    std::map<std::string, std::set<std::uint32_t>> in_use;
    for (const ClientsModelExecutor& executor : executors_) {
      const placement::CoreSet offered = gpu_set(executor.description.host);
      std::set<std::uint32_t> own;
      for (const LeaseHeld& held : executor.table.held_by_clients(now_))
        for (const std::uint32_t gpu : held.gpus) {
          REQUIRE(offered.contains(gpu));
          REQUIRE(own.insert(gpu).second);
          REQUIRE(in_use[executor.description.host.boot_id].insert(gpu).second);
        }
    }
  }

  std::mt19937 random_;
  OldGateways& old_gateways_;
  bool always_in_touch_;
  unsigned next_executor_ = 0;
  std::uint64_t opened_by_old_gateways_ = 0;
  std::uint64_t epoch_ = 0;
  MonotonicTime now_{seconds(1'000)};
  std::map<std::string, HostParts> parts_;  // by host
  std::vector<ClientsModelExecutor> executors_;
  std::unique_ptr<WorkerBroker> broker_;
  std::unique_ptr<ClientLeases> clients_;
  std::set<LeaseId> known_;
};

TEST_CASE("no history of clients' leases creates or loses a core") {
  log::configure("unit_gateway", LogLevel::error);
  OldGateways old_gateways;
  for (unsigned seed = 0; seed < client_histories; ++seed) {
    CAPTURE(seed);
    ClientsHistory world(seed, old_gateways);
    for (int step = 0; step < client_steps; ++step) world.step();
    world.settle();
  }
  MESSAGE(old_gateways.refused << " visits of old gateways were refused, " << old_gateways.obeyed
                               << " were not");
  CHECK(old_gateways.refused >= client_histories / 50);
  CHECK(old_gateways.obeyed >= client_histories / 50);
}

}  // namespace
}  // namespace orchid::gateway
