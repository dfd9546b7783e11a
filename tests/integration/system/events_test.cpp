// A running call, followed as events.
#include <algorithm>
#include <chrono>

#include "foundation/files.h"
#include "http_client.h"
#include "system_fixture.h"

namespace orchid::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Told {
  std::vector<std::string> states;
  std::vector<double> progress;
  Json done;
};

/// Reads a stream as its readers do: events end with an empty line.
Told told_by(const std::string& text) {
  Told told;
  std::istringstream lines(text);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("event: ")) name = line.substr(7);
    if (!line.starts_with("data: ")) continue;
    CHECK(told.done.is_null());  // which is the last one
    const Json data = Json::parse(line.substr(6));
    if (name == "state") told.states.push_back(data.at("state"));
    if (name == "progress") told.progress.push_back(data.at("progress"));
    if (name == "done") told.done = data;
  }
  return told;
}

/// Which of the steps were seen depends on how busy the machine is, but not their order.
void check_steps(const std::vector<double>& progress) {
  CHECK_FALSE(progress.empty());
  CHECK(std::ranges::adjacent_find(progress, std::ranges::greater_equal{}) == progress.end());
  for (const double step : progress) CHECK(step * 4 == static_cast<int>(step * 4));
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a call is followed from its queue to its end, with its progress") {
  deploy("says_steps");
  const Invocation call = client().submit("says_steps", as_bytes("400"), {.deadline = seconds(60)});
  const std::string path = "/v1/invocations/" + call.id();
  const Http stream = http("GET", path + "/events");
  CHECK(stream.status == 200);
  CHECK(contains(stream.headers, "Content-Type: text/event-stream"));
  const Told told = told_by(stream.body);
  REQUIRE_FALSE(told.states.empty());
  CHECK(told.states.back() == "running");
  check_steps(told.progress);
  CHECK(told.done.at("outcome") == "ok");
  CHECK(told.done == Json::parse(http("GET", path).body));
  // Whoever comes later is told the end at once, and whoever knows it, nothing.
  CHECK(told_by(http("GET", path + "/events").body).done == told.done);
  CHECK(http("GET", path + "/events", {}, {"-H", "Last-Event-ID: done"}).status == 204);
}

TEST_CASE_FIXTURE(SystemFixture, "a reader that comes back is told where the call is by now") {
  deploy("says_progress");
  const Invocation call = client().submit("says_progress", {}, {.deadline = seconds(60)});
  for (int round = 0; round < 2; ++round) {
    test::HttpConnection reader = test::HttpConnection::to_url(system().address());
    reader.send(test::request_text({.path = "/v1/invocations/" + call.id() + "/events",
                                    .headers = "Last-Event-ID: running\r\n",
                                    .token = system().token()}));
    CHECK(reader.receive(true).status == 200);
    CHECK(contains(reader.receive_until("event: progress\n"), "\"state\":\"running\""));
    reader.receive_until("data: {\"progress\":0.5}\n");
  }
  call.cancel();
  CHECK(told_by(http("GET", "/v1/invocations/" + call.id() + "/events").body).done.is_object());
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a reader that reads nothing hinders nobody, and hears of the end") {
  deploy("says_steps");
  deploy("counts_calls");
  const Invocation call = client().submit("says_steps", as_bytes("200"), {.deadline = seconds(60)});
  test::HttpConnection reader = test::HttpConnection::to_url(system().address());
  reader.send(test::request_text(
      {.path = "/v1/invocations/" + call.id() + "/events", .token = system().token()}));
  check_next_call();
  REQUIRE(call.wait(seconds(60)).finished());
  CHECK(reader.receive(true).status == 200);
  const Told told = told_by(reader.receive_rest());
  check_steps(told.progress);
  CHECK(told.done.at("outcome") == "ok");
}

}  // namespace
}  // namespace orchid::tests
