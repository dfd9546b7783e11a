#include "protocol/lane_messages.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid {
namespace {

template <typename T>
T round_trip(const T& message) {
  const auto parsed = parse_lane_message(encode(message));
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
  REQUIRE(std::holds_alternative<T>(*parsed));
  return std::get<T>(*parsed);
}

TEST_CASE("what is said about a module that a call wants comes back as it was") {
  CHECK(round_trip(LaneFetch{"count@012345"}).name == "count@012345");
  const auto fetched = round_trip(LaneFetched{.name = "count", .digest = "sha256:x"});
  CHECK(fetched.name == "count");
  CHECK(fetched.digest == "sha256:x");
  const auto none = round_trip(
      LaneFetched{.name = "count", .digest = {}, .code = ErrorCode::not_found, .message = "no"});
  CHECK(none.digest.empty());
  CHECK(none.code == ErrorCode::not_found);
  CHECK(none.message == "no");
}

TEST_CASE("what is said about where a call finds its data comes back as it was") {
  CHECK(round_trip(LaneLocate{"table@7"}).data == "table@7");
  const auto located = round_trip(LaneLocated{.data = "table", .member = 64});
  CHECK(located.data == "table");
  CHECK(located.member == 64);
  const auto none =
      round_trip(LaneLocated{.data = "table", .code = ErrorCode::data_elsewhere, .message = "no"});
  CHECK(none.member == 0);
  CHECK(none.code == ErrorCode::data_elsewhere);
  CHECK(none.message == "no");
  for (const char* wrong : {R"({"type":"located","data":"t","member":0})",
                            R"({"type":"located","data":"t","member":65})",
                            R"({"type":"located","data":"t"})", R"({"type":"locate"})"})
    CHECK_FALSE(parse_lane_message(wrong).has_value());
}

TEST_CASE("what is said about a module that a call has made comes back as it was") {
  CHECK_FALSE(round_trip(LaneFetched{.name = "n", .digest = "d"}).made);
  const auto fetched =
      round_trip(LaneFetched{.name = "n", .digest = "d", .made = true, .base = "b"});
  CHECK(fetched.made);
  CHECK(fetched.base == "b");
  // Only what was made is made of something else.
  CHECK(round_trip(LaneFetched{.name = "n", .digest = "d", .base = "b"}).base.empty());
  CHECK(round_trip(LaneMade{"d"}).base.empty());
  CHECK(round_trip(LaneMade{"d", "b"}).digest == "d");
  CHECK(round_trip(LaneMade{"d", "b"}).base == "b");
  CHECK(round_trip(LaneKept{"d"}).digest == "d");
  CHECK_FALSE(round_trip(LaneKept{"d"}).refusal.has_value());
  const auto refused = round_trip(LaneKept{"d", Failure{ErrorCode::no_capacity, "64"}});
  REQUIRE(refused.refusal.has_value());
  CHECK(refused.refusal->code == ErrorCode::no_capacity);
  CHECK(refused.refusal->message == "64");
}

TEST_CASE("every lane message comes back as it was") {
  const auto claim = round_trip(LaneClaim{.lease = {7, 42}, .secret = std::string(64, 'a')});
  CHECK(claim.lease == LeaseId{7, 42});
  CHECK(claim.secret == std::string(64, 'a'));
  CHECK(claim.protocol == 1);

  const auto claimed = round_trip(LaneClaimed{.worker = 3,
                                              .pid = 1234,
                                              .core = -1,
                                              .generation = 9,
                                              .request_bytes = 80_MiB,
                                              .response_bytes = 1_GiB});
  CHECK(claimed.core == -1);
  CHECK(claimed.pid == 1234);
  CHECK(claimed.generation == 9);
  CHECK(claimed.response_bytes == 1_GiB);
  CHECK_FALSE(claimed.trusted_fabric);
  const auto remote =
      round_trip(LaneClaimed{.port = 7, .key = std::string(32, '0'), .trusted_fabric = true});
  CHECK(remote.port == 7);
  CHECK(remote.trusted_fabric);
  // Only a network that both ends share can be called that.
  CHECK_FALSE(round_trip(LaneClaimed{.trusted_fabric = true}).trusted_fabric);

  CHECK(round_trip(LaneRefused{ErrorCode::denied, "no"}).code == ErrorCode::denied);
  CHECK(round_trip(LaneAnnounce{"sha256:x"}).digest == "sha256:x");
  CHECK_FALSE(round_trip(LaneAnnounce{"sha256:x"}).time_left.has_value());
  CHECK(round_trip(LaneAnnounce{"sha256:x", std::chrono::milliseconds(7)}).time_left ==
        std::chrono::milliseconds(7));
  CHECK(round_trip(LaneNeedCode{"sha256:x"}).digest == "sha256:x");
  CHECK(round_trip(LaneCode{"sha256:x"}).digest == "sha256:x");
  CHECK(round_trip(LaneCompiling{"d"}).digest == "d");
  CHECK_FALSE(round_trip(LaneCompiling{"d"}).over);
  CHECK(round_trip(LaneCompiling{.digest = "d", .over = true}).over);
  CHECK(round_trip(LaneClaim{.lease = {1, 2}, .knows_compiling = true}).knows_compiling);
  CHECK_FALSE(round_trip(LaneClaim{.lease = {1, 2}}).knows_compiling);
  CHECK(round_trip(LaneClaim{.lease = {1, 2}, .knows_progress = true}).knows_progress);
  CHECK_FALSE(round_trip(LaneClaim{.lease = {1, 2}}).knows_progress);
  const auto progress = round_trip(LaneProgress{.request = 9, .thousandths = 1000});
  CHECK(progress.request == 9);
  CHECK(progress.thousandths == 1000);
  CHECK(round_trip(LaneRejected{"d", ErrorCode::module_rejected, "m"}).message == "m");
  CHECK(round_trip(LaneCancel{1ULL << 63}).request == 1ULL << 63);
  CHECK(round_trip(LaneReplace{.reason = "why"}).reason == "why");
  CHECK(round_trip(LaneReplace{.reason = "why"}).worker == 0);
  CHECK(round_trip(LaneReplace{.reason = "why", .worker = 3}).worker == 3);

  const auto slot = round_trip(LaneSlot{.digest = "d",
                                        .slot = 1,
                                        .generation = 2,
                                        .entries = {"a", "b"},
                                        .compile_us = std::chrono::microseconds(1500),
                                        .link_us = std::chrono::microseconds(45),
                                        .source = CodeSource::disk});
  CHECK(slot.entries == std::vector<std::string>{"a", "b"});
  CHECK(slot.compile_us.count() == 1500);
  CHECK(slot.source == CodeSource::disk);

  const auto ended = round_trip(LaneEnded{.request = 5,
                                          .outcome = Outcome::function_crashed,
                                          .message = "signal 11",
                                          .signal = 11,
                                          .exit_status = 0,
                                          .started = true});
  CHECK(ended.outcome == Outcome::function_crashed);
  CHECK(ended.signal == 11);
  CHECK(ended.started);
  CHECK(ended.answered == 0);
  CHECK(round_trip(LaneEnded{.answered = 6}).answered == 6);
}

TEST_CASE("a crew at several executors is claimed and wired") {
  CHECK(round_trip(LaneClaim{}).members == 0);
  const auto claim = round_trip(LaneClaim{.members = 3, .member = 2, .near = {0, 1, 2}});
  CHECK(claim.member == 2);
  CHECK(claim.members == 3);
  CHECK(claim.near == std::vector<std::uint32_t>{0, 1, 2});
  CHECK_FALSE(parse_lane_message(encode(LaneClaim{.members = 3, .member = 4, .near = {4}})));
  const auto wire = round_trip(LaneWire{.worker = 9, .peers = {{3, "192.0.2.7:1", "00ff"}, {}}});
  CHECK(wire.worker == 9);
  REQUIRE(wire.peers.size() == 2);
  CHECK(wire.peers[0].member == 3);
  CHECK(wire.peers[0].address == "192.0.2.7:1");
  CHECK(wire.peers[0].key == "00ff");
  CHECK(round_trip(LaneWired{8}).worker == 8);
  CHECK(round_trip(LaneReplace{.reason = "r", .crew_lost = true}).crew_lost);
  CHECK_FALSE(round_trip(LaneReplace{.reason = "r"}).crew_lost);
  CHECK_FALSE(
      parse_lane_message(encode(LaneWire{.worker = 1, .peers = std::vector<LanePeer>(65)})));
}

TEST_CASE("a member of a crew is told which one it is, and of how many") {
  CHECK(round_trip(LaneClaim{.lease = {1, 2}}).members == 0);
  CHECK(round_trip(LaneClaim{.lease = {1, 2}, .members = 5}).members == 5);
  for (const std::uint32_t wrong : {1U, 65U})
    CHECK_FALSE(
        parse_lane_message(encode(LaneClaim{.lease = {1, 2}, .members = wrong})).has_value());
  CHECK(round_trip(LaneClaimed{}).members == 0);
  const auto member = round_trip(LaneClaimed{.member = 3, .members = 64});
  CHECK(member.member == 3);
  CHECK(member.members == 64);
  for (const LaneClaimed& wrong :
       {LaneClaimed{.member = 1, .members = 1}, LaneClaimed{.member = 1, .members = 65},
        LaneClaimed{.member = 0, .members = 4}, LaneClaimed{.member = 5, .members = 4}})
    CHECK_FALSE(parse_lane_message(encode(wrong)).has_value());
}

TEST_CASE("lane messages about data come back as they were") {
  const DataId first = make_data_id();
  const DataId second = make_data_id();
  const auto open = round_trip(LaneOpenData{first, std::string(64, 'a'), DataAccess::write});
  CHECK(open.data == first);
  CHECK(open.secret == std::string(64, 'a'));
  CHECK(open.access == DataAccess::write);
  CHECK(round_trip(LaneOpenData{.data = first}).access == DataAccess::read);
  const auto opened = round_trip(LaneData{first, 3_GiB});
  CHECK(opened.data == first);
  CHECK(opened.bytes == 3_GiB);
  CHECK(round_trip(LaneAttach{{first, second}}).data == std::vector{first, second});
  CHECK(round_trip(LaneDetach{{second}}).data == std::vector{second});
  CHECK(round_trip(LaneAttached{second, 7_B}).data == second);
  const auto refused = round_trip(LaneNotAttached{second, ErrorCode::data_lost, "gone"});
  CHECK(refused.code == ErrorCode::data_lost);
  CHECK(refused.message == "gone");
}

TEST_CASE("a lane message names 1 to 64 objects by their ids") {
  const auto fault = [](std::string_view text) {
    const auto parsed = parse_lane_message(text);
    REQUIRE_FALSE(parsed);
    return parsed.error().message;
  };
  CHECK(parse_lane_message(encode(LaneAttach{std::vector<DataId>(64)})));
  const std::string one_more = ",\"" + to_string(DataId{}) + "\"]";
  std::string too_many = encode(LaneAttach{std::vector<DataId>(64)});
  too_many.replace(too_many.find(']'), 1, one_more);
  CHECK_FALSE(parse_lane_message(too_many));
  CHECK_FALSE(parse_lane_message(R"({"type":"attach","data":[]})"));
  CHECK(fault(R"({"type":"attach","data":["d-1"]})").find("'data' must be ids of data") !=
        std::string::npos);
  CHECK(fault(R"({"type":"open_data","data":"x","secret":"","access":"read"})")
            .find("'data' must be the id of data") != std::string::npos);
  CHECK(fault(R"({"type":"open_data","data":"d-00000000000000000000000000000000","secret":"",)"
              R"("access":"append"})")
            .find("'access'") != std::string::npos);
}

TEST_CASE("a message that is not UTF-8 is sent with replacement characters") {
  CHECK(round_trip(LaneReplace{.reason = "a\xff"}).reason == "a\xef\xbf\xbd");
}

TEST_CASE("a bad lane message names its type and the field") {
  const auto message_of = [](std::string_view text) {
    return parse_lane_message(text).error().message;
  };
  CHECK(message_of("{").find("is not JSON") != std::string::npos);
  CHECK(message_of("[]").find("must be a JSON object") != std::string::npos);
  CHECK(message_of("{}").find("'type'") != std::string::npos);
  CHECK(message_of(R"({"type":"dance"})").find("'dance'") != std::string::npos);
  CHECK(message_of(R"({"type":"cancel"})") ==
        "message 'cancel': 'request' must be a whole number from 0");
  CHECK(message_of(R"({"type":"cancel","request":-1})") ==
        "message 'cancel': 'request' must be a whole number from 0");
  CHECK(message_of(R"({"type":"cancel","request":1.5})").find("whole number") != std::string::npos);
  CHECK(
      message_of(R"({"type":"claim","protocol":1,"lease":"l-1-01","secret":""})").find("'lease'") !=
      std::string::npos);
  CHECK(message_of(R"({"type":"announce","digest":7})").find("'digest' must be a text") !=
        std::string::npos);
  CHECK(parse_lane_message(R"({"type":"cancel","request":1,"unknown":true})").has_value());
}

TEST_CASE("a lease id is read only in its one form") {
  CHECK(to_string(LeaseId{3, 17}) == "l-3-17");
  CHECK(parse_lease_id("l-3-17") == LeaseId{3, 17});
  CHECK(parse_lease_id("l-0-0") == LeaseId{0, 0});
  for (const char* bad : {"", "l-", "l-1", "l-1-", "l--1", "l-1-2-3", "l-+1-2", "l-1-2 ", "L-1-2",
                          "l-01-2", "l-1-99999999999999999999"})
    CHECK_FALSE(parse_lease_id(bad).has_value());
}

}  // namespace
}  // namespace orchid
