#include "lane_client/executor_message.h"

#include <doctest/doctest.h>

namespace orchid::lane_client {

TEST_CASE("what an executor says is told apart, and what only clients say is refused") {
  const auto slot = parse_executor_message(encode(LaneSlot{.digest = "d", .slot = 4}));
  REQUIRE(slot);
  REQUIRE(std::holds_alternative<LaneSlot>(*slot));
  CHECK(std::get<LaneSlot>(*slot).slot == 4);
  CHECK(parse_executor_message(encode(LaneEnded{})));
  CHECK(parse_executor_message(encode(LaneAttached{})));
  CHECK(parse_executor_message(encode(LaneNotAttached{})));
  for (const LaneMessage& message :
       {LaneMessage(LaneAnnounce{"d"}), LaneMessage(LaneCancel{1}),
        LaneMessage(LaneReplace{.reason = "tired"}), LaneMessage(LaneAttach{{DataId{}}}),
        LaneMessage(LaneOpenData{})}) {
    const auto refused = parse_executor_message(encode(message));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
  CHECK_FALSE(parse_executor_message("{"));
}

}  // namespace orchid::lane_client
