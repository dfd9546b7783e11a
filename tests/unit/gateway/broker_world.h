// broker_world.h: a broker, and executors that do what they are told at once.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leases/worker_broker.h"

namespace orchid::gateway {

inline const ExecutorId e1("e1");
inline const HolderId a(1);
inline const HolderId b(2);

struct World {
  explicit World(WorkerBroker::Options options = {.epoch = 1, .boot_id = "here"},
                 Capacity::Options capacity = {})
      : broker(std::move(options), std::move(capacity)) {}
  WorkerBroker broker;
  MonotonicTime now{};
  std::map<HolderId, std::vector<LeaseId>> given;
  std::map<HolderId, unsigned> asked_back;  // as they were last told
  std::map<HolderId, std::vector<LeaseId>> refused;
  std::map<HolderId, Supply> supply;
  std::vector<LeaseId> ended;
  bool answering = true;
  std::string cluster{};  // of executors that join

  void join(ExecutorId id, std::size_t cores, std::string boot_id = "here",
            std::optional<std::uint32_t> owner_only = std::nullopt,
            const std::string& lane_address = "", const HostDescription& like = {}) {
    Executor executor{.id = id,
                      .owner = {},
                      .host = {.boot_id = std::move(boot_id),
                               .hostname = "node",
                               .architecture = like.architecture,
                               .memory = 64_GiB,
                               .kind = like.kind,
                               .gpus = like.gpus}};
    executor.lane_socket = "/run/" + id.value();
    executor.lane_address = lane_address;
    executor.grant.owner = owner_only;
    if (owner_only) executor.grant.users = GrantUsers::owner;
    executor.grant.cluster = cluster;
    for (std::uint32_t core = 0; core < cores; ++core) executor.host.cores.push_back(core);
    broker.executor_joined(executor, {}, now);
    perform();
  }
  void perform() {
    for (auto actions = broker.take_actions(); !actions.empty(); actions = broker.take_actions())
      for (const BrokerAction& action : actions) perform_one(action);
  }
  void perform_one(const BrokerAction& action) {
    if (const auto* send = std::get_if<SendToExecutor>(&action); send != nullptr && answering) {
      if (const auto* open = std::get_if<OpenLease>(&send->message))
        broker.executor_said(send->executor, LeaseOpened{open->lease, 1}, now);
      if (const auto* close = std::get_if<CloseLease>(&send->message))
        broker.executor_said(send->executor, LeaseClosed{close->lease, LeaseEnd::released}, now);
    }
    if (const auto* give = std::get_if<GiveWorker>(&action))
      given[give->holder].push_back(give->grant.lease);
    if (const auto* refusal = std::get_if<TellRefused>(&action))
      refused[refusal->holder].push_back(refusal->lease);
    if (const auto* back = std::get_if<AskBack>(&action)) asked_back[back->holder] = back->count;
    if (const auto* told = std::get_if<TellSupply>(&action)) supply[told->holder] = told->supply;
    if (const auto* gone = std::get_if<TellLeaseEnded>(&action)) ended.push_back(gone->lease);
  }
  void want(HolderId id, unsigned total) {
    broker.want_workers(id, total, now);
    perform();
  }
  void give_back(HolderId id) {
    broker.given_back(id, given[id].back(), now);
    given[id].pop_back();
    perform();
  }
};

}  // namespace orchid::gateway
