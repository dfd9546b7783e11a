// Places of a gateway: a worker for each module, of which one runs. And clients' leases of separate
// processes: a worker with one module at a time.
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "executor_fixture.h"
#include "foundation/files.h"
#include "lane_client/policy.h"
#include "lanes/lane_session.h"
#include "protocol/digest.h"

namespace orchid::tests {
namespace {

struct PlaceFixture {
  PlaceFixture() : PlaceFixture(512_MiB) {}
  explicit PlaceFixture(ByteCount memory)
      : executor({.programs = PROGRAMS,
                  .worker_memory = memory,
                  .remote = lane_under_test() != LaneKind::local,
                  .trusted_fabric = is_fabric_trusted()}),
        place(executor.open_lease()) {}

  WorkerClient& claim() {
    workers.push_back(std::make_unique<WorkerClient>(executor, lane_under_test(), place));
    return *workers.back();
  }

  LocalExecutor executor;
  LocalExecutor::Lease place;
  std::vector<std::unique_ptr<WorkerClient>> workers;
};

/// A client's lease that has a process for each module.
struct SeparateFixture {
  SeparateFixture() : worker(executor, lane_under_test(), executor.open_lease(terms(true))) {}
  static ClientTerms terms(bool separate) {
    return {.client_lease = {1, 1000},
            .expires_in = std::chrono::hours(1),
            .separate_processes = separate};
  }

  LocalExecutor executor{{.programs = PROGRAMS,
                          .remote = lane_under_test() != LaneKind::local,
                          .trusted_fabric = is_fabric_trusted()}};
  WorkerClient worker;
};

/// That a process has used.
unsigned long processor_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  unsigned long user = 0;
  unsigned long system = 0;
  for (int i = 3; i < 14; ++i) fields >> field;
  fields >> user >> system;
  return user + system;
}

std::string digest_of_function(const std::string& name) {
  const auto bytes = read_file(test_function(name), 64_MiB);
  REQUIRE(bytes.has_value());
  return digest_of(*bytes);
}

}  // namespace

TEST_CASE_FIXTURE(SeparateFixture,
                  "a client's worker with code of one module is swapped for another module") {
  const LaneSlot first = worker.load(test_function("counts_calls"));
  CHECK(worker.call(first, "").output == "1");
  const pid_t before = worker.pid();
  const LaneSlot other = worker.load(test_function("reports_pid"));
  CHECK(worker.pid() != before);
  CHECK(worker.call(other, "").outcome == Outcome::ok);
  CHECK(worker.call(worker.load(test_function("counts_calls")), "").output == "1");
  CHECK(executor.counter("workers_swapped") == 2);
  CHECK(executor.counter("workers_worker_lost") == 0);
  CHECK(executor.sleepers() == 0);  // what a client's worker keeps is the client's affair
}

TEST_CASE_FIXTURE(SeparateFixture, "a module that nothing was loaded of costs no worker") {
  const pid_t before = worker.pid();
  worker.send(LaneAnnounce{"sha256:" + std::string(64, 'a')});
  REQUIRE(std::holds_alternative<LaneNeedCode>(worker.receive()));
  CHECK(worker.call(worker.load(test_function("counts_calls")), "").output == "1");
  CHECK(worker.pid() == before);
  CHECK(executor.counter("workers_swapped") == 0);
}

TEST_CASE_FIXTURE(SeparateFixture,
                  "a client that announces two modules at once has them in two processes") {
  const std::string one = digest_of_function("counts_calls");
  const std::string other = digest_of_function("reports_pid");
  (void)worker.load(test_function("counts_calls"));  // the code of both is known from now on
  (void)worker.load(test_function("reports_pid"));
  std::map<pid_t, std::string> module_of{{worker.pid(), other}};
  // The first announcement ends the worker. What is announced next finds it still there, or gets
  // the fresh one when that end has been seen before; then the last announcement ends that one too.
  bool sees_the_end = false;
  SUBCASE("and the executor has read both when the worker ends") {}
  SUBCASE("and the worker has ended when the executor reads the other one") { sees_the_end = true; }
  worker.send(LaneAnnounce{one});
  if (sees_the_end) {
    REQUIRE(std::holds_alternative<LaneEnded>(worker.receive()));
    REQUIRE(std::holds_alternative<LaneClaimed>(worker.receive()));
  }
  worker.send(LaneAnnounce{other});
  worker.send(LaneAnnounce{one});
  std::string loaded;
  while (loaded != one) {
    const LaneMessage message = worker.receive();
    if (std::holds_alternative<LaneClaimed>(message)) worker.send(LaneAnnounce{one});
    const auto* got = std::get_if<LaneSlot>(&message);
    if (got == nullptr) continue;
    loaded = got->digest;
    CHECK(module_of.emplace(worker.pid(), loaded).first->second == loaded);
  }
}

