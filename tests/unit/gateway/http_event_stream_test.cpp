#include "http/event_stream.h"

#include <doctest/doctest.h>

#include "http/stream_limit.h"

namespace orchid::gateway {
namespace {

std::string event(const ServerEvent& event) {
  std::string text;
  append_event(text, event);
  return text;
}

struct NoEvents final : EventSource {
  void open(std::function<void()> /*wake*/) override {}
  EventBatch take() override { return {}; }
};

TEST_CASE("an event is its name, its id and its data, and ends with an empty line") {
  CHECK(event({.name = "state", .data = "{}", .id = "queued"}) ==
        "event: state\nid: queued\ndata: {}\n\n");
  CHECK(event({.name = "progress", .data = "{}"}) == "event: progress\ndata: {}\n\n");
}

TEST_CASE("each line of the data has its field, however lines end") {
  const std::string two = "event: e\ndata: a\ndata: b\n\n";
  CHECK(event({.name = "e", .data = "a\nb"}) == two);
  CHECK(event({.name = "e", .data = "a\nb\n"}) == two);
  CHECK(event({.name = "e", .data = "a\r\nb"}) == two);
  CHECK(event({.name = "e", .data = "a\rb\r"}) == two);
  CHECK(event({.name = "e", .data = "a\n\nb"}) == "event: e\ndata: a\ndata: \ndata: b\n\n");
  CHECK(event({.name = "e", .data = ""}) == "event: e\ndata: \n\n");
}

TEST_CASE("a comment is a line that begins with a colon") {
  std::string text;
  append_comment(text, "still here");
  CHECK(text == ": still here\n\n");
}

TEST_CASE("a chunk says its size, and an empty one ends the body") {
  std::string text;
  append_chunk(text, "0123456789abcdefg");
  append_chunk(text, "");
  CHECK(text == "11\r\n0123456789abcdefg\r\n0\r\n\r\n");
}

TEST_CASE("the head of a stream has no length, and chunks only for those who know them") {
  const Response response = event_stream_response(std::make_shared<NoEvents>());
  std::string head;
  render_head(response, {.common = "", .echoed = "", .keep_alive = false}, head);
  CHECK(head ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        "Connection: close\r\nCache-Control: no-store\r\n\r\n");
  render_head(response, {.common = "", .echoed = "", .keep_alive = false, .minor_version = 0},
              head);
  CHECK(head ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
        "Cache-Control: no-store\r\n\r\n");
}

TEST_CASE("a tenant has so many streams and no more, and one that ends makes room") {
  StreamLimit limit(2);
  auto first = limit.enter(1);
  const auto second = limit.enter(1);
  REQUIRE(second.has_value());
  const auto third = limit.enter(1);
  REQUIRE_FALSE(third.has_value());
  CHECK(third.error().code == ErrorCode::quota);
  CHECK(third.error().message.starts_with("2 event streams are open"));
  CHECK(limit.enter(2).has_value());
  first->reset();
  CHECK(limit.enter(1).has_value());
}

}  // namespace
}  // namespace orchid::gateway
