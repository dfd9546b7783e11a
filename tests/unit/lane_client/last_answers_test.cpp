#include "lane_client/last_answers.h"

#include <doctest/doctest.h>

#include "foundation/units.h"
#include "transport/local_lane.h"

namespace orchid::lane_client {

using namespace std::chrono_literals;

TEST_CASE("last answers are waited for until they are there, or are overdue") {
  const auto lane = transport::make_lane({1_MiB, 1_MiB}).value();
  auto client = transport::LocalLaneClient::attach(transport::duplicate(lane).value()).value();
  int looks = 0;
  SUBCASE("that nobody has given") {
    const auto start = std::chrono::steady_clock::now();
    take_last_answers(client, 50ms, [&] { return ++looks > 0; });
    CHECK(std::chrono::steady_clock::now() - start >= 50ms);
    CHECK(looks > 1);
  }
  SUBCASE("that are there") {
    take_last_answers(client, 1h, [&] { return ++looks < 2; });
    CHECK(looks == 2);
  }
}

}  // namespace orchid::lane_client