TEST_CASE_FIXTURE(SeparateFixture, "a module that is announced waits for the call that runs") {
  const LaneSlot slot = worker.load(test_function("computes"));
  const pid_t before = worker.pid();
  const unsigned long used = processor_ticks(before);
  (void)worker.start(slot, "500");
  REQUIRE(eventually([&] { return processor_ticks(before) > used + 5; }));  // it runs
  worker.send(LaneAnnounce{digest_of_function("counts_calls")});
  const auto reply = worker.finish();
  CHECK(reply.outcome == Outcome::ok);
  CHECK_FALSE(reply.ended);
  CHECK(worker.call(worker.load(test_function("counts_calls")), "").output == "1");
  CHECK(worker.pid() != before);
}

TEST_CASE_FIXTURE(SeparateFixture,
                  "a module that is announced waits for all of the answer, however large it is") {
  const LaneSlot slot = worker.load(test_function("output_big"));
  const pid_t before = worker.pid();
  const unsigned long used = processor_ticks(before);
  (void)worker.start(slot, "50000000");
  REQUIRE(eventually([&] { return processor_ticks(before) > used + 1; }));  // it runs
  worker.send(LaneAnnounce{digest_of_function("counts_calls")});
  const auto reply = worker.finish();
  CHECK_MESSAGE(reply.outcome == Outcome::ok, reply.message);
  CHECK_FALSE(reply.ended);
  CHECK(reply.output.size() == 50'000'000);
  CHECK(worker.call(worker.load(test_function("counts_calls")), "").output == "1");
}

TEST_CASE_FIXTURE(SeparateFixture,
                  "a worker that says it is idle or ends, and does not, makes way in time") {
  constexpr auto longest = executor::LaneSession::swap_patience +
                           executor::LaneSession::retire_patience +
                           executor::LaneSession::last_words_patience;
  static_assert(longest < lane_client::replace_within);
  for (const auto words : {executor::LastWords::none, executor::LastWords::spoiled}) {
    const LaneSlot slot = worker.load(test_function("pretends_idleness"));
    (void)worker.start(slot, std::to_string(static_cast<unsigned>(words)));
    const auto announced = std::chrono::steady_clock::now();
    worker.send(LaneAnnounce{digest_of_function("counts_calls")});
    CHECK(std::holds_alternative<LaneEnded>(worker.receive()));
    CHECK(std::holds_alternative<LaneClaimed>(worker.receive()));
    CHECK(std::chrono::steady_clock::now() - announced < lane_client::replace_within);
    CHECK(worker.call(worker.load(test_function("counts_calls")), "").output == "1");
  }
}

TEST_CASE_FIXTURE(SeparateFixture, "who would share a worker claims none of such a lease") {
  if (lane_under_test() != LaneKind::local) return;  // it is the claim that counts
  const auto lease = executor.open_lease(terms(true));
  auto socket = connect_packets(executor.lane_socket());
  REQUIRE(socket.has_value());
  REQUIRE(send_packet(socket->get(), encode(LaneClaim{.lease = lease.id, .secret = lease.secret}))
              .has_value());
  const auto packet = receive_packet(socket->get(), true);
  REQUIRE((packet.has_value() && packet->has_value()));
  const auto answer = parse_lane_message((*packet)->text);
  REQUIRE((answer.has_value() && std::holds_alternative<LaneRefused>(*answer)));
  CHECK(std::get<LaneRefused>(*answer).code == ErrorCode::unsupported);
  CHECK(contains(std::get<LaneRefused>(*answer).message, "lane protocol 2"));
}

TEST_CASE_FIXTURE(PlaceFixture,
                  "two modules have two processes of one lease, and keep their state") {
  WorkerClient& first = claim();
  WorkerClient& second = claim();
  CHECK(first.pid() != second.pid());
  const LaneSlot one = first.load(test_function("counts_calls"));
  const LaneSlot other = second.load(test_function("reports_pid"));
  for (int i = 1; i <= 3; ++i) {
    CHECK(first.call(one, "").output == std::to_string(i));
    const auto reply = second.call(other, "");
    CHECK(reply.outcome == Outcome::ok);
    if (lane_under_test() == LaneKind::local) CHECK(reply.output == std::to_string(second.pid()));
  }
  CHECK(eventually([&] { return executor.sleepers() == 2; }));
}

