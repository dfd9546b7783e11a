// call_world.h: a broker whose holders run calls: each worker runs one after the other, and is
// given back after the one that it runs when its holder owes one.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "broker_world.h"

namespace orchid::gateway {

using Shapes = std::vector<placement::WorkerShape>;

// Holders of workers of several cores.
inline const HolderId wide(7);
inline const HolderId wider(8);

struct CallWorld : World {
  /// Executors beyond this host are of use too.
  explicit CallWorld(Capacity::Options capacity = {})
      : World({.epoch = 1, .boot_id = "here", .remote_dispatch = true}, std::move(capacity)) {}

  struct Caller {
    std::chrono::milliseconds call{0};  // takes so long
    unsigned served = 0;                // workers that it was given
    MonotonicTime waits_since{};        // for one more than it has
    MonotonicTime::duration longest_wait{};
  };
  std::map<HolderId, Caller> callers;
  std::map<LeaseId, MonotonicTime> busy_until;

  void join_host(const std::string& boot_id, std::uint32_t cores, std::uint32_t gpus = 0,
                 ByteCount memory = 64_GiB) {
    Executor executor{.id = ExecutorId("on-" + boot_id),
                      .owner = {},
                      .host = {.boot_id = boot_id, .hostname = "node", .memory = memory}};
    executor.lane_socket = "/run/" + boot_id;
    executor.lane_address = "10.0.0.1:1";
    for (std::uint32_t core = 0; core < cores; ++core) executor.host.cores.push_back(core);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
      executor.host.gpus.push_back({.index = gpu, .model = "a100"});
    broker.executor_joined(executor, {}, now);
    perform();
  }
  void add(HolderId id, Shapes alternatives, std::chrono::milliseconds call,
           LeaseTenant tenant = {}) {
    broker.add_dispatcher(id, std::move(tenant), {.alternatives = std::move(alternatives)});
    callers[id].call = call;
  }
  void add_client(HolderId id, placement::WorkerShape shape, unsigned workers) {
    const LeaseId lease = broker.next_lease_id();
    broker.add_client(
        id,
        {.worker = {.alternatives = {std::move(shape)}, .client_host = placement::HostId("here")},
         .workers = workers},
        lease, now + std::chrono::hours(1));
    want(id, workers);
  }
  void tick() {
    broker.tick(now);
    perform();
  }
  void pass(std::chrono::milliseconds time) {
    now += time;
    tick();
  }
  /// One of its leases there, if there is one.
  void give_back_at(HolderId id, const std::string& boot_id) {
    auto& leases = given[id];
    const auto found = std::ranges::find_if(leases, [&](LeaseId lease) {
      return broker.leases().find(lease)->executor == ExecutorId("on-" + boot_id);
    });
    if (found == leases.end()) return;
    const LeaseId lease = *found;
    leases.erase(found);
    broker.given_back(id, lease, now);
    perform();
  }
  [[nodiscard]] std::size_t given_at(HolderId id, const std::string& boot_id) const {
    const auto found = given.find(id);
    return found == given.end()
               ? 0
               : static_cast<std::size_t>(std::ranges::count_if(found->second, [&](LeaseId lease) {
                   return broker.leases().find(lease)->executor == ExecutorId("on-" + boot_id);
                 }));
  }
  [[nodiscard]] const Lease& lease_of(HolderId id, std::size_t number = 0) const {
    return *broker.leases().find(given.at(id).at(number));
  }

  /// Time passes, and calls end.
  void step(std::chrono::milliseconds time) {
    pass(time);
    for (auto& [id, caller] : callers) {
      for (const LeaseId lease : std::vector(given[id])) {
        const auto [known, is_new] = busy_until.try_emplace(lease, now + caller.call);
        if (is_new) {
          ++caller.served;
          caller.longest_wait = std::max(caller.longest_wait, now - caller.waits_since);
          caller.waits_since = now;
        }
        if (known->second > now) continue;
        if (asked_back[id] == 0) {
          known->second = now + caller.call;
          continue;
        }
        --asked_back[id];
        std::erase(given[id], lease);
        busy_until.erase(known);
        broker.given_back(id, lease, now);
        perform();
      }
    }
  }
  void run(std::chrono::milliseconds time) {
    const MonotonicTime end = now + time;
    while (now < end) step(std::chrono::milliseconds(100));
  }
};

}  // namespace orchid::gateway
