#include "recording.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace orchid::slurm {

TEST_CASE("a recording is read as it was written") {
  for (const char* name :
       {"partly_used", "reserved", "planned", "planned_gpus", "core_specialisation"}) {
    std::ifstream file(std::string(RECORDINGS) + "/" + name + ".jsonl");
    std::string line;
    REQUIRE(std::getline(file, line));
    const auto answer = parse_poll_answer(line);
    REQUIRE(answer.has_value());
    CHECK(encode(*answer) == line);
  }
}

TEST_CASE("tables that were not changed stay out of a recording") {
  CHECK(encode(PollAnswer{}) == "{}");
  CHECK_FALSE(parse_poll_answer("{}")->nodes.has_value());
}

TEST_CASE("a recording says which tables the site hides") {
  const auto again = parse_poll_answer(encode(PollAnswer{.partitions = {{.hidden = true}}}));
  REQUIRE(again.has_value());
  CHECK(again->partitions->hidden);
  CHECK_FALSE(again->nodes.has_value());
}

TEST_CASE("a damaged recording is an error") {
  for (const char* line : {"", "[", "{\"nodes\":1}", "{\"nodes\":{\"time\":1}}",
                           "{\"jobs\":{\"time\":1,\"rows\":[{}]}}", "{\"jobs\":{\"time\":\"x\"}}"})
    CHECK_FALSE(parse_poll_answer(line).has_value());
}

}  // namespace orchid::slurm