TEST_CASE_FIXTURE(PlaceFixture, "a worker of one module takes no other module") {
  WorkerClient& worker = claim();
  const LaneSlot slot = worker.load(test_function("counts_calls"));
  const std::string other = "sha256:" + std::string(64, 'a');
  worker.send(LaneAnnounce{other});
  const LaneMessage answer = worker.receive();
  const auto* rejected = std::get_if<LaneRejected>(&answer);
  REQUIRE(rejected != nullptr);
  CHECK(rejected->digest == other);
  CHECK(rejected->code == ErrorCode::conflict);
  CHECK(worker.call(slot, "").output == "1");
}

TEST_CASE_FIXTURE(PlaceFixture, "the crash of one worker of a place leaves the others' state") {
  WorkerClient& sound = claim();
  WorkerClient& crashing = claim();
  const LaneSlot slot = sound.load(test_function("counts_calls"));
  CHECK(sound.call(slot, "").output == "1");
  const pid_t before = crashing.pid();
  CHECK(crashing.call(crashing.load(test_function("segfaults")), "").outcome ==
        Outcome::function_crashed);
  CHECK(crashing.pid() != before);
  CHECK(sound.call(slot, "").output == "2");
}

TEST_CASE_FIXTURE(PlaceFixture, "a place has so many workers at most") {
  if (lane_under_test() != LaneKind::local) return;  // it is the lease's bound, on whatever lane
  constexpr auto most = executor::LeaseTable::claims_per_place;
  for (std::uint32_t i = 0; i < most; ++i) claim();
  CHECK_THROWS_WITH_AS(claim(), doctest::Contains("all workers of the lease are claimed"),
                       std::runtime_error);
  workers.pop_back();
  CHECK(eventually([&] {
    try {
      claim();
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
}

TEST_CASE_FIXTURE(PlaceFixture, "eviction and the end of the lease reach each worker of a place") {
  for (int i = 0; i < 2; ++i) claim();
  executor.evict(place.id);
  for (const auto& worker : workers) {
    const LaneMessage message = worker->receive();
    const auto* ended = std::get_if<LaneEnded>(&message);
    REQUIRE(ended != nullptr);
    CHECK(ended->outcome == Outcome::evicted);
    CHECK_FALSE(ended->started);
  }
  workers.clear();
  place = executor.open_lease();
  for (int i = 0; i < 2; ++i) claim();
  executor.close(place.id);
  for (const auto& worker : workers) {
    const LaneMessage message = worker->receive();
    REQUIRE(std::holds_alternative<LaneRefused>(message));
    CHECK(std::get<LaneRefused>(message).code == ErrorCode::lease_ended);
  }
}

TEST_CASE_FIXTURE(PlaceFixture, "a deadline and a cancellation end the call of their own worker") {
  WorkerClient& sleeping = claim();
  WorkerClient& running = claim();
  const LaneSlot kept = sleeping.load(test_function("counts_calls"));
  CHECK(sleeping.call(kept, "").output == "1");
  const LaneSlot loops = running.load(test_function("loops"));
  CHECK(running.call(loops, "", std::chrono::milliseconds(100)).outcome ==
        Outcome::deadline_exceeded);
  const LaneSlot again = running.load(test_function("loops"));
  running.cancel(running.start(again, ""));
  CHECK(running.finish().outcome == Outcome::cancelled);
  CHECK(sleeping.call(kept, "").output == "2");
}

TEST_CASE_FIXTURE(PlaceFixture, "a worker that computes while it has nothing to run is ended") {
  WorkerClient& sound = claim();
  WorkerClient& pretending = claim();
  const LaneSlot slot = sound.load(test_function("counts_calls"));
  CHECK(sound.call(slot, "").output == "1");
  const auto reply = pretending.call(pretending.load(test_function("pretends_to_sleep")), "");
  CHECK(reply.outcome == Outcome::function_crashed);
  CHECK(contains(reply.message, "processor time"));
  CHECK(executor.counter("workers_restless") == 1);
  CHECK(sound.call(slot, "").output == "2");
}

TEST_CASE("all workers of a place together keep to its memory: who ran longest ago goes") {
  PlaceFixture site(128_MiB);
  WorkerClient& first = site.claim();
  WorkerClient& second = site.claim();
  REQUIRE(first.call(first.load(test_function("holds_memory")), "90 0").outcome == Outcome::ok);
  REQUIRE(eventually([&] { return site.executor.sleepers() == 2; }));
  CHECK(second.call(second.load(test_function("fills_memory")), "20 0").outcome == Outcome::ok);
  CHECK(second.call(second.load(test_function("fills_memory")), "90 300").outcome == Outcome::ok);
  const LaneMessage message = first.receive();
  const auto* ended = std::get_if<LaneEnded>(&message);
  REQUIRE(ended != nullptr);
  CHECK(ended->outcome == Outcome::worker_lost);
  CHECK(contains(ended->message, "gave way"));
  CHECK(site.executor.counter("workers_gave_way") == 1);
}

}  // namespace orchid::tests
