// Calls that are given data objects: their worker maps them first.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "dispatch_fakes.h"
#include "dispatcher/dispatcher.h"
#include "foundation/files.h"
#include "protocol/data_table.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Bench;
using test::FakeWorker;

std::shared_ptr<const CallData> some_data(std::size_t count = 1) {
  CallData data{.at = placement::GrantId("e"), .host = "n17"};
  for (std::size_t i = 0; i < count; ++i) {
    data.ids.push_back(make_data_id());
    data.labels.push_back("climate@" + std::to_string(i + 1));
  }
  return std::make_shared<const CallData>(std::move(data));
}

/// What the worker is sent: the ids, and the input behind their table.
void check_payload(const std::string& payload, const CallData& data, const std::string& input) {
  const auto table = read_data_table(as_bytes(payload));
  REQUIRE(table.has_value());
  REQUIRE(table->count == data.ids.size());
  for (std::size_t i = 0; i < table->count; ++i) CHECK(table->data()[i] == data.ids[i]);
  CHECK(payload.substr(table->bytes) == input);
}

/// A call of "f" that is given these.
void run(Bench& bench, const std::shared_ptr<const CallData>& data) {
  const auto answer = bench.call("f", "x", {.data = data});
  bench.settle();
  REQUIRE(bench.worker_of("f")->run_all() == 1);
  bench.settle();
  REQUIRE(answer->done);
}

}  // namespace

TEST_CASE("a call is sent once its worker has mapped what it is given") {
  Bench bench;
  bench.executor.attaches = false;
  bench.grant_apart();
  bench.settle();
  const auto data = some_data(3);
  const auto answer = bench.call("f", "input", {.data = data});
  bench.settle();
  FakeWorker& worker = *bench.worker_of("f");
  REQUIRE(worker.count<LaneAttach>() == 1);
  CHECK_FALSE(worker.take().has_value());
  for (const DataId& id : data->ids) worker.say(LaneAttached{id, ByteCount{10}});
  bench.settle();
  const auto payload = worker.take();
  REQUIRE(payload.has_value());
  check_payload(*payload, *data, "input");
  worker.answer({.output = "sum"});
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->output() == "sum");
}

TEST_CASE("what is mapped stays for the next calls, and one without data needs nothing") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  const auto data = some_data();
  for (int i = 0; i < 3; ++i) {
    const auto answer = bench.call("f", "x", {.data = i < 2 ? data : nullptr});
    bench.settle();
    REQUIRE(bench.worker_of("f")->run_all() == 1);
    bench.settle();
    CHECK(answer->done);
  }
  CHECK(bench.worker_of("f")->count<LaneAttach>() == 1);
}

TEST_CASE("a large input lies behind the table of its data, each time that it is sent") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  const auto data = some_data(2);
  const std::string input(200'000, 'x');  // the lane has room for 1 MiB
  const auto answer = bench.call("f", input, {.data = data});
  bench.settle();
  for (int i = 0; i < 2; ++i) {
    const auto payload = bench.worker_of("f")->take();
    REQUIRE(payload.has_value());
    check_payload(*payload, *data, input);
    if (i == 0) bench.worker_of("f")->answer({.kind = ResponseKind::need_data});
    bench.settle();
  }
  bench.worker_of("f")->answer({.output = "sum"});
  bench.settle();
  REQUIRE(answer->done);
  CHECK(answer->output() == "sum");
}

TEST_CASE("a worker that has lost its data is given it again, and not for ever") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  const auto answer = bench.call("f", "x", {.data = some_data()});
  bench.settle();
  for (int i = 0; i < 10 && !answer->done; ++i) {
    REQUIRE(bench.worker_of("f")->take().has_value());
    bench.worker_of("f")->answer({.kind = ResponseKind::need_data});
    bench.settle();
  }
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::worker_lost);
  CHECK(bench.worker_of("f")->count<LaneAttach>() == 1 + lane_client::most_data_losses);
}

TEST_CASE("data that is not there ends the calls that name it, and no others") {
  Bench bench;
  bench.executor.refuses_data = LaneNotAttached{{}, ErrorCode::data_lost, "it has been deleted"};
  bench.grant_apart();
  bench.settle();
  const auto lost = bench.call("f", "x", {.data = some_data()});
  const auto other = bench.call("f", "y");
  bench.settle();
  CHECK_FALSE(lost->done);  // its executor may be about to end
  bench.advance(seconds(1));
  bench.settle();
  REQUIRE(lost->done);
  CHECK(lost->result.outcome == Outcome::bad_request);
  REQUIRE(lost->result.refused.has_value());
  CHECK(*lost->result.refused == ErrorCode::data_lost);
  CHECK(lost->result.message.contains("climate@1"));
  CHECK(lost->result.message.contains("n17"));
  CHECK(bench.worker_of("f")->run_all() == 1);
  bench.settle();
  CHECK(other->done);
  CHECK(other->output() == "y");
}

