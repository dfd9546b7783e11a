#include "protocol/service_messages.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

namespace orchid {
namespace {

ServiceRequest request_of(ServiceAsk ask, std::string name = "") {
  return {.ask = ask,
          .sequence = 7,
          .data = make_data_id(),
          .bytes = 1ULL << 40,
          .name = std::move(name)};
}

/// The packet with another number of `Number`'s size at that place.
template <typename Number>
std::string with(std::string packet, std::size_t at, Number number) {
  std::memcpy(packet.data() + at, &number, sizeof(number));
  return packet;
}

}  // namespace

TEST_CASE("what a worker asks comes back as it was, in a packet of one size") {
  for (const ServiceAsk ask :
       {ServiceAsk::open_data, ServiceAsk::create_data, ServiceAsk::seal_data,
        ServiceAsk::publish_data, ServiceAsk::discard_data, ServiceAsk::open_memory,
        ServiceAsk::create_module, ServiceAsk::make_module, ServiceAsk::share_module,
        ServiceAsk::fetch_module, ServiceAsk::locate_data})
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, longest_service_name}) {
      const ServiceRequest request = request_of(ask, std::string(length, 'n'));
      const std::string packet = encode(request);
      CHECK(packet.size() == service_request_bytes);
      CHECK(parse_service_request(packet) == request);
    }
}

TEST_CASE("what a worker is answered comes back as it was, its message cut to its room") {
  for (const ServiceVerdict verdict :
       {ServiceVerdict::done, ServiceVerdict::refused, ServiceVerdict::again}) {
    const ServiceAnswer answer{.verdict = verdict,
                               .sequence = 9,
                               .data = make_data_id(),
                               .bytes = 12,
                               .code = ErrorCode::data_elsewhere,
                               .message = "it is on n17"};
    CHECK(encode(answer).size() == service_answer_bytes);
    CHECK(parse_service_answer(encode(answer)) == answer);
  }
  const auto cut = parse_service_answer(encode(
      ServiceAnswer{.verdict = ServiceVerdict::refused, .message = std::string(10'000, 'x')}));
  REQUIRE(cut.has_value());
  CHECK(cut->message == std::string(longest_service_message, 'x'));
}

TEST_CASE("a request of another size, version, kind or sequence, or with a wrong name, is none") {
  const std::string good = encode(request_of(ServiceAsk::open_data, "weather"));
  REQUIRE(parse_service_request(good).has_value());
  CHECK_FALSE(parse_service_request("").has_value());
  CHECK_FALSE(parse_service_request(good.substr(1)).has_value());
  CHECK_FALSE(parse_service_request(good + '\0').has_value());
  CHECK_FALSE(parse_service_request(with(good, 0, 2U)).has_value());
  for (const int ask : {0, 12, 0xffff})
    CHECK_FALSE(parse_service_request(with(good, 4, static_cast<std::uint16_t>(ask))).has_value());
  // Longer than its room; shorter, with something behind it.
  CHECK_FALSE(parse_service_request(with(good, 6, std::uint16_t{89})).has_value());
  CHECK_FALSE(parse_service_request(with(good, 6, std::uint16_t{0xffff})).has_value());
  CHECK_FALSE(parse_service_request(with(good, 6, std::uint16_t{6})).has_value());
  CHECK_FALSE(parse_service_request(with(good, 8, 0U)).has_value());
  CHECK_FALSE(parse_service_request(with(good, 12, 1U)).has_value());
}

TEST_CASE("an answer of another size, version or kind, or with a wrong message, is none") {
  const std::string good =
      encode(ServiceAnswer{.verdict = ServiceVerdict::refused, .message = "no"});
  REQUIRE(parse_service_answer(good).has_value());
  CHECK_FALSE(parse_service_answer(good.substr(1)).has_value());
  CHECK_FALSE(parse_service_answer(with(good, 0, 0U)).has_value());
  for (const int verdict : {0, 4, 0xffff})
    CHECK_FALSE(
        parse_service_answer(with(good, 4, static_cast<std::uint16_t>(verdict))).has_value());
  CHECK_FALSE(parse_service_answer(with(good, 6, std::uint16_t{200})).has_value());  // no such code
  CHECK_FALSE(parse_service_answer(with(good, 12, std::uint16_t{473})).has_value());
  CHECK_FALSE(parse_service_answer(with(good, 12, std::uint16_t{1})).has_value());
  CHECK_FALSE(parse_service_answer(with(good, 14, std::uint16_t{1})).has_value());
}

}  // namespace orchid
