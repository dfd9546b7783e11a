// Data that is on disk, and who waits for it: lanes, calls and leases of memory.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "executor_fixture.h"

namespace orchid::tests {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t another = 4'000'000;  // tenant

/// There is memory for three objects.
struct DiskFixture {
  DataId make(std::uint32_t tenant = ::geteuid(), const std::string& name = "name") {
    const MakeData made{.data = make_data_id(),
                        .terms = {.tenant = {tenant, "test"},
                                  .bytes = 1_MiB,
                                  .name = name,
                                  .secret = std::string(64, 'a')},
                        .write_within = 60s};
    executor.with_data([&](executor::DataService& data) { data.obey(made); });
    REQUIRE(look([&](auto& book) { return book.contains(made.data); }));
    executor.with_data([&](executor::DataService& data) { data.obey(SealData{made.data}); });
    REQUIRE(look([&](auto& book) { return book.has_for(made.data, tenant); }));
    return made.data;
  }
  /// Of the book, until it holds or 10 s are over.
  template <typename Condition>
  bool look(Condition condition) {
    return eventually([&] {
      bool holds = false;
      executor.with_data([&](executor::DataService& data) { holds = condition(data.book()); });
      return holds;
    });
  }
  bool is_on_disk(const DataId& data) {
    return look([&](auto& book) { return book.is_on_disk(data); });
  }
  std::uint64_t read_back() {
    std::map<std::string, std::uint64_t> counters;
    executor.with_data([&](executor::DataService& data) { data.count(counters); });
    return counters["data_read_back"];
  }
  ByteCount used() {
    ByteCount bytes;
    executor.with_data([&](executor::DataService& data) { bytes = data.book().used(); });
    return bytes;
  }

  TemporaryDirectory disk;
  LocalExecutor executor{{.programs = PROGRAMS,
                          .data_memory = 3_MiB,
                          .data_spill = disk.path(),
                          .remote = lane_under_test() != LaneKind::local,
                          .trusted_fabric = is_fabric_trusted()}};
};

}  // namespace

TEST_CASE_FIXTURE(DiskFixture, "another tenant's data is not read back for a lane that asks") {
  const DataId theirs = make(another);
  std::vector<DataId> own;
  while (own.size() < 4) own.push_back(make());
  REQUIRE(is_on_disk(theirs));
  REQUIRE(is_on_disk(own[0]));
  WorkerClient worker(executor, lane_under_test());
  worker.send(LaneAttach{{theirs}});
  const LaneMessage refused = worker.receive();
  REQUIRE(std::holds_alternative<LaneNotAttached>(refused));
  CHECK(std::get<LaneNotAttached>(refused).code == ErrorCode::denied);
  CHECK(read_back() == 0);
  CHECK(is_on_disk(theirs));
  // Her own comes, also when it is asked for twice.
  worker.send(LaneAttach{{own[0], own[0]}});
  for (int answer = 0; answer < 2; ++answer) {
    const LaneMessage attached = worker.receive();
    REQUIRE_MESSAGE(std::holds_alternative<LaneAttached>(attached), encode(attached));
    CHECK(std::get<LaneAttached>(attached).data == own[0]);
  }
  CHECK(read_back() == 1);
}

TEST_CASE_FIXTURE(DiskFixture, "all that a lane asks for at once comes, one after the other") {
  std::vector<DataId> own;
  while (own.size() < 6) own.push_back(make());
  WorkerClient worker(executor, lane_under_test());
  for (int i = 0; i < 2; ++i) REQUIRE(is_on_disk(own[static_cast<std::size_t>(i)]));
  worker.send(LaneAttach{{own[0], make_data_id(), own[1]}});
  std::vector<DataId> attached;
  int refused = 0;
  while (attached.size() + static_cast<std::size_t>(refused) < 3) {
    const LaneMessage said = worker.receive();
    if (const auto* one = std::get_if<LaneAttached>(&said)) attached.push_back(one->data);
    if (std::holds_alternative<LaneNotAttached>(said)) ++refused;
  }
  CHECK(attached == std::vector{own[0], own[1]});
  CHECK(refused == 1);
}

