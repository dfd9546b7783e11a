#include "protocol/control_messages.h"

#include <doctest/doctest.h>

#include <string>

#include "protocol/control_heartbeat.h"

namespace orchid {
namespace {

template <typename T>
T numbered(const T& message) {
  const auto parsed =
      parse_control_frame(encode({.sequence = 5, .ack = 3, .body = ControlMessage(message)}));
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
  CHECK(parsed->sequence == 5);
  CHECK(parsed->ack == 3);
  const auto* body = std::get_if<ControlMessage>(&parsed->body);
  REQUIRE(body != nullptr);
  REQUIRE(std::holds_alternative<T>(*body));
  return std::get<T>(*body);
}

template <typename T>
T plain(const T& message) {
  const auto parsed = parse_control_frame(encode({.ack = 3, .body = message}));
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
  CHECK(parsed->sequence == 0);
  REQUIRE(std::holds_alternative<T>(parsed->body));
  return std::get<T>(parsed->body);
}

TEST_CASE("every numbered control message comes back as it was") {
  const auto open = numbered(OpenLease{.lease = {2, 9},
                                       .secret = "s",
                                       .tenant = {1000, "ada"},
                                       .workers = 3,
                                       .cores_per_worker = 2,
                                       .core_ids = {0, 1, 2, 3, 8, 9},
                                       .memory = 1_GiB,
                                       .claim_within = std::chrono::milliseconds(1234)});
  CHECK(open.lease == LeaseId{2, 9});
  CHECK(open.tenant == LeaseTenant{1000, "ada"});
  CHECK(open.workers == 3);
  CHECK(open.cores_per_worker == 2);
  CHECK(open.core_ids == CoreList{0, 1, 2, 3, 8, 9});
  CHECK(open.memory == 1_GiB);
  CHECK(open.claim_within.count() == 1234);
  CHECK_FALSE(open.client.has_value());
  const ClientTerms terms{{2, 4}, WaitMode::blocking, std::chrono::milliseconds(60'000)};
  CHECK(numbered(OpenLease{.lease = {2, 9}, .secret = "s", .core_ids = {5}, .client = terms})
            .client == terms);
  ClientTerms separate = terms;
  separate.separate_processes = true;
  CHECK(numbered(OpenLease{.lease = {2, 9}, .secret = "s", .core_ids = {5}, .client = separate})
            .client == separate);
  ClientTerms of_crew = terms;
  of_crew.crew = 4;
  CHECK(numbered(OpenLease{.lease = {2, 9}, .secret = "s", .core_ids = {5}, .client = of_crew})
            .client == of_crew);
  CHECK(lane_protocol_for(terms) == shared_lane_protocol);
  CHECK(lane_protocol_for(separate) == apart_lane_protocol);
  CHECK(lane_protocol_for(of_crew) == crew_lane_protocol);
  CHECK_FALSE(open.holder_uid.has_value());
  CHECK(numbered(OpenLease{.lease = {2, 9}, .secret = "s", .core_ids = {5}, .holder_uid = 7})
            .holder_uid == 7);
  CHECK(numbered(RenewLease{{2, 9}, std::chrono::milliseconds(7)}).expires_in.count() == 7);
  CHECK(numbered(CloseLease{{2, 9}}).lease == LeaseId{2, 9});
  CHECK(numbered(LeaseOpened{{2, 9}, 3}).workers == 3);
  CHECK(numbered(LeaseRefused{{2, 9}, ErrorCode::no_capacity, "full"}).message == "full");
  CHECK(numbered(LeaseClosed{{2, 9}, LeaseEnd::lapsed}).reason == LeaseEnd::lapsed);
  CHECK(numbered(LeaseClosed{{2, 9}, LeaseEnd::reclaimed}).reason == LeaseEnd::reclaimed);
  const auto grant = numbered(
      GrantChanged{.cores = {1, 7}, .ends_in = std::chrono::milliseconds(90), .draining = true});
  CHECK(grant.cores == CoreList{1, 7});
  CHECK(grant.ends_in == std::chrono::milliseconds(90));
  CHECK(grant.draining);
  CHECK_FALSE(numbered(GrantChanged{}).ends_in.has_value());
  CHECK_FALSE(numbered(GrantChanged{}).gpus.has_value());
  const std::vector<OfferedGpu> gpus{{.index = 0, .model = "a100"},
                                     {.index = 2, .model = "", .fault = "uncorrectable ECC error"}};
  CHECK(numbered(GrantChanged{.cores = {}, .gpus = gpus}).gpus == gpus);
  constexpr std::chrono::hours a_year(24 * 366);  // the longest that an executor can be told
  CHECK(numbered(GrantChanged{.cores = {}, .ends_in = a_year}).ends_in == a_year);
  const auto capacity =
      numbered(CapacityReport{.cores_free = 2, .workers_ready = 1, .counters = {{"calls", 7}}});
  CHECK(capacity.counters.at("calls") == 7);
  CHECK(capacity.cores_free == 2);
  CHECK_FALSE(capacity.milliwatts.has_value());
  CHECK(numbered(CapacityReport{.counters = {}, .milliwatts = 95'500}).milliwatts == 95'500);
}

TEST_CASE("GPUs may be left out, and none is named twice") {
  CHECK(numbered(OpenLease{.lease = {1, 2}, .core_ids = {0}, .gpus = {0, 3}}).gpus ==
        CoreList{0, 3});
  const std::string without_gpus =
      encode({.sequence = 1, .body = ControlMessage(OpenLease{.lease = {1, 2}, .core_ids = {0}})});
  CHECK(without_gpus.find("gpus") == std::string::npos);
  std::string hello =
      encode({.body = ControlHello{.host = {.gpus = {{.index = 1}, {.index = 2}}}}});
  const std::size_t second = hello.find("\"index\":2");
  REQUIRE(second != std::string::npos);
  hello.replace(second, 9, "\"index\":1");
  const auto refused = parse_control_frame(hello);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("names a GPU twice") != std::string::npos);
}

TEST_CASE("names in a hello have lengths: the greatest comes back whole, one more is refused") {
  const auto hello = [](std::size_t name, std::size_t node, std::size_t address) {
    return ControlHello{.host = {.hostname = std::string(name, 'h')},
                        .grant = {.node = std::string(node, 'n')},
                        .lane_address = std::string(address, 'a')};
  };
  const auto longest = plain(hello(256, 256, 512));
  CHECK(longest.host.hostname == std::string(256, 'h'));
  CHECK(longest.grant.node == std::string(256, 'n'));
  CHECK(longest.lane_address == std::string(512, 'a'));
  const auto fault = [](const ControlHello& message) {
    const auto parsed = parse_control_frame(encode({.body = message}));
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == ErrorCode::bad_request);
    return parsed.error().message;
  };
  CHECK(fault(hello(257, 0, 0)).find("'host.hostname' is too long") != std::string::npos);
  CHECK(fault(hello(0, 257, 0)).find("'grant.node' is too long") != std::string::npos);
  CHECK(fault(hello(0, 0, 513)).find("'lane_address' is too long") != std::string::npos);
}

TEST_CASE("hello and welcome come back as they were") {
  ControlHello hello{
      .version = "0.1",
      .executor = "e",
      .host = {.boot_id = "b",
               .hostname = "h",
               .architecture = "x86_64",
               .cpu = "znver4",
               .features = "+avx2",
               .cores = {0, 3},
               .memory = 8_GiB,
               .thread_order = {0, 2, 1, 3},
               .thread_numa_nodes = {0, 0, 1, 1},
               .gpus = {{.index = 1, .model = "a100", .numa_node = 1}, {.index = 4, .model = ""}}},
      .grant = {.source = GrantSource::pilot,
                .cluster = "fern",
                .job = 4711,
                .node = "n3",
                .ends_in = std::chrono::milliseconds(60'000),
                .draining = true},
      .lane_socket = "/run/x",
      .lane_address = "n1:4711",
      .lane_protocol = 2,
      .held =
          {{.lease = {1, 2},
            .tenant = {7, "eve"},
            .cores_per_worker = 2,
            .core_ids = {0, 3},
            .client = {.client_lease = {1, 1}, .wait = WaitMode::hot, .separate_processes = true},
            .gpus = {4}}},
      .stream = "s-1",
      .ack = 12};
  const auto back = plain(hello);
  CHECK(back.host.cores == std::vector<std::uint32_t>{0, 3});
  CHECK(back.host.memory == 8_GiB);
  CHECK(back.host.gpus == hello.host.gpus);
  CHECK(back.host.thread_order == hello.host.thread_order);
  CHECK(back.host.thread_numa_nodes == hello.host.thread_numa_nodes);
  CHECK(back.grant == hello.grant);
  CHECK(back.lane_address == "n1:4711");
  CHECK(back.lane_protocol == 2);
  REQUIRE(back.held.size() == 1);
  CHECK(back.held[0].tenant == LeaseTenant{7, "eve"});
  CHECK(back.held[0].cores_per_worker == 2);
  CHECK(back.held[0].core_ids == CoreList{0, 3});
  CHECK(back.held[0].client == hello.held[0].client);
  CHECK(back.held[0].gpus == CoreList{4});
  CHECK(back.stream == "s-1");
  CHECK(back.ack == 12);
  CHECK(back.newest_protocol == 1);
  const auto welcome = plain(
      ControlWelcome{.epoch = 4, .stream = "s-2", .ack = 6, .resumed = true, .gateway = "f0"});
  CHECK(welcome.epoch == 4);
  CHECK(welcome.ack == 6);
  CHECK(welcome.resumed);
  CHECK(welcome.gateway == "f0");
  CHECK(plain(ControlRefused{ErrorCode::unsupported, "m"}).code == ErrorCode::unsupported);
  plain(ControlAck{});
  plain(ControlPing{});
}

TEST_CASE("an executor that does not say which lane protocol it speaks is an older one") {
  std::string hello = encode({.body = ControlHello{.lane_protocol = 2}});
  const std::string field = "\"lane_protocol\":2,";
  REQUIRE(hello.find(field) != std::string::npos);
  hello.erase(hello.find(field), field.size());
  const auto parsed = parse_control_frame(hello);
  REQUIRE(parsed.has_value());
  CHECK(std::get<ControlHello>(parsed->body).lane_protocol == 1);
}

TEST_CASE("a bad control frame names its type and the field") {
  const auto message_of = [](std::string_view text) {
    return parse_control_frame(text).error().message;
  };
  CHECK(message_of(R"({"type":"ping"})") == "message 'ping': 'ack' must be a whole number from 0");
  CHECK(message_of(R"({"type":"close_lease","seq":0,"ack":0,"lease":"l-1-1"})")
            .find("'seq' must be a whole number from 1") != std::string::npos);
  CHECK(message_of(R"({"type":"hello","protocol":[1]})").find("'protocol'") != std::string::npos);
  CHECK(message_of(R"({"type":"grant","seq":1,"ack":0,"cores":[4,4],"draining":false})")
            .find("'cores' names a core twice") != std::string::npos);
  CHECK(message_of(R"({"type":"grant","seq":1,"ack":0,"cores":[65536],"draining":false})")
            .find("'cores' names a core beyond") != std::string::npos);
  CHECK(message_of(encode({.sequence = 1,
                           .body = ControlMessage(OpenLease{.lease = {2, 9}, .core_ids = {}})}))
            .find("'core_ids' must name as many cores") != std::string::npos);
  CHECK(message_of(R"({"type":"later"})").find("upgrade the older side") != std::string::npos);
  CHECK(parse_control_frame(std::string(2 << 20, ' ')).error().code == ErrorCode::too_large);
}

TEST_CASE("a silent side pings after a second and is lost after five") {
  const MonotonicTime start{};
  ControlHeartbeat heartbeat(start);
  CHECK_FALSE(heartbeat.ping_due(start + std::chrono::milliseconds(999)));
  CHECK(heartbeat.ping_due(start + std::chrono::seconds(1)));
  heartbeat.sent(start + std::chrono::seconds(1));
  CHECK_FALSE(heartbeat.ping_due(start + std::chrono::milliseconds(1500)));
  CHECK_FALSE(heartbeat.lost(start + std::chrono::milliseconds(4999)));
  CHECK(heartbeat.lost(start + std::chrono::seconds(5)));
  heartbeat.heard(start + std::chrono::seconds(5));
  CHECK_FALSE(heartbeat.lost(start + std::chrono::seconds(9)));
}

}  // namespace
namespace {

std::optional<UnreadableMessage> unreadable(const std::string& fields) {
  const std::string text = R"({"seq":7,"ack":3,)" + fields + "}";
  const auto frame = parse_control_frame(text);
  REQUIRE_FALSE(frame.has_value());
  return unreadable_message(text, frame.error());
}

template <typename Refusal>
Refusal refusal_of(const std::string& fields) {
  const auto message = unreadable(fields);
  REQUIRE(message.has_value());
  REQUIRE(message->refusal.has_value());
  const auto* refusal = std::get_if<Refusal>(&*message->refusal);
  REQUIRE(refusal != nullptr);
  CHECK(refusal->code == ErrorCode::unsupported);
  CHECK(refusal->message.find("install the same release") != std::string::npos);
  return *refusal;
}

}  // namespace

TEST_CASE("of a message that cannot be read its number can be, and what its sender waits for") {
  const DataId data = make_data_id();
  const std::string named = R"("data":")" + to_string(data) + '"';
  const auto newer = unreadable(R"("type":"fold_data")");
  REQUIRE(newer.has_value());
  CHECK(newer->sequence == 7);
  CHECK(newer->ack == 3);
  CHECK_FALSE(newer->refusal.has_value());
  CHECK(refusal_of<LeaseRefused>(R"("type":"open_lease","lease":"l-1-2")").lease == LeaseId{1, 2});
  CHECK(refusal_of<DataRefused>(R"("type":"make_data",)" + named).data == data);
  CHECK(refusal_of<DataNotOffered>(R"("type":"offer_data","transfer":4,)" + named).transfer == 4);
  CHECK(refusal_of<DataNotFetched>(R"("type":"fetch_data","transfer":5,)" + named).transfer == 5);
  CHECK(refusal_of<DataDeclined>(R"("type":"find_data","question":6)").question == 6);
  const auto spared = unreadable(R"("type":"spare_for","question":7)");
  REQUIRE(spared->refusal.has_value());
  CHECK(std::get<DataSpared>(*spared->refusal).question == 7);
  CHECK_FALSE(std::get<DataSpared>(*spared->refusal).enough);
  // Whose answer it would be cannot be read either.
  CHECK_FALSE(unreadable(R"("type":"make_data","data":"d-7")")->refusal.has_value());
}

TEST_CASE("a text without a number is no message that could be passed over") {
  for (const char* text : {"", "[]", R"({"type":"fold_data"})", R"({"type":"hello","ack":1})",
                           R"({"type":"make_data","seq":0,"ack":0})"}) {
    CAPTURE(text);
    CHECK_FALSE(unreadable_message(text, {ErrorCode::bad_request, "no"}).has_value());
  }
  CHECK_FALSE(unreadable_message(R"({"type":"x","seq":1,"ack":0})", {ErrorCode::too_large, "no"})
                  .has_value());
}

}  // namespace orchid
