// copy_service_world.h: executors on several hosts that have data, and do with copies what the test
// says.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data_world.h"

namespace orchid::gateway {

inline const ExecutorId here("e1");
inline const ExecutorId there("e2");
inline const ExecutorId elsewhere("e3");

struct CopyServiceWorld : DataWorld {
  void join_copying(const ExecutorId& id, const std::string& host,
                    MonotonicTime ends = MonotonicTime::max()) {
    Executor executor = executor_on(host == "n1" ? "here" : host, host, id);
    executor.copies_data = true;
    executor.lane_address = "10.0.0.1:7";
    executor.ends = ends;
    join(executor);
  }
  /// A batch job's of somebody else, for its owner's calls.
  void join_of_another_owner(const ExecutorId& id, const std::string& host) {
    Executor executor = executor_on(host, host, id);
    executor.owner.tenant.uid = data_owner + 1;
    executor.grant.source = GrantSource::share;
    executor.copies_data = true;
    executor.lane_address = "10.0.0.1:7";
    join(executor);
  }
  /// An object that this executor brings.
  DataId bring(const ExecutorId& id, const std::string& host, const std::string& name,
               std::uint64_t bytes, std::uint32_t copies = 1) {
    const DataId data = make_data_id();
    Executor executor = executor_on(host == "n1" ? "here" : host, host, id);
    executor.copies_data = true;
    executor.lane_address = "10.0.0.1:7";
    brought[id].push_back({.data = data,
                           .terms = {.tenant = {.uid = data_owner, .name = "anna"},
                                     .bytes = ByteCount{bytes},
                                     .name = name,
                                     .version = 1,
                                     .secret = std::string(64, 's'),
                                     .copies = copies}});
    join(executor, brought[id]);
    return data;
  }
  void join_large(const ExecutorId& id, const std::string& host, ByteCount memory = 1_GiB) {
    Executor executor = executor_on(host, host, id);
    executor.copies_data = true;
    executor.lane_address = "10.0.0.1:7";
    executor.host.cores = {0, 1, 2, 3};
    executor.data_memory = memory;
    join(executor);
  }
  void gather(const std::string& names, std::chrono::seconds within = std::chrono::seconds(60),
              const placement::WorkerRequest& worker = {}) {
    service.copies().gather({.tenant = data_owner,
                             .names = names,
                             .worker = worker,
                             .deadline = clock.now() + within,
                             .client_gone = client_gone},
                            [this](CallDataFinder::Found found) { call = std::move(found); });
  }
  void tick() { service.copies().tick(clock.now()); }
  template <typename Message>
  [[nodiscard]] std::optional<std::pair<ExecutorId, Message>> last() const {
    for (auto at = sent.rbegin(); at != sent.rend(); ++at)
      if (const auto* message = std::get_if<Message>(&at->second))
        return std::pair(at->first, *message);
    return std::nullopt;
  }
  template <typename Message>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        sent, [](const auto& one) { return std::holds_alternative<Message>(one.second); }));
  }
  /// The executors do what they were asked for last.
  void finish_copy(DataId id) {
    const auto room = last<MakeData>();
    REQUIRE(room.has_value());
    REQUIRE(room->second.data == id);
    say(room->first, DataMade{id});
    const auto offer = last<OfferData>();
    REQUIRE(offer.has_value());
    say(offer->first, DataOffered{id, offer->second.transfer, "10.0.0.1:99"});
    const auto fetch = last<FetchData>();
    REQUIRE(fetch.has_value());
    CHECK(fetch->first == room->first);
    CHECK(fetch->second.address == "10.0.0.1:99");
    CHECK(fetch->second.key == offer->second.key);
    say(fetch->first, DataFetched{id, fetch->second.transfer});
    REQUIRE(last<SealData>().has_value());
    say(fetch->first, DataSealed{id, room->second.terms.bytes});
  }

  std::map<ExecutorId, std::vector<DataHeld>> brought;
  std::optional<CallDataFinder::Found> call;
  std::shared_ptr<std::atomic<bool>> client_gone = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace orchid::gateway