TEST_CASE_FIXTURE(DiskFixture, "a room that a call asks for once more is the same room") {
  const WorkerClient client(executor, lane_under_test());
  struct Told {
    std::vector<ServiceAnswer> answers;
    std::vector<UniqueFd> files;
  } told;
  const auto ask = [&](std::uint64_t worker, const ServiceRequest& request) {
    executor.with_calls([&](executor::DataOfCalls& calls) {
      calls.ask({::geteuid(), "test"}, worker, request,
                [&told](const ServiceAnswer& answer, int file) {
                  told.answers.push_back(answer);
                  if (file >= 0) told.files.emplace_back(::dup(file));
                });
    });
  };
  const auto answers = [&] {
    std::size_t count = 0;
    executor.run([&] { count = told.answers.size(); });
    return count;
  };
  std::uint64_t worker = 0;
  while (answers() == 0 && worker < 100)
    ask(++worker, {.ask = ServiceAsk::create_data, .sequence = 5, .bytes = 4096});
  REQUIRE(answers() == 1);
  CHECK(used() == 4_KiB);
  // Its answer was lost with its depot.
  ask(worker, {.ask = ServiceAsk::create_data, .sequence = 5, .bytes = 4096});
  REQUIRE(answers() == 2);
  CHECK(told.answers[0].verdict == ServiceVerdict::done);
  CHECK(told.answers[1].verdict == ServiceVerdict::done);
  CHECK(told.answers[1].data == told.answers[0].data);
  CHECK(told.files.size() == 2);
  CHECK(used() == 4_KiB);
  ask(worker, {.ask = ServiceAsk::discard_data, .sequence = 6});
  REQUIRE(eventually([&] { return answers() == 3; }));
  told.files.clear();
  CHECK(used() == 0_B);

  // While it waits for the disk.
  std::vector<DataId> own;
  while (own.size() < 3) own.push_back(make());
  executor.with_calls([&](executor::DataOfCalls& calls) {
    for (int times = 0; times < 3; ++times)
      calls.ask(
          {::geteuid(), "test"}, worker,
          {.ask = ServiceAsk::create_data, .sequence = 7, .bytes = 1 << 20},
          [&told](const ServiceAnswer& answer, int /*file*/) { told.answers.push_back(answer); });
  });
  REQUIRE(eventually([&] { return answers() == 4; }));
  CHECK(is_on_disk(own[0]));
  CHECK(look([](auto& book) { return book.used() == 3_MiB; }));
  CHECK(told.answers[3].verdict == ServiceVerdict::done);
  // A call that ends while its room waits gets none.
  executor.with_calls([&](executor::DataOfCalls& calls) {
    calls.ask(
        {::geteuid(), "test"}, worker,
        {.ask = ServiceAsk::create_data, .sequence = 8, .bytes = 1 << 20},
        [&told](const ServiceAnswer& answer, int /*file*/) { told.answers.push_back(answer); });
    calls.worker_ended(worker);
  });
  REQUIRE(is_on_disk(own[1]));
  CHECK(look([](auto& book) { return book.used() == 1_MiB; }));
  CHECK(answers() == 4);
}

TEST_CASE_FIXTURE(DiskFixture,
                  "a lease of memory that ends while it waits for the disk is not made") {
  std::vector<DataId> own;
  while (own.size() < 3) own.push_back(make());
  const LeaseId lease{3, 1};
  executor.with_memory([&](executor::MemoryLeases& leases) {
    leases.obey(LeaseMemory{.lease = lease,
                            .tenant = {::geteuid(), "test"},
                            .bytes = 1_MiB,
                            .key = std::string(32, 'a'),
                            .expires_in = 600s});
    leases.obey(EndMemory{lease});
  });
  bool ended = false;
  for (const ControlMessage& message : executor.with_data([](executor::DataService&) {}))
    if (const auto* over = std::get_if<MemoryEnded>(&message)) ended |= over->lease == lease;
  CHECK(ended);
  REQUIRE(is_on_disk(own[0]));
  executor.with_memory([&](executor::MemoryLeases& leases) {
    CHECK(leases.introduce(std::chrono::steady_clock::now()).empty());
  });
  CHECK(used() == 2_MiB);
}

}  // namespace orchid::tests
