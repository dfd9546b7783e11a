#include "protocol/memory_messages.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "protocol/control_messages.h"

namespace orchid {
namespace {

const std::string memory_key(32, 'a');
constexpr LeaseId memory_lease{3, 17};

template <typename Message>
Message memory_back(Message message) {
  const auto frame = parse_control_frame(
      encode(ControlFrame{.sequence = 1, .body = ControlMessage(std::move(message))}));
  REQUIRE_MESSAGE(frame.has_value(), frame.error().message);
  return std::get<Message>(std::get<ControlMessage>(frame->body));
}

std::string memory_fault(ControlMessage message) {
  const auto frame =
      parse_control_frame(encode(ControlFrame{.sequence = 1, .body = std::move(message)}));
  return frame ? "" : frame.error().message;
}

LeaseMemory some_memory() {
  return {.lease = memory_lease,
          .tenant = {1000, "ada"},
          .bytes = 8_GiB,
          .key = memory_key,
          .wait = WaitMode::blocking,
          .expires_in = std::chrono::milliseconds(70'000)};
}

}  // namespace

TEST_CASE("messages about leased memory are read as they were written") {
  const auto order = memory_back(some_memory());
  CHECK(order.lease == memory_lease);
  CHECK(order.tenant == LeaseTenant{1000, "ada"});
  CHECK(order.bytes == 8_GiB);
  CHECK(order.key == memory_key);
  CHECK(order.wait == WaitMode::blocking);
  CHECK(order.expires_in == std::chrono::milliseconds(70'000));
  const auto renewal = memory_back(RenewMemory{memory_lease, std::chrono::milliseconds(5)});
  CHECK(renewal.expires_in == std::chrono::milliseconds(5));
  CHECK(memory_back(EndMemory{memory_lease}).lease == memory_lease);
  const auto leased = memory_back(MemoryLeased{memory_lease, "h:1", memory_key});
  CHECK(leased.address == "h:1");
  CHECK(leased.key == memory_key);
  const auto refused = memory_back(MemoryRefused{memory_lease, ErrorCode::no_data_memory, "full"});
  CHECK(refused.code == ErrorCode::no_data_memory);
  CHECK(refused.message == "full");
  CHECK(memory_back(MemoryEnded{memory_lease, LeaseEnd::expired}).reason == LeaseEnd::expired);
  const auto question = memory_back(FindMemory{4, {1000, "ada"}, memory_lease});
  CHECK(question.question == 4);
  CHECK(question.tenant == LeaseTenant{1000, "ada"});
  CHECK(question.lease == memory_lease);
  const auto found = memory_back(MemoryFound{.question = 4,
                                             .address = "h:1",
                                             .key = memory_key,
                                             .bytes = 1_GiB,
                                             .wait = WaitMode::hot,
                                             .host = "n17"});
  CHECK(found.question == 4);
  CHECK(found.address == "h:1");
  CHECK(found.key == memory_key);
  CHECK(found.bytes == 1_GiB);
  CHECK(found.wait == WaitMode::hot);
  CHECK(found.host == "n17");
  const auto none = memory_back(MemoryNotFound{5, ErrorCode::not_found, "there is none"});
  CHECK(none.question == 5);
  CHECK(none.code == ErrorCode::not_found);
  CHECK(none.message == "there is none");
}

TEST_CASE("a hello tells which memory is leased") {
  ControlHello hello;
  hello.leases_memory = true;
  hello.memory = {{.lease = memory_lease,
                   .tenant = {1000, "ada"},
                   .bytes = 1_MiB,
                   .wait = WaitMode::hot,
                   .expires_in = std::chrono::milliseconds(9),
                   .address = "h:1"}};
  const auto frame = parse_control_frame(encode(ControlFrame{.body = hello}));
  REQUIRE_MESSAGE(frame.has_value(), frame.error().message);
  const auto& read = std::get<ControlHello>(frame->body);
  CHECK(read.leases_memory);
  REQUIRE(read.memory.size() == 1);
  CHECK(read.memory.front().lease == memory_lease);
  CHECK(read.memory.front().bytes == 1_MiB);
  CHECK(read.memory.front().address == "h:1");
  CHECK(read.memory.front().wait == WaitMode::hot);
}

TEST_CASE("what is wrong with a message about leased memory is named") {
  LeaseMemory none = some_memory();
  none.bytes = {};
  CHECK(memory_fault(none).find("'bytes'") != std::string::npos);
  for (const std::string& key : {std::string(31, 'a'), std::string(32, 'G'), std::string()}) {
    LeaseMemory odd = some_memory();
    odd.key = key;
    CHECK(memory_fault(odd).find("'key'") != std::string::npos);
  }
  CHECK(parse_control_frame(R"({"type":"end_memory","seq":1,"ack":0,"lease":"x"})")
            .error()
            .message.find("'lease'") != std::string::npos);
  CHECK(
      parse_control_frame(R"({"type":"memory_ended","seq":1,"ack":0,"lease":"l-1-1","reason":"x"})")
          .error()
          .message.find("'reason'") != std::string::npos);
}

}  // namespace orchid
