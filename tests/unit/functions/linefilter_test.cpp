#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "fake_host.h"

extern "C" EntryPoint orchid_entry_linefilter;

TEST_CASE("linefilter keeps the lines that contain the word of the first one") {
  const auto filter = [](std::string_view text) {
    return call_entry(orchid_entry_linefilter, text).output;
  };
  CHECK(filter("a\nbanana\ncoconut\nfig\napple\n") == "banana\napple\n");
  CHECK(filter("a\nno\nlast") == "last");
  CHECK(filter("a") == "");
  CHECK(filter("") == "");
  CHECK(filter("\nall\n\nlines\n") == "all\n\nlines\n");
}

TEST_CASE("linefilter finds the same wherever the chunks end") {
  const std::string text = "or\norder\n\nnone here\nfor all\nno\nthe last or";
  const std::string expected = call_entry(orchid_entry_linefilter, text).output;
  CHECK(expected == "order\nfor all\nthe last or");
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> chunks;
    for (std::size_t at = 0; at < text.size();) {
      chunks.push_back(text.substr(at, random() % 9));
      at += chunks.back().size();
    }
    const std::string first = chunks.front();
    REQUIRE(call_entry(orchid_entry_linefilter, first, std::span(chunks).subspan(1)).output ==
            expected);
  }
}