TEST_CASE("what an executor lacks that then ends is not the call's fault") {
  Bench bench;
  bench.executor.refuses_data = LaneNotAttached{{}, ErrorCode::data_lost, "all has been dropped"};
  const LeaseId lease = bench.grant_apart();
  bench.settle();
  const auto answer = bench.call("f", "x", {.data = some_data()});
  bench.settle();
  bench.dispatcher->lease_ended(lease);
  bench.dispatcher->supply_is({});
  bench.advance(milliseconds(2100));
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::no_capacity);
}

TEST_CASE("what its executor lacked a moment ago is why a call has not begun by its deadline") {
  Bench bench;
  bench.executor.refuses_data = LaneNotAttached{{}, ErrorCode::data_lost, "all has been dropped"};
  const LeaseId lease = bench.grant_apart();
  bench.settle();
  SUBCASE("it was") {
    const auto answer = bench.call("f", "x", {.deadline = milliseconds(500), .data = some_data()});
    bench.settle();
    bench.advance(milliseconds(400));
    CHECK_FALSE(answer->done);
    bench.advance(milliseconds(100));
    REQUIRE(answer->done);
    CHECK(answer->result.refused == ErrorCode::data_lost);
  }
  SUBCASE("it was long ago") {
    const auto answer = bench.call("f", "x", {.deadline = seconds(5), .data = some_data()});
    bench.settle();
    bench.dispatcher->lease_ended(lease);
    bench.advance(seconds(5));
    REQUIRE(answer->done);
    CHECK(answer->result.outcome == Outcome::deadline_exceeded);
    CHECK_FALSE(answer->result.refused.has_value());
  }
}

TEST_CASE("where others have cores a call is given back at once, to be placed anew") {
  Bench bench;
  const auto answer = bench.call("f", "x", {.data = some_data()});
  CHECK_FALSE(answer->done);
  bench.advance(seconds(3));
  CHECK_FALSE(answer->done);
  bench.dispatcher->supply_is({.missing = "n17 has no cores", .is_elsewhere = true});
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::no_capacity);
  CHECK(answer->result.refused == ErrorCode::data_elsewhere);
  CHECK(answer->result.message == "n17 has no cores");
  const auto next = bench.call("f", "x", {.data = some_data()});
  REQUIRE(next->done);
  CHECK(next->result.refused == ErrorCode::data_elsewhere);
}

TEST_CASE("a worker that cannot map it is asked again, and not for ever") {
  Bench bench;
  bench.executor.refuses_data =
      LaneNotAttached{{}, ErrorCode::no_capacity, "it has no room for a mapping"};
  bench.grant_apart();
  bench.settle();
  const auto answer = bench.call("f", "x", {.data = some_data()});
  bench.settle();
  CHECK(bench.worker_of("f")->count<LaneAttach>() == lane_client::most_failed_loads);
  for (int i = 0; i < 9; ++i) bench.advance(milliseconds(100));
  CHECK_FALSE(answer->done);  // its cores may just be taken back
  bench.advance(milliseconds(100));
  REQUIRE(answer->done);
  CHECK(answer->result.outcome == Outcome::worker_lost);
}

TEST_CASE("another worker is given the data anew") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  const auto answer = bench.call("f", "x", {.data = some_data()});
  bench.settle();
  FakeWorker& worker = *bench.worker_of("f");
  REQUIRE(worker.take().has_value());
  worker.say(LaneEnded{.request = worker.taken_request,
                       .outcome = Outcome::worker_lost,
                       .message = "killed",
                       .started = true});
  worker.claim();
  bench.settle();
  CHECK(worker.count<LaneAttach>() == 2);
  CHECK(worker.run_all() == 1);
  bench.settle();
  CHECK(answer->done);
}

TEST_CASE("what no call was given for a while is detached") {
  Bench bench({.id = HolderId(1), .give_back_after = seconds(60)});
  bench.grant_apart();
  bench.settle();
  const auto old = some_data();
  const auto fresh = some_data();
  run(bench, old);
  for (int i = 0; i < 5; ++i) {
    bench.advance(seconds(20));
    run(bench, fresh);
  }
  bench.advance(seconds(2));
  FakeWorker& worker = *bench.worker_of("f");
  REQUIRE(worker.count<LaneDetach>() == 1);
  for (const LaneMessage& message : worker.heard)
    if (const auto* detach = std::get_if<LaneDetach>(&message)) CHECK(detach->data == old->ids);
}

