#include "leases/executor_service.h"

#include <utility>
#include <vector>

#include "foundation/log.h"
#include "protocol/lane_protocol.h"

namespace orchid::gateway {

/// The broker hears these messages.
template <typename... Messages>
void ExecutorService::pass_on() {
  const auto pass = [this](const ExecutorId& id, const auto& message) {
    parts_.loop.make(
        [&](WorkerBroker& broker, MonotonicTime now) { broker.executor_said(id, message, now); });
  };
  (parts_.messages.on<Messages>(pass), ...);
}

ExecutorService::ExecutorService(Parts parts, Options options)
    : parts_(std::move(parts)),
      owner_(options.owner),
      gate_(parts_.control, std::move(options.gateway), options.epoch, *this, parts_.messages) {
  parts_.loop.add(*this);
  pass_on<LeaseOpened, LeaseRefused, LeaseClosed, CapacityReport, GrantChanged>();
}

void ExecutorService::executor_joined(const ControlHello& hello, const PeerIdentity& identity) {
  const MonotonicTime now = parts_.loop.now();
  Executor executor{
      .id = ExecutorId(hello.executor),
      .owner = identity,
      .host = hello.host,
      .grant = owner_ ? believed(hello.grant, identity.tenant.uid, *owner_) : hello.grant,
      .ends = hello.grant.ends_in ? now + *hello.grant.ends_in : MonotonicTime::max(),
      .version = hello.version,
      .lane_socket = hello.lane_socket,
      .lane_address = hello.lane_address,
      .lane_protocol = hello.lane_protocol};
  if (hello.data_memory) executor.data_memory = hello.data_memory->bytes;
  executor.copies_data = hello.copies_data;
  executor.leases_memory = hello.leases_memory;
  executor.digests_data = hello.digests_data;
  executor.keeps_data = hello.keeps_data;
  executor.streams_data = hello.streams_data;
  if (executor.lane_protocol < apart_lane_protocol)
    log::warn(
        "event=functions_share_workers executor={} host={} version={} reason=\"it is older "
        "than this gateway and keeps no worker for each module: update it\"",
        hello.executor, hello.host.hostname, hello.version);
  std::vector<LeaseHeld> held = hello.held;
  if (owner_ && identity.tenant.uid != *owner_) {
    // What it says of a host it may not say of that of others; nor whose leases it has.
    executor.host.boot_id = std::to_string(identity.tenant.uid) + ":" + executor.host.boot_id;
    std::erase_if(held, [&](const LeaseHeld& one) {
      return one.tenant.uid != static_cast<std::uint32_t>(identity.tenant.uid);
    });
  }
  // Once: to find a name may take a while.
  if (executor.grant.owner) executor.granted_by = user_name(*executor.grant.owner);
  parts_.joined(executor, hello);
  parts_.loop.make([&](WorkerBroker& broker, MonotonicTime) {
    broker.executor_joined(executor, parts_.leases.adopt(held, executor, now), now);
  });
}

void ExecutorService::executor_resumed(const ExecutorId& id) {
  parts_.loop.make(
      [&](WorkerBroker& broker, MonotonicTime now) { broker.executor_resumed(id, now); });
}

void ExecutorService::executor_lost(const ExecutorId& id) {
  parts_.loop.make([&](WorkerBroker& broker, MonotonicTime now) { broker.executor_lost(id, now); });
}

bool ExecutorService::perform(const BrokerAction& action) {
  if (const auto* send = std::get_if<SendToExecutor>(&action)) {
    ControlMessage message = send->message;
    // Ours we claim ourselves, for whomever they are.
    if (auto* opening = std::get_if<OpenLease>(&message); opening != nullptr && !opening->client)
      opening->holder_uid = owner_;
    gate_.send(send->executor, std::move(message));
    return true;
  }
  if (const auto* forget = std::get_if<ForgetExecutor>(&action)) {
    gate_.forget(forget->executor);
    return true;
  }
  return false;
}

}  // namespace orchid::gateway
