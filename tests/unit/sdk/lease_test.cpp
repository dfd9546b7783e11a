#include "orchid/lease.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "c_program.h"
#include "clear_error.h"
#include "fake_executor.h"
#include "fake_gateway.h"
#include "orchid/client.h"
#include "orchid/stream.h"

namespace orchid {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::error_of;
using tests::FakeAnswer;
using tests::FakeExecutor;
using tests::FakeGateway;
using tests::FakeRequest;

/// A gateway that grants one worker of a fake executor.
struct Site {
  FakeExecutor executor;
  std::string second_worker;             // behind the first one, with a comma
  std::string more_workers;              // in the answer to a renewal
  std::atomic<int> renewals_without{0};  // so many first ones bring none
  std::atomic<bool> knows_lease{true};
  FakeGateway gateway{[this](const FakeRequest& request) { return answer(request); }};
  Client client{{.gateway = gateway.address(), .token = "secret"}};

  [[nodiscard]] std::string document(const std::string& workers) const {
    return R"({"id":"l-1-1","cores_per_worker":1,"memory_bytes":0,"expires_in_ms":60000,"workers":[)" +
           workers + "]}";
  }
  [[nodiscard]] std::string worker(const std::string& lease) const {
    return R"({"lease":")" + lease + R"(","secret":"s","node":"n1","boot_id":"","lane_socket":")" +
           executor.path().string() + R"(","lane_address":""})";
  }
  FakeAnswer answer(const FakeRequest& request) {
    if (request.method == "POST")
      return {.status = 201, .body = document(worker("l-1-2") + second_worker)};
    if (request.method == "PATCH" && !knows_lease) return {.status = 404, .body = "{}"};
    if (request.method == "PATCH")
      return {.body = document(renewals_without-- > 0 ? std::string() : more_workers)};
    if (request.method == "DELETE") return {.status = 204};
    return {
        .body =
            R"json({"name":"f","version":"sha256:aa","entries":[{"name":"e","signature":"f64(f64)"}],
      "targets":[],"size":1})json"};
  }
  [[nodiscard]] std::size_t asked(const std::string& method) const {
    std::size_t count = 0;
    for (const FakeRequest& request : gateway.requests()) count += request.method == method ? 1 : 0;
    return count;
  }
};

}  // namespace

TEST_CASE("a lease is asked for, claimed, and deleted at its end") {
  Site site;
  {
    const Lease lease = site.client.lease();
    CHECK(lease.id() == "l-1-1");
    CHECK(lease.workers() == 1);
    CHECK(lease.capacity().nodes == std::vector<std::string>{"n1"});
    CHECK(site.asked("DELETE") == 0);
  }
  CHECK(site.asked("DELETE") == 1);
  CHECK(site.gateway.requests().at(0).target == "/v1/leases");
  CHECK(site.gateway.requests().at(0).body.find("\"workers\":1") != std::string::npos);
}

TEST_CASE("options that make no sense are refused before anybody is asked") {
  Site site;
  CHECK(error_of([&] { (void)site.client.lease({.workers = 0}); }).kind() ==
        ErrorKind::bad_request);
  CHECK(error_of([&] { (void)site.client.lease({.workers = 1, .at_least = 2}); }).kind() ==
        ErrorKind::bad_request);
  CHECK(error_of([&] { (void)site.client.lease({.lane = "pigeon"}); }).kind() ==
        ErrorKind::bad_request);
  CHECK(site.gateway.requests().empty());
}

TEST_CASE("a call of an executor that answers nothing more is given up at its deadline") {
  Site site;
  Lease lease = site.client.lease();
  LeasedFunction function = lease.function("f");
  site.executor.answer_calls(false);
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of([&] { (void)function.invoke("x", {.deadline = milliseconds(50)}); });
  CHECK(error.kind() == ErrorKind::deadline_exceeded);
  CHECK(error.node() == "n1");
  CHECK(std::chrono::steady_clock::now() - start < seconds(5));
  const ReplyFuture future = function.async("x", {.deadline = milliseconds(50)});
  CHECK(future.wait_for(seconds(5)));
  CHECK(error_of([&] { (void)future.get(); }).kind() == ErrorKind::deadline_exceeded);
  CHECK(site.executor.replacements() >= 1);  // it was asked for
}

TEST_CASE("an answer that the code is gone makes it load again, and the call goes on") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  CHECK(function.invoke("one").text() == "one");
  site.executor.forget_code();
  CHECK(function.invoke("two").text() == "two");
  CHECK(site.executor.announcements() == 2);
  Buffer input = lease.buffer(5000);
  std::fill(input.bytes().begin(), input.bytes().end(), std::byte{'b'});
  site.executor.forget_code();
  CHECK(function.invoke(std::move(input)).text() == std::string(5000, 'b'));
}