TEST_CASE("an executor that takes back what was mapped keeps nobody waiting but the call with it") {
  Bench bench;
  bench.executor.attaches = false;
  bench.grant_apart();
  bench.settle();
  const auto mapped = some_data();
  const auto first = bench.call("f", "x", {.data = mapped});
  bench.settle();
  FakeWorker& worker = *bench.worker_of("f");
  worker.say(LaneAttached{mapped->ids[0], ByteCount{10}});
  bench.settle();
  REQUIRE(worker.run_all() == 1);
  bench.settle();
  const auto data = some_data(2);
  const auto second = bench.call("f", "y", {.data = data});
  bench.settle();
  worker.say(LaneNotAttached{mapped->ids[0], ErrorCode::data_lost, "it was not asked"});
  worker.say(LaneAttached{data->ids[0], ByteCount{10}});
  bench.settle();
  CHECK_FALSE(worker.take().has_value());  // the second one is still to come
  worker.say(LaneAttached{data->ids[1], ByteCount{10}});
  bench.settle();
  REQUIRE(worker.run_all() == 1);
  bench.settle();
  CHECK(second->done);
}

TEST_CASE("what was attached and deleted is asked for again, and its loss ends the call") {
  Bench bench;
  bench.executor.attaches = false;
  bench.grant_apart();
  bench.settle();
  const auto data = some_data(2);
  const auto only = std::make_shared<const CallData>(
      CallData{.ids = {data->ids[0]}, .labels = {"climate@1"}, .at = data->at, .host = "n17"});
  const auto first = bench.call("f", "x", {.data = only});
  bench.settle();
  FakeWorker& worker = *bench.worker_of("f");
  worker.say(LaneAttached{data->ids[0], ByteCount{10}});
  bench.settle();
  REQUIRE(worker.run_all() == 1);
  bench.settle();
  REQUIRE(first->done);
  worker.say(LaneNotAttached{data->ids[0], ErrorCode::data_lost, "it has been deleted"});
  bench.settle();
  const auto second = bench.call("f", "y", {.data = data});
  bench.settle();
  REQUIRE(worker.count<LaneAttach>() == 2);
  worker.say(LaneNotAttached{data->ids[0], ErrorCode::data_lost, "it has been deleted"});
  worker.say(LaneAttached{data->ids[1], ByteCount{10}});
  bench.settle();
  bench.advance(seconds(1));
  REQUIRE(worker.count<LaneAttach>() == 3);
  worker.say(LaneNotAttached{data->ids[0], ErrorCode::data_lost, "it has been deleted"});
  bench.settle();
  REQUIRE(second->done);
  REQUIRE(second->result.refused.has_value());
  CHECK(*second->result.refused == ErrorCode::data_lost);
}

TEST_CASE("more unused objects than one message may name are detached in pieces") {
  Bench bench({.id = HolderId(1), .give_back_after = seconds(60)});
  bench.grant_apart();
  bench.settle();
  run(bench, some_data(64));
  run(bench, some_data(1));
  const auto fresh = some_data();
  for (int i = 0; i < 5; ++i) {
    bench.advance(seconds(20));
    run(bench, fresh);
  }
  bench.advance(seconds(2));
  const FakeWorker& worker = *bench.worker_of("f");
  std::size_t detached = 0;
  for (const LaneMessage& message : worker.heard)
    if (const auto* detach = std::get_if<LaneDetach>(&message)) {
      CHECK(detach->data.size() <= limits::data_per_call);
      detached += detach->data.size();
    }
  CHECK(detached == 65);
}

TEST_CASE("a lane over which nothing can be asked for is given up") {
  Bench bench;
  bench.grant_apart();
  bench.settle();
  const auto warm = bench.call("f", "x");
  bench.settle();
  FakeWorker& worker = *bench.worker_of("f");
  REQUIRE(worker.run_all() == 1);
  bench.settle();
  REQUIRE(::shutdown(worker.socket.get(), SHUT_RD) == 0);
  const auto answer = bench.call("f", "x", {.deadline = seconds(600), .data = some_data()});
  bench.settle();
  bench.advance(seconds(2));
  bench.settle();
  CHECK_FALSE(send_packet(worker.socket.get(), "{}").has_value());  // nobody is there any more
  CHECK_FALSE(answer->done);
}

}  // namespace orchid::gateway
