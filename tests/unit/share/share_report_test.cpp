#include "share/share_report.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::share {
namespace {

constexpr auto hosts =
    R"({"hosts":[{"hostname":"h1","executors":[)"
    R"({"state":"connected","cores":[2,3],"cores_leased":1,)"
    R"("grant":{"source":"share","job":7,"node":"n1","ends_in_ms":5000}},)"
    R"({"state":"lost","cores":[],"cores_leased":0,"grant":{"source":"share","job":7}},)"
    R"({"state":"connected","cores":[0],"cores_leased":0,"grant":{"source":"pilot","job":8}},)"
    R"({"state":"lost","cores":[1],"cores_leased":0,"grant":{"source":"share","job":6}}]}]})";

Result<std::vector<NodeShare>> shares_in(const std::string& answer,
                                         std::optional<std::uint64_t> job = std::nullopt) {
  return shares_of([&](const std::string&) { return answer; }, job);
}

TEST_CASE("shares are found among the hosts, by job, without those that have gone") {
  const auto all = shares_in(hosts);
  REQUIRE_MESSAGE(all.has_value(), all.error().message);
  REQUIRE(all->size() == 2);
  CHECK(all->at(0).job == 6);
  CHECK(all->at(0).state == "lost");
  CHECK(all->at(0).node == "h1");  // the grant names none
  CHECK_FALSE(all->at(0).ends_in_ms.has_value());
  CHECK(all->at(1).node == "n1");
  CHECK(all->at(1).cores == CoreList{2, 3});
  CHECK(all->at(1).cores_leased == 1);
  CHECK(all->at(1).ends_in_ms == 5000);
  CHECK(shares_in(hosts, 7)->size() == 1);
  CHECK(shares_in(hosts, 9)->empty());
}

TEST_CASE("the shares of a job are asked for by its number") {
  std::string asked;
  const auto get = [&](const std::string& path) {
    asked = path;
    return std::string(R"({"hosts":[]})");
  };
  CHECK(shares_of(get, 7)->empty());
  CHECK(asked == "/v1/hosts?job=7");
}

TEST_CASE("what is no answer of a gateway is told with the field that is wrong") {
  CHECK(
      shares_in("<html>").error().message.starts_with("the gateway's answer to /v1/hosts is not"));
  CHECK(shares_in("{}").error().message == "'hosts' must be a list of objects");
  CHECK(shares_in(R"({"hosts":[{"executors":[{"cores":[],"cores_leased":0}]}]})").error().message ==
        "'hosts[0].executors[0].state' must be a text");
}

}  // namespace
}  // namespace orchid::share
