// data_world.h: the conversation with executors about data objects, with executors that say what
// the test says.
#pragma once
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data/data_service.h"
#include "foundation/clock.h"

namespace orchid::gateway {

constexpr uid_t data_owner = 1000;

class SetClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  void advance(std::chrono::seconds time) { now_ += time; }

 private:
  MonotonicTime now_{std::chrono::hours(1)};
};

struct DataWorld {
  explicit DataWorld(std::chrono::milliseconds back_within = {}, DataCatalogue::Limits limits = {},
                     StartFarEnd start_far_end = {})
      : service({.loop = loop,
                 .broker = broker,
                 .messages = messages,
                 .send = [this](const ExecutorId& to,
                                ControlMessage message) { sent.emplace_back(to, message); },
                 .start_far_end = std::move(start_far_end)},
                {.limits = limits, .executors_back_within = back_within}) {
    service.start();
  }

  void join(const ExecutorId& id, MonotonicTime ends = MonotonicTime::max(),
            bool draining = false) {
    Executor executor = executor_on("here", "n1", id);
    executor.ends = ends;
    executor.grant.draining = draining;
    join(executor);
  }
  static Executor executor_on(const std::string& machine, const std::string& host,
                              const ExecutorId& id) {
    Executor executor{
        .id = id, .owner = {}, .host = {.boot_id = machine, .hostname = host, .memory = 64_GiB}};
    executor.host.cores = {0};
    executor.lane_socket = "/run/" + id.value();
    executor.data_memory = 1_GiB;
    executor.digests_data = true;
    return executor;
  }
  void join(const Executor& executor, const std::vector<DataHeld>& held = {}) {
    service.executor_joined(executor, held);
    broker.executor_joined(executor, {}, clock.now());
  }
  void make(const std::string& name = "climate") {
    service.make(
        {.tenant = {.uid = data_owner, .name = "anna"}, .bytes = ByteCount{10}, .name = name},
        [this](const Result<ReachableData>& result) { made = result; });
  }
  void remove(const std::string& name) {
    removed.reset();
    service.remove(data_owner, {.name = name}, {},
                   [this](const Result<void>& result) { removed = result; });
  }
  /// The one that was asked for room last, and for what.
  [[nodiscard]] std::pair<ExecutorId, DataId> asked() const {
    REQUIRE(!sent.empty());
    const auto* message = std::get_if<MakeData>(&sent.back().second);
    REQUIRE(message != nullptr);
    return {sent.back().first, message->data};
  }
  void say(const ExecutorId& from, const ControlMessage& message) {
    messages.deliver(from, message);
  }
  /// Sealed.
  DataId put(const std::string& name = "climate") {
    make(name);
    const auto [executor, id] = asked();
    say(executor, DataMade{id});
    service.seal(id, [](const Result<ReachableData>& sealed) { REQUIRE(sealed.has_value()); });
    say(executor, DataSealed{id, ByteCount{10}});
    return id;
  }
  /// A room whose bytes are there, and that is to be sealed.
  DataId write(DataService::NewData wanted, std::optional<Result<ReachableData>>& outcome) {
    wanted.tenant = {.uid = data_owner, .name = "anna"};
    service.make(std::move(wanted), [](const Result<ReachableData>&) {});
    const auto [executor, id] = asked();
    say(executor, DataMade{id});
    service.seal(id, [&outcome](const Result<ReachableData>& sealed) { outcome = sealed; });
    return id;
  }
  [[nodiscard]] std::vector<SealData> seals() const {
    std::vector<SealData> all;
    for (const auto& [to, message] : sent)
      if (const auto* seal = std::get_if<SealData>(&message)) all.push_back(*seal);
    return all;
  }
  /// Who was sent such a message, each time.
  template <typename Message>
  [[nodiscard]] std::vector<ExecutorId> told() const {
    std::vector<ExecutorId> all;
    for (const auto& [to, message] : sent)
      if (std::holds_alternative<Message>(message)) all.push_back(to);
    return all;
  }
  /// The service looks, now and then, until that is so.
  template <typename Condition>
  void run_until(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.restart();
      io.run_one_for(std::chrono::milliseconds(50));
    }
  }
  [[nodiscard]] std::size_t drops_of(DataId id) const {
    std::size_t count = 0;
    for (const auto& [to, message] : sent)
      if (const auto* drop = std::get_if<DropData>(&message)) count += drop->data == id ? 1 : 0;
    return count;
  }

  boost::asio::io_context io;
  SetClock clock;
  WorkerBroker broker{{.epoch = 1, .boot_id = "here", .remote_dispatch = true}, {}};
  BrokerLoop loop{io, clock, broker};
  ExecutorMessages messages;
  std::vector<std::pair<ExecutorId, ControlMessage>> sent;
  DataService service;
  std::optional<Result<ReachableData>> made;
  std::optional<Result<void>> removed;
};

}  // namespace orchid::gateway
