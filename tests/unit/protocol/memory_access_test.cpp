#include "protocol/memory_access.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

namespace orchid {
namespace {

template <typename Number>
std::string replaced(std::string packet, std::size_t at, Number number) {
  std::memcpy(packet.data() + at, &number, sizeof(number));
  return packet;
}

bool is_request(const std::string& packet) { return parse_memory_access(packet).has_value(); }

}  // namespace

TEST_CASE("what a worker asks of a memory comes back as it was, with its bytes behind it") {
  const MemoryAccess put{.ask = MemoryAsk::put, .sequence = 9, .offset = 1ULL << 40, .bytes = 5};
  const std::string packet = encode(put, "bytes");
  const auto read = parse_memory_access(packet);
  REQUIRE(read.has_value());
  CHECK(read->head == put);
  CHECK(read->bytes == "bytes");
  const MemoryAccess swap{.ask = MemoryAsk::compare_swap,
                          .sequence = 10,
                          .offset = 16,
                          .operand = ~0ULL,
                          .expected = 4};
  CHECK(parse_memory_access(encode(swap)).value().head == swap);
  const MemoryAccess get{.ask = MemoryAsk::get, .sequence = 1, .bytes = memory_access_part};
  CHECK(parse_memory_access(encode(get)).value().head == get);
  const MemoryAccess rows{.ask = MemoryAsk::get,
                          .sequence = 2,
                          .offset = 16,
                          .bytes = 24,
                          .row = 8,
                          .stride = 1ULL << 33};
  CHECK(parse_memory_access(encode(rows)).value().head == rows);
  CHECK(encode_head(put) + "bytes" == packet);
}

TEST_CASE("a packet that no worker of ours sends is no request") {
  const std::string good =
      encode(MemoryAccess{.ask = MemoryAsk::put, .sequence = 9, .bytes = 5}, "bytes");
  CHECK(is_request(good));
  CHECK_FALSE(is_request(""));
  CHECK_FALSE(is_request(good.substr(0, 39)));
  CHECK_FALSE(is_request(good.substr(0, 44)));
  CHECK_FALSE(is_request(good + "x"));
  CHECK_FALSE(is_request(replaced(good, 0, std::uint32_t{2})));  // version
  CHECK_FALSE(is_request(replaced(good, 4, std::uint16_t{0})));  // what it asks
  CHECK_FALSE(is_request(replaced(good, 4, std::uint16_t{6})));
  CHECK_FALSE(is_request(replaced(good, 4, std::uint16_t{5})));   // a fence with bytes
  CHECK_FALSE(is_request(replaced(good, 6, std::uint16_t{1})));   // what is zero
  CHECK_FALSE(is_request(replaced(good, 8, std::uint32_t{0})));   // sequence
  CHECK_FALSE(is_request(replaced(good, 12, std::uint32_t{0})));  // bytes
  CHECK_FALSE(is_request(replaced(good, 12, std::uint32_t{~0U})));
  const std::string get =
      encode(MemoryAccess{.ask = MemoryAsk::get, .sequence = 9, .bytes = memory_access_part});
  CHECK_FALSE(is_request(replaced(get, 12, std::uint32_t{memory_access_part + 1})));
  CHECK(is_request(replaced(get, 24, std::uint64_t{memory_access_part / 4})));
  CHECK_FALSE(is_request(replaced(get, 24, std::uint64_t{memory_access_part - 1})));  // rows
  CHECK_FALSE(is_request(replaced(get, 24, std::uint64_t{2 * memory_access_part})));
}

TEST_CASE("an answer comes back as it was, and brings as many bytes as were asked for") {
  const std::string bytes = encode(MemoryAnswer{.sequence = 3}, "bytes");
  CHECK(parse_memory_answer(bytes, 5).value().bytes == "bytes");
  CHECK_FALSE(parse_memory_answer(bytes, 4).has_value());
  CHECK_FALSE(parse_memory_answer(bytes, 6).has_value());
  const MemoryAnswer before{.sequence = 4, .before = 77};
  CHECK(parse_memory_answer(encode(before), 0).value().head == before);
  for (const MemoryVerdict verdict : {MemoryVerdict::refused, MemoryVerdict::unknown}) {
    const MemoryAnswer refused{
        .verdict = verdict, .sequence = 5, .code = ErrorCode::lease_ended, .message = "it is gone"};
    CHECK(parse_memory_answer(encode(refused, "bytes"), 5).value().head == refused);
  }
  const MemoryAnswer wordy{
      .verdict = MemoryVerdict::refused, .sequence = 5, .message = std::string(5000, 'w')};
  CHECK(parse_memory_answer(encode(wordy), 0).value().head.message ==
        std::string(longest_memory_message, 'w'));
}

TEST_CASE("what is no answer is not taken for one") {
  const std::string good =
      encode(MemoryAnswer{.verdict = MemoryVerdict::refused, .sequence = 3, .message = "no"});
  const auto is_answer = [](const std::string& packet) {
    return parse_memory_answer(packet, 0).has_value();
  };
  CHECK(is_answer(good));
  CHECK_FALSE(is_answer(""));
  CHECK_FALSE(is_answer(good + "x"));
  CHECK_FALSE(is_answer(replaced(good, 0, std::uint32_t{9})));
  CHECK_FALSE(is_answer(replaced(good, 4, std::uint16_t{4})));    // verdict
  CHECK_FALSE(is_answer(replaced(good, 6, std::uint16_t{200})));  // code
  CHECK_FALSE(is_answer(replaced(good, 8, std::uint32_t{0})));    // sequence
  CHECK_FALSE(is_answer(replaced(good, 12, std::uint16_t{1})));   // length of the message
  CHECK_FALSE(is_answer(replaced(good, 14, std::uint16_t{1})));   // what is zero
}

}  // namespace orchid
