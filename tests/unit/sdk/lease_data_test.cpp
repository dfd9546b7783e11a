// Calls of a lease that are given data objects, with a gateway and an executor that do as the test
// says.
#include <doctest/doctest.h>

#include <algorithm>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clear_error.h"
#include "fake_executor.h"
#include "fake_gateway.h"
#include "lease/call_objects.h"
#include "lease/lease_access.h"
#include "orchid/client.h"
#include "orchid/function.hpp"
#include "orchid/stream.h"
#include "protocol/data_table.h"

namespace orchid {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::error_of;
using tests::FakeAnswer;
using tests::FakeExecutor;
using tests::FakeGateway;
using tests::FakeRequest;

constexpr const char* id = "d-000102030405060708090a0b0c0d0e0f";

std::string text_of(std::string_view code, int status) {
  return R"({"type":"urn:orchid:problem:)" + std::string(code) + R"(","status":)" +
         std::to_string(status) + R"(,"detail":"so it is"})";
}

/// A gateway that knows one data object and grants one worker of a fake executor.
struct DataSite {
  FakeExecutor executor;
  std::string hosts = R"("n1")";
  std::atomic<int> copy_status{202};
  std::atomic<bool> is_there{true};
  FakeGateway gateway{[this](const FakeRequest& request) { return answer(request); }};
  Client client{{.gateway = gateway.address(), .token = "secret"}};

  [[nodiscard]] std::string object() const {
    return R"({"id":")" + std::string(id) +
           R"(","name":"numbers","version":3,"bytes":8,"state":"sealed","hosts":[)" + hosts + "]}";
  }
  FakeAnswer answer(const FakeRequest& request) {
    if (request.target.ends_with("/document"))
      return is_there && request.target.find("nothing") == std::string::npos
                 ? FakeAnswer{.body = object()}
                 : FakeAnswer{.status = 404, .body = text_of("not_found", 404)};
    if (request.target.ends_with("/copies"))
      return {.status = copy_status,
              .body = copy_status < 300
                          ? object()
                          : text_of(is_there ? "no_capacity" : "not_found", copy_status)};
    if (request.method == "DELETE") return {.status = 204};
    if (request.method == "POST" || request.method == "PATCH")
      return {
          .status = 201,
          .body =
              R"({"id":"l-1-1","cores_per_worker":1,"memory_bytes":0,"expires_in_ms":60000,"workers":[)"
              R"({"lease":"l-1-2","secret":"s","node":"n1","boot_id":"","lane_socket":")" +
              executor.path().string() + R"(","lane_address":""}]})"};
    return {
        .body =
            R"json({"name":"f","version":"sha256:aa","entries":[{"name":"e","signature":"f64(data<f64>,f64)"}],
      "targets":[],"size":1})json"};
  }
  [[nodiscard]] std::size_t asked(std::string_view end) const {
    std::size_t count = 0;
    for (const FakeRequest& request : gateway.requests())
      count += request.target.ends_with(end) ? 1 : 0;
    return count;
  }
};

struct DataLease : DataSite {
  Lease lease = client.lease();
  LeasedFunction function = lease.function("f");
  LeasedData numbers = lease.data("numbers");
  CallOptions given{.deadline = seconds(20), .data = {numbers}};

  [[nodiscard]] std::vector<std::byte> whole(std::string_view input, std::size_t count = 1) const {
    std::vector<std::byte> payload(data_table_bytes(count, input.size()));
    const std::vector<DataId> ids(count, *parse_data_id(id));
    write_data_table(ids, input.size(), payload);
    const auto bytes = std::as_bytes(std::span(input));
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    return payload;
  }
};

}  // namespace

TEST_CASE_FIXTURE(DataLease, "a name becomes one version, which is asked for once") {
  CHECK(numbers.id() == id);
  CHECK(numbers.label() == "numbers@3");
  CHECK(numbers.size() == 8);
  CHECK(asked("/document") == 1);
  (void)function.invoke("x", given);
  (void)function.invoke("x", given);
  CHECK(asked("/document") == 1);
  CHECK(error_of([&] { (void)lease.data("nothing"); }).kind() == ErrorKind::not_found);
}

