#include "grant/core_feed.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace orchid::executor {
namespace {

/// What is written to the pipe, and what the feed makes of it.
struct Feeding {
  Feeding() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    writer = UniqueFd(ends[1]);
    feed.emplace(io, UniqueFd(ends[0]),
                 CoreFeed::Handlers{[this](const CoreList& cores) { offers.push_back(cores); },
                                    [this](const Failure& why) { failures.push_back(why); }});
  }
  void write(std::string_view text) {
    REQUIRE(::write(writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    io.restart();
    io.run_one();
  }

  boost::asio::io_context io;
  UniqueFd writer;
  std::vector<CoreList> offers;
  std::vector<Failure> failures;
  std::optional<CoreFeed> feed;
};

}  // namespace

TEST_CASE("each line of the feed is an offer, and an empty one offers nothing") {
  Feeding feeding;
  feeding.write("0-2,8\n");
  feeding.write("\n");
  feeding.write("3\n");
  CHECK(feeding.offers == std::vector<CoreList>{{0, 1, 2, 8}, {}, {3}});
  CHECK(feeding.failures.empty());
}

TEST_CASE("a line counts when it is complete, and of several the last one") {
  Feeding feeding;
  feeding.write("1");
  CHECK(feeding.offers.empty());
  feeding.write("2\n4\n5-");
  CHECK(feeding.offers == std::vector<CoreList>{{4}});
  feeding.write("6\n\n");
  CHECK(feeding.offers.back().empty());
}

TEST_CASE("the feed's end, and what is no core list, end it") {
  Feeding feeding;
  SUBCASE("its writer has gone") {
    feeding.writer.reset();
    feeding.io.run_one();
    REQUIRE(feeding.failures.size() == 1);
    CHECK(feeding.failures[0].message.find("says which cores are free has ended") !=
          std::string::npos);
  }
  SUBCASE("nonsense") {
    feeding.write("all of them\n");
    REQUIRE(feeding.failures.size() == 1);
    CHECK(feeding.failures[0].message.find("core feed") != std::string::npos);
  }
  SUBCASE("a line without an end") {
    for (int i = 0; i < 17 && feeding.failures.empty(); ++i) feeding.write(std::string(4096, '1'));
    CHECK(feeding.failures.size() == 1);
  }
  CHECK(feeding.offers.empty());
}

}  // namespace orchid::executor
