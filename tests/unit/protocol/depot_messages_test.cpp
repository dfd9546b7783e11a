#include "protocol/depot_messages.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid {
namespace {

template <typename T>
T depot_back(const T& message) {
  const auto parsed = parse_depot_message(encode(DepotMessage(message)));
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
  REQUIRE(std::holds_alternative<T>(*parsed));
  return std::get<T>(*parsed);
}

}  // namespace

TEST_CASE("every message between an agent and a depot comes back as it was") {
  const auto start = depot_back(DepotStart{.tenant = {1000, "ada"}, .data_limit = 64_MiB});
  CHECK(start.tenant == LeaseTenant{1000, "ada"});
  CHECK(start.data_limit == 64_MiB);
  const auto serve = depot_back(DepotServe{.worker = 12, .again = true});
  CHECK(serve.worker == 12);
  CHECK(serve.again);
  (void)depot_back(DepotReady{});
  CHECK(depot_back(DepotNonsense{.worker = 3}).worker == 3);
  for (const ServiceAsk ask :
       {ServiceAsk::open_data, ServiceAsk::create_data, ServiceAsk::seal_data,
        ServiceAsk::publish_data, ServiceAsk::discard_data}) {
    const ServiceRequest request{
        .ask = ask, .sequence = 4, .data = make_data_id(), .bytes = 5, .name = "weather@3"};
    const auto asked = depot_back(DepotAsked{.worker = 9, .request = request});
    CHECK(asked.worker == 9);
    CHECK(asked.request == request);
  }
  for (const ServiceVerdict verdict :
       {ServiceVerdict::done, ServiceVerdict::refused, ServiceVerdict::again}) {
    const ServiceAnswer answer{.verdict = verdict,
                               .sequence = 4,
                               .data = make_data_id(),
                               .bytes = 5,
                               .code = ErrorCode::no_data_memory,
                               .message = "2 GiB are left"};
    CHECK(depot_back(DepotAnswer{.worker = 9, .answer = answer}).answer == answer);
  }
}

TEST_CASE("a depot says whom it serves no more") {
  CHECK(depot_back(DepotUnserved{.worker = 9}).worker == 9);
}

TEST_CASE("a message of a depot with a wrong field is refused, and the field is named") {
  const auto fault_of = [](const std::string& text) {
    const auto parsed = parse_depot_message(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == ErrorCode::bad_request);
    return parsed.error().message;
  };
  CHECK(fault_of(R"({"type":"open"})").find("type") != std::string::npos);
  CHECK(fault_of(R"({"type":"nonsense"})").find("worker") != std::string::npos);
  std::string asked = encode(DepotAsked{.worker = 1, .request = {.sequence = 1}});
  asked.replace(asked.find("open_data"), 9, "eat_bytes");
  CHECK(fault_of(asked).find("ask") != std::string::npos);
  CHECK(fault_of(encode(DepotAsked{.worker = 1,
                                   .request = {.sequence = 1, .name = std::string(89, 'n')}}))
            .find("name") != std::string::npos);
}

}  // namespace orchid
