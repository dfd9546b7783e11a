#include "protocol/grant_messages.h"

#include <doctest/doctest.h>

namespace orchid {
namespace {

template <typename Message>
Message there_and_back(const Message& message) {
  const auto parsed = parse_grant_message(encode(message));
  REQUIRE(parsed.has_value());
  REQUIRE(std::holds_alternative<Message>(*parsed));
  return std::get<Message>(*parsed);
}

}  // namespace

TEST_CASE("an offer says what of which job, and for how long") {
  const auto offer = there_and_back(GrantOffer{.source = GrantSource::share,
                                               .job = 17,
                                               .users = GrantUsers::everybody,
                                               .cores = {1, 2, 9},
                                               .memory = 1_GiB,
                                               .ends_in = std::chrono::seconds(60),
                                               .gateway_grace = std::chrono::seconds(5),
                                               .gives_way = false,
                                               .bandwidth_cap = 64_MiB,
                                               .feed = true});
  CHECK(offer.source == GrantSource::share);
  CHECK(offer.job == 17);
  CHECK(offer.users == GrantUsers::everybody);
  CHECK(offer.cores == CoreList{1, 2, 9});
  CHECK(offer.memory == 1_GiB);
  CHECK(offer.ends_in == std::chrono::seconds(60));
  CHECK(offer.gateway_grace == std::chrono::seconds(5));
  CHECK_FALSE(offer.gives_way);
  CHECK(offer.bandwidth_cap == 64_MiB);
  CHECK(offer.feed);
  CHECK_FALSE(there_and_back(GrantOffer{.job = 1}).ends_in.has_value());
}

TEST_CASE("the host's answers come through") {
  CHECK(there_and_back(GrantTaken{.executor = 4711, .cores = {0}}).executor == 4711);
  const auto refused = there_and_back(GrantRefused{ErrorCode::denied, "no"});
  CHECK(refused.code == ErrorCode::denied);
  CHECK(refused.message == "no");
  there_and_back(GrantLeave{});
  const auto clear = there_and_back(GrantClear{.in_order = true, .message = "exit status 0"});
  CHECK(clear.in_order);
  CHECK(clear.message == "exit status 0");
}

TEST_CASE("an offer that makes no sense is refused") {
  const std::string good =
      R"({"type":"offer","protocol":1,"source":"pilot","job":17,"users":"owner","cores":[1],)"
      R"("memory_bytes":0,"gateway_grace_s":120,"gives_way":true,"bandwidth_cap":0,"feed":false})";
  REQUIRE(parse_grant_message(good).has_value());
  const auto with = [&](const std::string& old, const std::string& fresh) {
    std::string text = good;
    text.replace(text.find(old), old.size(), fresh);
    return parse_grant_message(text);
  };
  for (const auto& [old, fresh] : {std::pair{"\"protocol\":1", "\"protocol\":2"},
                                   {"\"pilot\"", "\"local\""},
                                   {"\"job\":17", "\"job\":0"},
                                   {"\"job\":17", "\"job\":-1"},
                                   {"[1]", "[1,1]"},
                                   {"[1]", "[70000]"},
                                   {"\"memory_bytes\":0", "\"memory_bytes\":5"},
                                   {"\"gateway_grace_s\":120", "\"gateway_grace_s\":0"},
                                   {"\"gateway_grace_s\":120", "\"gateway_grace_s\":86401"},
                                   {"\"gives_way\":true", "\"gives_way\":1"},
                                   {"\"owner\"", "\"nobody\""},
                                   {"\"offer\"", "\"grant\""}})
    CHECK_MESSAGE(with(old, fresh).error().code == ErrorCode::bad_request, fresh);
  CHECK_FALSE(parse_grant_message("[]").has_value());
}

}  // namespace orchid
