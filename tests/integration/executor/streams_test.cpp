// What a worker makes of entries that belong to a stream, also from a client that speaks nonsense.
// How streams are meant to be used: tests/integration/lease.
#include "executor_fixture.h"

namespace orchid::tests {
namespace {

using transport::LaneCall;
using transport::LaneResponse;

struct StreamFixture : ExecutorFixture {
  LaneSlot slot = worker.load(test_function("streams_by_order"));

  void send(std::string_view chunk, RequestKind kind, std::uint16_t flags = 0) {
    const auto sent = worker.lane().send({.slot = slot.slot,
                                          .generation = slot.generation,
                                          .deadline = std::chrono::seconds(10),
                                          .input = std::as_bytes(std::span(chunk)),
                                          .kind = kind,
                                          .flags = flags});
    REQUIRE_MESSAGE(sent.has_value(), sent.error().message);
  }
  /// "KIND:payload" of the next answer.
  std::string next() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      const auto response = worker.lane().receive();
      REQUIRE_MESSAGE(response.has_value(), response.error().message);
      if (!*response) continue;
      const std::string text(reinterpret_cast<const char*>((*response)->payload.data()),
                             (*response)->payload.size());
      worker.lane().release(**response);
      return std::to_string(static_cast<int>((*response)->kind)) + ":" + text;
    }
    return "(none)";
  }
};

}  // namespace

TEST_CASE_FIXTURE(StreamFixture, "entries of a stream that never began are thrown away") {
  if (lane_under_test() == LaneKind::relayed) return;
  send("e1", RequestKind::more);
  send("", RequestKind::stop);
  CHECK(next() == "4:");
  CHECK(next() == "4:");
  CHECK(worker.call(slot, "e").output == "eend");
}

TEST_CASE_FIXTURE(StreamFixture, "a stream's entries are answered in turn, those behind it too") {
  if (lane_under_test() == LaneKind::relayed) return;
  send("e1", RequestKind::call, flag_stream);
  CHECK(next() == "3:e1");
  send("n", RequestKind::more);
  CHECK(next() == "3:");
  send("e3", RequestKind::more, flag_last);
  CHECK(next() == "1:e3end");  // the end of the input is no reason for a chunk
  send("", RequestKind::more);
  CHECK(next() == "4:");
  send("e", RequestKind::call, flag_stream | flag_last);
  send("", RequestKind::more);
  CHECK(next() == "1:eend");
  CHECK(next() == "4:");
}

TEST_CASE_FIXTURE(StreamFixture, "a stop ends the wait for input") {
  if (lane_under_test() == LaneKind::relayed) return;
  send("e1", RequestKind::call, flag_stream);
  CHECK(next() == "3:e1");
  send("", RequestKind::stop);
  CHECK(next() == "1:end");
}

TEST_CASE_FIXTURE(StreamFixture,
                  "a call within a stream, or input after its end, costs the worker") {
  if (lane_under_test() == LaneKind::relayed) return;
  // Within a host no lane breaks by itself: the function or its caller did it.
  const Outcome expected =
      lane_under_test() == LaneKind::local ? Outcome::function_crashed : Outcome::worker_lost;
  send("e1", RequestKind::call, flag_stream);
  send("e2", RequestKind::call);
  auto reply = worker.finish();
  if (!reply.ended) reply = worker.finish();  // the chunk came first
  CHECK(reply.ended);
  CHECK(reply.outcome == expected);
  CHECK(contains(reply.message, "a call within a stream"));
  check_next_call();

  slot = worker.load(test_function("streams_numbers"));
  send("9 1", RequestKind::call, flag_stream | flag_last);
  send("", RequestKind::more);
  send("input", RequestKind::more);
  do reply = worker.finish();
  while (!reply.ended);
  CHECK(reply.outcome == expected);
  CHECK(contains(reply.message, "after the end"));
  check_next_call();
}

TEST_CASE_FIXTURE(StreamFixture, "what relays calls refuses streams, and goes on") {
  if (lane_under_test() != LaneKind::relayed) return;
  send("e1", RequestKind::call, flag_stream);
  send("e2", RequestKind::more);
  CHECK(contains(next(), "1:a stream needs a lease"));
  CHECK(contains(next(), "1:a stream needs a lease"));
  CHECK(worker.call(slot, "e").output == "eend");
}

}  // namespace orchid::tests
