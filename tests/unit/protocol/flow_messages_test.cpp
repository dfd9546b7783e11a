#include "protocol/flow_messages.h"

#include <doctest/doctest.h>

namespace orchid {
namespace {

template <typename Message>
Message flow_message_back(const Message& message) {
  const auto parsed = parse_flow_message(encode(message));
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? std::string() : parsed.error().message));
  REQUIRE(std::holds_alternative<Message>(*parsed));
  return std::get<Message>(*parsed);
}

}  // namespace

TEST_CASE("what a gateway and the process of a tenant's flows say arrives as it was") {
  const FlowRequest request = flow_message_back(FlowRequest{.number = 7,
                                                            .ask = FlowAsk::news,
                                                            .flow = "fl-1",
                                                            .key = "k",
                                                            .since = 9,
                                                            .wait = std::chrono::seconds(60),
                                                            .brief = true});
  CHECK(request.number == 7);
  CHECK(request.ask == FlowAsk::news);
  CHECK(request.flow == "fl-1");
  CHECK(request.key == "k");
  CHECK(request.since == 9);
  CHECK(request.wait == std::chrono::seconds(60));
  CHECK(request.brief);
  (void)flow_message_back(FlowConnection{});
  (void)flow_message_back(FlowDial{});

  const FlowAnswer answer = flow_message_back(FlowAnswer{.number = 7,
                                                         .failure = std::nullopt,
                                                         .is_new = true,
                                                         .content = FlowContent::events,
                                                         .next = 12,
                                                         .last = true});
  CHECK_FALSE(answer.failure.has_value());
  CHECK(answer.is_new);
  CHECK(answer.content == FlowContent::events);
  CHECK(answer.next == 12);
  CHECK(answer.last);
}

TEST_CASE("a failure arrives with its code, and the beginning of a long message") {
  const FlowAnswer answer = flow_message_back(
      FlowAnswer{.number = 8, .failure = Failure{ErrorCode::quota, std::string(1'000'000, 'x')}});
  REQUIRE(answer.failure.has_value());
  CHECK(answer.failure->code == ErrorCode::quota);
  CHECK(answer.failure->message.size() > 1'000);
  CHECK(answer.failure->message.size() < 100'000);
}

TEST_CASE("what is no message about flows is refused, with the field") {
  const auto why = [](std::string_view text) {
    const auto parsed = parse_flow_message(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == ErrorCode::bad_request);
    return parsed.error().message;
  };
  CHECK(why("[]").find("object") != std::string::npos);
  CHECK(why(R"({"type":"other"})").find("type") != std::string::npos);
  CHECK(why(R"({"type":"request","number":1,"ask":"fly","flow":"","key":"","since":0,"wait_ms":0})")
            .find("ask") != std::string::npos);
  CHECK(why(R"({"type":"request","number":1,"ask":"show","flow":"","key":"","since":0,)"
            R"("wait_ms":60001})")
            .find("wait_ms") != std::string::npos);
  CHECK(why(R"({"type":"answer","number":1,"code":"tired","message":""})").find("code") !=
        std::string::npos);
  CHECK(why(R"({"type":"answer","number":1,"content":"film","is_new":false,"next":0,"last":false})")
            .find("content") != std::string::npos);
}

}  // namespace orchid