TEST_CASE("a module is loaded for as long as the calls that wait for it") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  CHECK(site.executor.announced_time_left_ms() == -1);  // nobody has called it yet
  site.executor.forget_code();
  CHECK(function.invoke("x", {.deadline = seconds(20)}).text() == "x");
  CHECK(site.executor.announced_time_left_ms() > 10'000);
  CHECK(site.executor.announced_time_left_ms() <= 20'000);
  site.executor.forget_code();
  CHECK(function.invoke("x", {.deadline = milliseconds(900)}).text() == "x");
  CHECK(site.executor.announced_time_left_ms() == 5000);  // time enough for a sound module
}

TEST_CASE("a call that waits for a compiler until its deadline says so") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.compile_for_ever();
  site.executor.forget_code();
  const Error error =
      error_of([&] { (void)function.invoke("x", {.deadline = milliseconds(300)}); });
  CHECK(error.kind() == ErrorKind::deadline_exceeded);
  CHECK(error.message().find("it waited for a compiler for 0.") != std::string::npos);
}

TEST_CASE("a call that waits for a busy worker does not blame the compiler of another one") {
  Site site;
  site.second_worker = "," + site.worker("l-1-3");
  Lease lease = site.client.lease({.workers = 2});
  const LeasedFunction function = lease.function("f");
  const auto give_up = std::chrono::steady_clock::now() + seconds(20);
  while (site.executor.announcements() < 2) REQUIRE(std::chrono::steady_clock::now() < give_up);
  site.executor.compile_for_ever();
  site.executor.forget_code();
  CHECK(function.invoke("x").text() == "x");  // one has lost it, and the other one has it
  CHECK(site.executor.announcements() == 3);
  site.executor.answer_calls(false);
  // One of them is with the worker that has the code, and the other one waits for that.
  const CallOptions once{.deadline = milliseconds(300), .at_most_once = true};
  const ReplyFuture one = function.async("x", once);
  const ReplyFuture other = function.async("y", once);
  std::set<std::string> told;
  for (const ReplyFuture* call : {&one, &other})
    told.insert(error_of([&] { (void)call->get(); }).message());
  CHECK(told == std::set<std::string>{"the call's deadline has passed",
                                      "the call's deadline has passed before it started"});
}

TEST_CASE("a worker that answers a call with a chunk is replaced") {
  for (const ResponseKind kind : {ResponseKind::chunk, ResponseKind::discarded}) {
    Site site;
    Lease lease = site.client.lease();
    const LeasedFunction function = lease.function("f");
    site.executor.answer_with(kind);
    const Error error = error_of([&] { (void)function.invoke("x"); });
    CHECK(error.kind() == ErrorKind::function_crashed);
    CHECK(error.attempt() == 1);
    CHECK(error.message().find("broke the rules of its sandbox") != std::string::npos);
    CHECK(error.message().find("nonsense") != std::string::npos);
    site.executor.answer_with(ResponseKind::reply);
    CHECK(function.invoke("x").text() == "x");
    CHECK(site.executor.replacements() == 1);
  }
}

TEST_CASE("a worker that throws a stream's input away is replaced") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.answer_with(ResponseKind::discarded);
  Stream stream = function.stream();
  (void)stream.write("x");
  CHECK(error_of([&] { (void)stream.read(); }).kind() == ErrorKind::function_crashed);
  site.executor.answer_with(ResponseKind::reply);
  CHECK(function.invoke("x").text() == "x");
  CHECK(site.executor.replacements() == 1);
}

TEST_CASE("a stream whose worker has no code for it fails, and the next one does not") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.forget_code();
  {
    Stream stream = function.stream();
    (void)stream.write("x");
    const Error error = error_of([&] { (void)stream.read(); });
    CHECK(error.kind() == ErrorKind::worker_lost);
    CHECK(error.retryable());
  }
  Stream stream = function.stream();
  CHECK(stream.write("x"));
  CHECK(stream.read().has_value());
  CHECK(site.executor.announcements() == 2);
}

TEST_CASE("a stream of an executor that answers nothing more is given up at its deadline") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.answer_calls(false);
  const auto start = std::chrono::steady_clock::now();
  Stream stream = function.stream({.deadline = milliseconds(50)});
  CHECK(stream.write("x"));
  CHECK(error_of([&] { (void)stream.read(); }).kind() == ErrorKind::deadline_exceeded);
  CHECK(std::chrono::steady_clock::now() - start < seconds(5));
  site.executor.answer_calls(true);
  CHECK(function.invoke("x").text() == "x");
  CHECK(site.executor.replacements() == 1);
}

