// gateway/clients_world.h: clients' leases, a broker, and executors that do what they are told.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "deliver.h"
#include "leases/client_leases.h"
#include "protocol/lane_protocol.h"
#include "worker_requests.h"

namespace orchid::gateway {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr uid_t ada = 1000;

/// Executors that do what they are told at once.
struct ClientsWorld {
  WorkerBroker broker{{.epoch = 2, .boot_id = "here"}};
  ClientLeases clients{broker, 0};
  MonotonicTime now{};
  std::vector<ControlMessage> sent;
  std::vector<Result<ClientLeaseView>> answers;
  bool answering = true;
  std::uint32_t lane_protocol = shared_lane_protocol;  // of executors that join
  bool elsewhere_too = false;  // else its clients want workers of this host alone

  void join(const std::string& name, std::uint32_t cores, std::vector<LeaseHeld> held = {},
            const std::string& boot_id = "here") {
    Executor executor{.id = ExecutorId(name),
                      .owner = {},
                      .host = {.boot_id = boot_id,
                               .hostname = "node-" + boot_id,
                               .architecture = "x86_64",
                               .memory = 64_GiB},
                      .version = "1",
                      .lane_socket = "/run/" + name,
                      .lane_address = boot_id == "here" ? "" : boot_id + ":1",
                      .lane_protocol = lane_protocol};
    for (std::uint32_t core = 0; core < cores; ++core) executor.host.cores.push_back(core);
    broker.executor_joined(executor, clients.adopt(held, executor, now), now);
    perform();
  }
  void perform() {
    for (auto actions = broker.take_actions(); !actions.empty(); actions = broker.take_actions())
      for (const BrokerAction& action : actions) {
        if (const auto* give = std::get_if<GiveWorker>(&action))
          (void)clients.granted(give->holder, give->grant, now);
        if (const auto* ended = std::get_if<TellLeaseEnded>(&action))
          (void)clients.ended(*ended, now);
        if (const auto* send = std::get_if<SendToExecutor>(&action)) obey(*send);
      }
  }
  void obey(const SendToExecutor& send) {
    sent.push_back(send.message);
    if (!answering) return;
    if (const auto* open = std::get_if<OpenLease>(&send.message))
      broker.executor_said(send.executor, LeaseOpened{open->lease, 1}, now);
    if (const auto* close = std::get_if<CloseLease>(&send.message))
      broker.executor_said(send.executor, LeaseClosed{close->lease, LeaseEnd::revoked}, now);
  }
  void say(const std::string& executor, const ControlMessage& message) {
    deliver(broker, ExecutorId(executor), message, now);
    perform();
  }
  /// For a client of this host.
  void open(ClientLeaseRequest request) {
    request.tenant = {ada, "ada"};
    request.worker.client_host = placement::HostId("here");
    request.worker.client_host_only = !elsewhere_too;
    clients.open(std::move(request), now,
                 [this](Result<ClientLeaseView> view) { answers.push_back(std::move(view)); });
    perform();
  }
  ClientLeaseView opened(const ClientLeaseRequest& request) {
    answers.clear();
    open(request);
    REQUIRE(answers.size() == 1);
    REQUIRE_MESSAGE(answers[0].has_value(), (answers[0] ? "" : answers[0].error().message));
    return *answers[0];
  }
  void pass(milliseconds time) {
    now += time;
    broker.tick(now);
    perform();
    clients.tick(now);
    perform();
  }
  [[nodiscard]] std::size_t cores_taken() const { return broker.capacity().cores_leased("here"); }
};

}  // namespace orchid::gateway
