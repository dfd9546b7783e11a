#include <doctest/doctest.h>

#include <string>

#include "memory/messages.h"

namespace orchid::executor {
namespace {

std::string fault_of(const std::string& text) {
  const auto message = parse_memory_message(text);
  return message ? "" : message.error().message;
}

}  // namespace

TEST_CASE("a memory process and its agent read what the other has written") {
  const std::string key(32, 'a');
  const auto order = parse_memory_message(encode(
      MemoryServe{.key = key, .address = "10.0.0.1", .bytes = 3_MiB, .wait = WaitMode::hot}));
  REQUIRE(order.has_value());
  const auto& serve = std::get<MemoryServe>(*order);
  CHECK(serve.key == key);
  CHECK(serve.address == "10.0.0.1");
  CHECK(serve.bytes == 3_MiB);
  CHECK(serve.wait == WaitMode::hot);
  const auto listening = parse_memory_message(encode(MemoryListening{"10.0.0.1:7"}));
  CHECK(std::get<MemoryListening>(listening.value()).address == "10.0.0.1:7");
  const auto going = parse_memory_message(encode(MemoryReach{.key = key,
                                                             .address = "10.0.0.1:7",
                                                             .bytes = 3_MiB,
                                                             .wait = WaitMode::blocking,
                                                             .host = "n17"}));
  const auto& reach = std::get<MemoryReach>(going.value());
  CHECK(reach.key == key);
  CHECK(reach.address == "10.0.0.1:7");
  CHECK(reach.bytes == 3_MiB);
  CHECK(reach.wait == WaitMode::blocking);
  CHECK(reach.host == "n17");
  CHECK(std::holds_alternative<MemoryConnected>(
      parse_memory_message(encode(MemoryConnected{})).value()));
  CHECK(std::holds_alternative<MemoryLeft>(parse_memory_message(encode(MemoryLeft{})).value()));
  CHECK(std::holds_alternative<MemoryLost>(parse_memory_message(encode(MemoryLost{})).value()));
  for (const bool ended : {false, true})
    CHECK(std::get<MemoryFate>(parse_memory_message(encode(MemoryFate{ended})).value()).ended ==
          ended);
  const auto failed =
      parse_memory_message(encode(MemoryFailed{ErrorCode::unsupported, "there is no UCX"}));
  CHECK(std::get<MemoryFailed>(failed.value()).code == ErrorCode::unsupported);
  CHECK(std::get<MemoryFailed>(failed.value()).message == "there is no UCX");
}

TEST_CASE("what is no message of a memory process is named") {
  CHECK(fault_of("{").find("the message") != std::string::npos);
  CHECK(fault_of(R"({"type":"stop"})").find("type") != std::string::npos);
  CHECK(fault_of(R"({"type":"fate"})").find("ended") != std::string::npos);
  CHECK(fault_of(R"({"type":"failed","code":"none","message":""})").find("code") !=
        std::string::npos);
  CHECK(
      fault_of(R"({"type":"serve","key":"a","address":"","bytes":0,"wait":"hot"})").find("bytes") !=
      std::string::npos);
  CHECK(fault_of(R"({"type":"serve","key":"a","address":"","bytes":1,"wait":"never"})")
            .find("wait") != std::string::npos);
}

}  // namespace orchid::executor