TEST_CASE("a revoked lease ends its streams, also one that waits for a worker") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.answer_calls(false);
  Stream stream = function.stream();
  CHECK(stream.write("x"));
  std::jthread waiter(
      [&] { CHECK(error_of([&] { (void)function.stream(); }).kind() == ErrorKind::lease_ended); });
  site.knows_lease = false;
  site.executor.revoke("its time is over");
  const Error error = error_of([&] { (void)stream.read(); });
  CHECK(error.kind() == ErrorKind::evicted);
  CHECK(error.message() == "its time is over");
}

TEST_CASE("workers that the gateway adds when all are lost take the calls") {
  Site site;
  site.more_workers = site.worker("l-1-3");
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.hang_up();
  CHECK(function.invoke("x").text() == "x");
  CHECK(site.asked("PATCH") >= 1);
}

TEST_CASE("a worker that is taken back ends no lease that the gateway still knows") {
  Site site;
  site.more_workers = site.worker("l-1-3");
  site.renewals_without = 2;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.answer_calls(false);
  const ReplyFuture pending = function.async("x");
  site.executor.revoke("the lease was closed");
  const auto give_up = std::chrono::steady_clock::now() + seconds(20);
  while (site.asked("PATCH") == 0 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
  site.executor.answer_calls(true);
  CHECK(pending.get().text() == "x");
  CHECK(site.asked("PATCH") >= 3);
}

TEST_CASE("the lanes need not wait until all callbacks have run") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  const ReplyFuture first = function.async("first");
  (void)first.get();
  std::promise<void> runs;
  std::promise<void> goes_on;
  first.then([&](const ReplyFuture&) {
    runs.set_value();
    (void)goes_on.get_future().wait_for(seconds(10));
  });
  REQUIRE(runs.get_future().wait_for(seconds(10)) == std::future_status::ready);
  // These two wait behind it, and so does the thread that takes answers nobody waits for.
  const ReplyFuture second = function.async("second");
  std::promise<bool> is_there;
  first.then([&](const ReplyFuture&) {
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - start; };
    while (passed() < milliseconds(2) || (site.executor.answers() < 2 && passed() < seconds(10)))
      std::this_thread::yield();
  });
  first.then([&](const ReplyFuture&) { is_there.set_value(second.ready()); });
  goes_on.set_value();
  auto told = is_there.get_future();
  REQUIRE(told.wait_for(seconds(10)) == std::future_status::ready);
  CHECK(told.get());
  CHECK(second.get().text() == "second");
}

TEST_CASE("a C program does the same") {
  const Site site;
  CHECK(run_c_program(site.gateway.address().c_str()) == 0);
}

TEST_CASE("what a C program wants of its workers is what the gateway is asked for") {
  const Site site;
  CHECK(constrain_c_lease(site.gateway.address().c_str()) == 0);
  const auto requests = site.gateway.requests();
  const auto asked = std::ranges::find(requests, "POST", &FakeRequest::method);
  REQUIRE(asked != requests.end());
  using nlohmann::json;
  const json document = json::parse(asked->body);
  CHECK(document["constraints"] == json{{"host", "n1"},
                                        {"avoid_host", {"n2", "n3"}},
                                        {"cluster", "moss"},
                                        {"architecture", "x86_64"},
                                        {"kind", "cpu"},
                                        {"features", {"ib", "ssd"}},
                                        {"lifetime_ms", 5000},
                                        {"watts_at_most", 300.0}});
  CHECK(document["workers"] == 2);
  CHECK(document["at_least"] == 1);
  CHECK(document["separate_processes"] == true);
  REQUIRE(document["alternatives"].size() == 2);
  CHECK(document["alternatives"][0]["gpu_model"] == "a100");
}

TEST_CASE("a C program releases a lease, and what still runs ends") {
  Site site;
  CHECK(release_c_lease(
            site.gateway.address().c_str(),
            [](void* executor) { static_cast<FakeExecutor*>(executor)->answer_calls(false); },
            &site.executor) == 0);
  CHECK(site.asked("DELETE") == 2);
}

TEST_CASE("a revoked lease ends its calls") {
  Site site;
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  site.executor.answer_calls(false);
  const ReplyFuture pending = function.async("x");
  site.knows_lease = false;
  site.executor.revoke("its time is over");
  const Error error = error_of([&] { (void)pending.get(); });
  CHECK(error.kind() == ErrorKind::lease_ended);
  CHECK(error.message() == "its time is over");
  CHECK(error_of([&] { (void)function.invoke("x"); }).kind() == ErrorKind::lease_ended);
}

}  // namespace orchid
