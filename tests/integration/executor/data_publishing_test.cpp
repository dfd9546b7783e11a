// How what a call has made becomes everybody's, and what can come in between.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <variant>
#include <vector>

#include "in_calls_fixture.h"

namespace orchid::tests {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A call whose offer the gateway has, and has not answered.
struct PublishingFixture : InCallsFixture {
  PublishData begin(std::chrono::milliseconds deadline = 20s) {
    names.hold_offers();
    (void)worker.start(worker.load(test_function("makes_data")), "make weather 1000 1000",
                       deadline);
    REQUIRE(eventually([this] { return names.held().has_value(); }));
    return *names.held();
  }
  void accept(const DataAccepted& message) {
    executor.with_calls([&](executor::DataOfCalls& calls) { calls.obey(message); });
  }
  bool has(const DataId& data) {
    bool there = false;
    executor.with_data(
        [&](executor::DataService& service) { there = service.book().contains(data); });
    return there;
  }
};

}  // namespace

TEST_CASE_FIXTURE(PublishingFixture, "a call that publishes is not ended for its deadline") {
  const auto deadline = Clock::now() + 2s;
  const PublishData offer = begin(2s);
  CHECK(eventually([&] { return Clock::now() > deadline + 200ms; }));
  CHECK(executor.sleepers() == 0);
  accept(acceptance_of(offer));
  const auto reply = worker.finish();
  CHECK_MESSAGE(reply.outcome == Outcome::ok, reply.message);
  const std::vector<ControlMessage> told = executor.with_data([](executor::DataService&) {});
  // The gateway lets older versions go now.
  CHECK(std::ranges::any_of(told, [&](const ControlMessage& message) {
    const auto* kept = std::get_if<DataSealed>(&message);
    return kept != nullptr && kept->data == offer.objects.front().data && kept->bytes.value == 1000;
  }));
}

TEST_CASE_FIXTURE(PublishingFixture, "a gateway that does not answer has the call fail") {
  const PublishData offer = begin();
  const DataId data = offer.objects.front().data;
  executor.with_calls([](executor::DataOfCalls& calls) {
    calls.tick(Clock::now() + executor::DataOfCalls::answer_within);
  });
  const auto reply = worker.finish();
  CHECK(reply.outcome == Outcome::function_error);
  CHECK_MESSAGE(contains(reply.message, "the gateway does not answer"), reply.message);
  CHECK(names.was_dropped(data));
  CHECK(is_clean());
  // Its word comes too late.
  accept(acceptance_of(offer));
  CHECK_FALSE(has(data));
}

TEST_CASE_FIXTURE(PublishingFixture,
                  "a worker that is killed while it publishes has made nothing") {
  const PublishData offer = begin();
  const DataId data = offer.objects.front().data;
  REQUIRE(::kill(worker.pid(), SIGKILL) == 0);
  const auto ended = worker.receive();
  REQUIRE(std::holds_alternative<LaneEnded>(ended));
  CHECK(std::get<LaneEnded>(ended).started);
  CHECK(std::get<LaneEnded>(ended).outcome == Outcome::worker_lost);
  CHECK(eventually([&] { return names.was_dropped(data); }));
  accept(acceptance_of(offer));
  CHECK_FALSE(has(data));
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(PublishingFixture, "what a gateway says to another process is not for this one") {
  const PublishData offer = begin();
  DataAccepted stale{.question = offer.question, .objects = {{.data = make_data_id()}}};
  accept(stale);
  CHECK(names.was_dropped(stale.objects.front().data));
  CHECK(has(offer.objects.front().data));
  accept(acceptance_of(offer));
  CHECK(worker.finish().outcome == Outcome::ok);
  // Nor is it believed twice.
  accept(acceptance_of(offer));
  CHECK(has(offer.objects.front().data));
}

TEST_CASE_FIXTURE(PublishingFixture, "a call whose data is gone when it is accepted fails") {
  const PublishData offer = begin();
  const DataId data = offer.objects.front().data;
  executor.with_data([&](executor::DataService& service) { service.discard(data); });
  accept(acceptance_of(offer));
  const auto reply = worker.finish();
  CHECK(reply.outcome == Outcome::function_error);
  CHECK_MESSAGE(contains(reply.message, "data_lost"), reply.message);
  CHECK(names.was_dropped(data));
}

TEST_CASE_FIXTURE(PublishingFixture, "a call that has sealed what is not there any more fails") {
  // As its depot would pass it on.
  executor.with_calls([&](executor::DataOfCalls& calls) {
    std::optional<ServiceAnswer> said;
    calls.ask({.uid = ::geteuid(), .name = "ada"}, 999'999,
              {.ask = ServiceAsk::publish_data, .sequence = 1, .bytes = 2},
              [&](const ServiceAnswer& answer, int) { said = answer; });
    REQUIRE(said.has_value());
    CHECK(said->verdict == ServiceVerdict::refused);
    CHECK(said->code == ErrorCode::data_lost);
  });
}

TEST_CASE_FIXTURE(PublishingFixture,
                  "names that no data can have are refused, whoever lets them pass") {
  executor.with_calls([&](executor::DataOfCalls& calls) {
    for (const ServiceAsk ask : {ServiceAsk::open_data, ServiceAsk::seal_data}) {
      std::optional<ServiceAnswer> said;
      calls.ask({.uid = ::geteuid(), .name = "ada"}, 999'999,
                {.ask = ask, .sequence = 1, .name = "!!!"},
                [&](const ServiceAnswer& answer, int) { said = answer; });
      REQUIRE(said.has_value());
      CHECK(said->verdict == ServiceVerdict::refused);
      CHECK(said->code == ErrorCode::bad_request);
    }
  });
  CHECK(names.questions() == 0);
}

TEST_CASE_FIXTURE(PublishingFixture, "a call that is spared when the grant ends keeps its room") {
  const LaneSlot slot = worker.load(test_function("makes_data"));
  (void)worker.start(slot, "slow 1000000", 2s);
  REQUIRE(eventually([this] { return used().value == 1'000'000; }));
  executor.with_data([](executor::DataService& data) { data.end(); });
  CHECK(used().value == 1'000'000);
  CHECK(worker.finish().outcome != Outcome::function_crashed);
  CHECK(is_clean());
}

}  // namespace orchid::tests
