#include "site/host_configuration.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace orchid::site {
namespace {

Result<ParsedHostConfiguration> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "orchid-host");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return parse_host_configuration(static_cast<int>(pointers.size()), pointers.data());
}

std::vector<std::string> with(const std::vector<std::string>& more) {
  std::vector<std::string> words{"--gateway",         "gate:8080", "--token-file",
                                 "/etc/orchid/token", "--uids",    "700000-700003"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("by default pilots are root's, and shares are for their owners") {
  const auto parsed = parse(with({}));
  REQUIRE(parsed.has_value());
  const HostConfiguration& c = parsed->configuration;
  CHECK(c.policy.pilots_from == std::set<uid_t>{0});
  CHECK(c.policy.shares == SharePolicy::owner);
  CHECK(c.first_uid == 700'000);
  CHECK(c.slots == 4);
  CHECK(c.socket == "/run/orchid/host.sock");
  CHECK_FALSE(c.host_is_node);
  CHECK(c.node.find('.') == std::string::npos);
  CHECK(c.executor.filename() == "orchid-executor");
}

TEST_CASE("a site names who may grant") {
  const auto parsed = parse(with({"--pilots-from", "root,4711", "--shares", "everybody"}));
  REQUIRE(parsed.has_value());
  CHECK(parsed->configuration.policy.pilots_from == std::set<uid_t>{0, 4711});
  CHECK(parsed->configuration.policy.shares == SharePolicy::everybody);
  CHECK_FALSE(parse(with({"--pilots-from", "no-such-user"})).has_value());
  CHECK_FALSE(parse(with({"--shares", "all"})).has_value());
}

TEST_CASE("the executors' uids are a range beyond the system's own") {
  CHECK(parse_uid_range("700000-700255")->count == 256);
  CHECK(parse_uid_range("700000")->count == 1);
  for (const char* text : {"", "0-10", "999-1100", "700000-699999", "700000-704096", "a-b",
                           "700000-", "-700000", "4294967295"})
    CHECK_FALSE_MESSAGE(parse_uid_range(text).has_value(), text);
}

TEST_CASE("what is missing is said") {
  CHECK_FALSE(parse({"--gateway", "gate:8080", "--uids", "700000-700003"}).has_value());
  CHECK(parse({"--gateway", "unix:/run/g.sock", "--uids", "700000-700003"}).has_value());
  CHECK_FALSE(parse({"--uids", "700000-700003"}).has_value());
  CHECK_FALSE(parse(with({"--state", "here"})).has_value());
  CHECK(parse({"--help"})->exit_status == 0);
}

}  // namespace orchid::site
