#include "api/documents.h"

#include <doctest/doctest.h>

namespace orchid::sdk {

using std::chrono::microseconds;

TEST_CASE("a function's document is read with entries, signatures and targets") {
  const FunctionInfo info = parse_function(R"json({"name":"dot","version":"sha256:ab","size":70,
      "entries":[{"name":"dot","signature":"f64(span<f64>)"},{"name":"raw","signature":null}],
      "targets":[{"triple":"x86_64-linux-gnu","arch":"x86_64","kind":"bitcode","size":60}],"new":1})json");
  CHECK(info.name == "dot");
  CHECK(info.version == "sha256:ab");
  CHECK(info.size == 70);
  REQUIRE(info.entries.size() == 2);
  CHECK(info.entries[0].signature == "f64(span<f64>)");
  CHECK(info.entries[1].signature.empty());
  CHECK(info.targets == std::vector<std::string>{"x86_64 bitcode"});
  CHECK(info.json.find("\"new\"") != std::string::npos);
}

TEST_CASE("an invocation is finished once it has an outcome") {
  CHECK_FALSE(parse_invocation(R"({"id":"i-1","state":"running"})").finished());
  const auto done = parse_invocation(
      R"({"id":"i-1","state":"done","outcome":"ok","attempt":1,"node":"n","function":"f"})");
  CHECK(done.finished());
  CHECK(done.attempt == 1);
  CHECK(parse_invocations(R"({"invocations":[{"id":"i-1"},{"id":"i-2"}]})").size() == 2);
  CHECK(parse_invocation(R"({"id":"i-1","outcome":null})").outcome.empty());
}

TEST_CASE("an answer that is not what was promised is an error that says so") {
  for (const char* text :
       {"", "<html>", "[]", "{}", R"({"name":7})", R"({"name":"f","entries":{"a":1}})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_function(text), Error);
  }
  CHECK_THROWS_AS((void)parse_functions(R"({"other":[]})"), Error);
}

TEST_CASE("a log says how much of it was not kept, and a count that is none is an error") {
  const auto log_with = [](const std::string& dropped) {
    HttpResponse response{.status = 200, .headers = {{"orchid-log-dropped", dropped}}, .body = {}};
    return make_log(response);
  };
  CHECK(log_with("0").dropped == 0);
  CHECK(log_with("12").dropped == 12);
  CHECK(make_log(HttpResponse{.status = 200}).dropped == 0);
  for (const char* text : {"many", "12x", "-1", "99999999999999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)log_with(text), Error);
  }
}

TEST_CASE("Server-Timing is read in milliseconds, and what is unknown or damaged is passed over") {
  const CallTiming timing = parse_server_timing(
      "queue;dur=0.012, place;dur=1, edge;dur=9;desc=\"x\", run ; dur=2.5, link;dur=nonsense");
  CHECK(timing.queue == microseconds(12));
  CHECK(timing.place == microseconds(1000));
  CHECK(timing.run == microseconds(2500));
  CHECK(timing.link.count() == 0);
  CHECK(timing.compile.count() == 0);
  CHECK(parse_server_timing("").run.count() == 0);
  CHECK(parse_server_timing(";;,,=;dur").run.count() == 0);
}

TEST_CASE("what neither side names of a call's time was spent waiting for the answer") {
  const CallTiming told{.queue = microseconds(3), .run = microseconds(40)};
  const ExchangeTimes seen{
      .connect = microseconds(5), .send = microseconds(20), .receive = microseconds(10)};
  const CallTiming timing = whole_timing(told, seen, microseconds(100));
  CHECK(timing.connect == microseconds(5));
  CHECK(timing.send == microseconds(20));
  CHECK(timing.receive == microseconds(10));
  CHECK(timing.wait == microseconds(22));
  CHECK(timing.total == microseconds(100));
  CHECK(whole_timing(told, seen, microseconds(70)).wait.count() == 0);
}

}  // namespace orchid::sdk