TEST_CASE_FIXTURE(DataLease, "a worker is given an object before its first call, and not again") {
  CHECK(function.invoke("one", given).output == whole("one"));
  CHECK(function.invoke("two", given).output == whole("two"));
  CHECK(function.async("three", given).get().output == whole("three"));
  CHECK(function.invoke("plain").text() == "plain");
  CHECK(executor.attachments() == 1);
  const std::string large(100'000, 'x');
  CHECK(function.invoke(large, given).output == whole(large));
  Buffer input = lease.buffer(5000);
  std::ranges::fill(input.bytes(), std::byte{'b'});
  CHECK(function.invoke(std::move(input), given).output == whole(std::string(5000, 'b')));
}

TEST_CASE_FIXTURE(DataLease, "a call may be given 64 objects, and no more") {
  given.data.assign(64, numbers);
  CHECK(function.invoke("x", given).output == whole("x", 64));
  given.data.push_back(numbers);
  const Error error = error_of([&] { (void)function.invoke("x", given); });
  CHECK(error.kind() == ErrorKind::bad_request);
  CHECK(error.message().find("65 data objects; the limit is 64") != std::string::npos);
  CHECK(error_of([&] { (void)function.async("x", given); }).kind() == ErrorKind::bad_request);
}

TEST_CASE_FIXTURE(DataLease, "an input that fits only without the table of its data is refused") {
  const std::string largest(lease.capacity().largest_input, 'x');
  CHECK(function.invoke_in_place(as_bytes(std::span(largest))).bytes().size() == largest.size());
  const Error error = error_of([&] { (void)function.invoke(largest, given); });
  CHECK(error.kind() == ErrorKind::too_large);
}

TEST_CASE_FIXTURE(DataLease, "a call that waits for its data holds up no others") {
  executor.attach_data(false);
  const ReplyFuture waiting = function.async("x", given);
  CHECK(function.invoke("plain").text() == "plain");
  CHECK_FALSE(waiting.ready());
  waiting.cancel();
  CHECK(error_of([&] { (void)waiting.get(); }).kind() == ErrorKind::cancelled);
}

TEST_CASE_FIXTURE(DataLease, "a call that waits for its data until its deadline says so") {
  executor.attach_data(false);
  given.deadline = milliseconds(100);
  for (const bool waits : {true, false}) {
    const Error error = error_of(
        [&] { (void)(waits ? function.invoke("x", given) : function.async("x", given).get()); });
    CHECK(error.kind() == ErrorKind::deadline_exceeded);
    CHECK(error.message().find("waited until a worker had 'numbers@3'") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(DataLease, "an object that was unmapped is given once more") {
  CHECK(function.invoke("one", given).output == whole("one"));
  executor.unmap_data(1);
  CHECK(function.invoke("two", given).output == whole("two"));
  CHECK(executor.attachments() == 2);
  executor.unmap_data(3);
  CHECK(function.async("three", given).get().output == whole("three"));
  executor.unmap_data(100);
  const Error error = error_of([&] { (void)function.invoke("four", given); });
  CHECK(error.kind() == ErrorKind::worker_lost);
  CHECK(error.message().find("again and again") != std::string::npos);
}

TEST_CASE_FIXTURE(DataLease, "a worker that wants data for a call without is replaced") {
  executor.unmap_data(1);
  const Error error = error_of([&] { (void)function.invoke("x"); });
  CHECK(error.kind() == ErrorKind::function_crashed);
  CHECK(function.invoke("x").text() == "x");
  CHECK(executor.replacements() == 1);
}

TEST_CASE_FIXTURE(DataLease, "a replacement is given everything anew") {
  CHECK(function.invoke("one", given).output == whole("one"));
  executor.answer_calls(false);
  CallOptions hasty = given;
  hasty.deadline = milliseconds(50);
  CHECK(error_of([&] { (void)function.invoke("x", hasty); }).kind() ==
        ErrorKind::deadline_exceeded);
  executor.answer_calls(true);
  CHECK(function.invoke("two", given).output == whole("two"));
  CHECK(executor.replacements() == 1);
  CHECK(executor.attachments() == 2);
}

TEST_CASE_FIXTURE(DataLease, "what an executor refuses for good ends the call with its code") {
  executor.refuse_data(ErrorCode::denied);
  const Error error = error_of([&] { (void)function.invoke("x", given); });
  CHECK(error.kind() == ErrorKind::denied);
  CHECK(error.message().find("data 'numbers@3'") != std::string::npos);
  CHECK(error.node() == "n1");
}

TEST_CASE_FIXTURE(DataLease,
                  "what a worker could not be given for a moment is tried again, and not "
                  "for ever") {
  executor.refuse_data(ErrorCode::no_capacity);
  const Error error = error_of([&] { (void)function.async("x", given).get(); });
  CHECK(error.kind() == ErrorKind::no_capacity);
  CHECK(executor.attachments() == 4);
  executor.refuse_data(std::nullopt);
  CHECK(function.invoke("x", given).output == whole("x"));
}

TEST_CASE_FIXTURE(DataLease, "an object that is elsewhere is copied to the worker's host") {
  executor.refuse_data(ErrorCode::data_lost);
  const ReplyFuture waiting = function.async("x", given);
  const auto give_up = std::chrono::steady_clock::now() + seconds(20);
  while (asked("/copies") == 0) REQUIRE(std::chrono::steady_clock::now() < give_up);
  executor.refuse_data(std::nullopt);
  CHECK(waiting.get().output == whole("x"));
  const auto requests = gateway.requests();
  const auto ordered = std::ranges::find_if(
      requests, [](const FakeRequest& each) { return each.target.ends_with("/copies"); });
  CHECK(ordered->target == "/v1/data/" + std::string(id) + "/copies");
  CHECK(ordered->body == R"({"host":"n1"})");
}

TEST_CASE("a worker of a host without the object is asked all the same, a little later") {
  DataSite site;
  site.hosts = R"("n7")";
  Lease lease = site.client.lease();
  const LeasedFunction function = lease.function("f");
  CHECK_FALSE(function.invoke("x", {.data = {lease.data("numbers")}}).output.empty());
}

TEST_CASE("the hosts with most bytes of a call's data are the nearest to it") {
  const auto data = [](std::uint64_t size, std::vector<std::string> hosts) {
    return sdk::LeaseAccess::data(std::make_shared<const sdk::LeasedObject>(
        sdk::LeasedObject{.id = *parse_data_id(id), .size = size, .hosts = std::move(hosts)}));
  };
  using Hosts = std::vector<std::string>;
  CHECK(sdk::make_objects({data(10, {"n1"}), data(9, {"n2"})})->nearest == Hosts{"n1"});
  CHECK(sdk::make_objects({data(10, {"n1", "n2"}), data(9, {"n2"})})->nearest == Hosts{"n2"});
  CHECK(sdk::make_objects({data(0, {"n2", "n1"})})->nearest == Hosts{"n1", "n2"});
  CHECK(sdk::make_objects({data(3, {})})->nearest.empty());
}

TEST_CASE_FIXTURE(DataLease, "an object that cannot come to any worker ends the call") {
  executor.refuse_data(ErrorCode::data_lost);
  hosts = R"("n7","n8")";
  copy_status = 503;
  const Error error = error_of([&] { (void)function.invoke("x", given); });
  CHECK(error.kind() == ErrorKind::data_elsewhere);
  CHECK(error.message().find("data 'numbers@3': it is on n7 and n8, and cannot be copied") !=
        std::string::npos);
  CHECK(error.hint().find("LeaseConstraints::host") != std::string::npos);
}

TEST_CASE_FIXTURE(DataLease, "an object that was deleted ends the call as lost") {
  executor.refuse_data(ErrorCode::data_lost);
  is_there = false;
  copy_status = 404;
  const Error error = error_of([&] { (void)function.async("x", given).get(); });
  CHECK(error.kind() == ErrorKind::data_lost);
  CHECK(error.message().find("data 'numbers@3': it is there no more") != std::string::npos);
}

TEST_CASE_FIXTURE(DataLease, "all calls of a map are given the same data") {
  const std::vector<std::vector<std::byte>> inputs(100, std::vector<std::byte>(3, std::byte{'x'}));
  for (const Reply& reply : lease.map(function, inputs, given)) CHECK(reply.output == whole("xxx"));
  CHECK(executor.attachments() == 1);
}

TEST_CASE_FIXTURE(DataLease, "a stream takes no data") {
  const Error error = error_of([&] { (void)function.stream(given); });
  CHECK(error.kind() == ErrorKind::bad_request);
  CHECK(error.hint().find("open them by name") != std::string::npos);
}

TEST_CASE_FIXTURE(DataLease, "data arguments of typed functions are named in the options") {
  const auto typed = lease.function<double(Data<double>, double)>("f");
  // The worker echoes: what it answers begins with the table.
  CHECK_THROWS_AS((void)typed.call(given, 2.5), Error);
  CHECK(executor.answers() == 1);
  for (const std::size_t count : {0U, 2U}) {
    given.data.assign(count, numbers);
    const Error error = error_of([&] { (void)typed.call(given, 2.5); });
    CHECK(error.kind() == ErrorKind::bad_request);
    CHECK(error.message().find("takes 1 data object(s), and the call is given") !=
          std::string::npos);
    CHECK(error_of([&] { (void)typed.async_with(given, 2.5); }).kind() == ErrorKind::bad_request);
  }
  CHECK(executor.answers() == 1);
  static_assert(!std::is_invocable_v<decltype(typed), double>);
}

TEST_CASE_FIXTURE(DataLease, "and so they are where the gateway runs the call") {
  const auto typed = client.function<double(Data<double>, double)>("f");
  const Error error = error_of([&] { (void)typed.call({}, 2.5); });
  CHECK(error.kind() == ErrorKind::bad_request);
  static_assert(!std::is_invocable_v<decltype(typed), double>);
}

}  // namespace orchid
