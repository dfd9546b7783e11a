// Memory for which the gateway is asked what can go.
#include "data/data_sparing.h"

#include <doctest/doctest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <optional>
#include <variant>
#include <vector>

#include "data/clock_now.h"
#include "data/data_service.h"
#include "data_book_parts.h"
#include "event_loop.h"
#include "protocol/control_messages.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

struct SparingHost {
  SparingHost() { sparing.begin(/*spares_data=*/true, /*resumed=*/false); }

  void want(std::uint64_t bytes, std::uint32_t tenant = ada) {
    sparing.make_room({tenant, ByteCount{bytes}}, [this] { ++went_on; });
  }
  [[nodiscard]] SpareFor asked() const {
    REQUIRE(!said.empty());
    const auto* question = std::get_if<SpareFor>(&said.back());
    REQUIRE(question != nullptr);
    return *question;
  }

  DataBook book = book_of(100);
  std::vector<ControlMessage> said;
  unsigned went_on = 0;
  DataSparing sparing{book, [this](const ControlMessage& message) { said.push_back(message); }};
};

TEST_CASE("what lacks is what does not go by itself, and nothing where that would not help") {
  DataBook book = book_of(100, 80);
  sealed_in(book, room_request(40, "named"), book_start);
  const DataId unnamed = sealed_in(book, room_request(30), book_start);
  CHECK(book.lacking({eve, 30_B}) == 0_B);  // it fits
  CHECK(book.lacking({eve, 60_B}) == 0_B);  // with what may be evicted
  CHECK(book.lacking({eve, 70_B}) == 10_B);
  CHECK(book.lacking({eve, 100_B}) == 0_B);  // beyond that tenant's part
  CHECK(book.lacking({eve, 101_B}) == 0_B);  // never fits
  CHECK(book.lacking({ada, 50_B}) == 0_B);   // beyond hers, with what she has
  REQUIRE(book.pin(unnamed, ada, book_start).has_value());
  CHECK(book.lacking({eve, 70_B}) == 40_B);
}

TEST_CASE("the gateway is asked for what lacks, and what waits goes on with its answer") {
  SparingHost host;
  sealed_in(host.book, room_request(60, "named"), book_start);
  host.want(40);
  CHECK(host.went_on == 1);
  CHECK(host.said.empty());
  host.want(50);
  host.want(60);
  REQUIRE(host.said.size() == 2);
  CHECK(host.went_on == 1);
  const SpareFor last = host.asked();
  CHECK(last.bytes == 20_B);
  host.sparing.obey(DataSpared{.question = last.question + 1, .enough = true});  // another's
  CHECK(host.went_on == 1);
  host.sparing.obey(DataSpared{.question = last.question, .enough = true});
  host.sparing.obey(DataSpared{.question = last.question, .enough = true});
  CHECK(host.went_on == 2);
  const auto now = clock_now();
  host.sparing.tick(now);
  CHECK(host.went_on == 2);
  host.sparing.tick(now + DataSparing::answer_within + 1s);
  CHECK(host.went_on == 3);
}

TEST_CASE(
    "nothing waits for a gateway that cannot say, that begins anew, or that was asked a lot") {
  SparingHost host;
  host.sparing.begin(/*spares_data=*/false, /*resumed=*/false);
  sealed_in(host.book, room_request(60, "named"), book_start);
  host.want(50);
  CHECK(host.said.empty());
  CHECK(host.went_on == 1);
  host.sparing.begin(/*spares_data=*/true, /*resumed=*/true);
  host.want(50);
  CHECK(host.said.size() == 1);
  host.sparing.begin(/*spares_data=*/true, /*resumed=*/true);
  CHECK(host.went_on == 1);
  host.sparing.begin(/*spares_data=*/true, /*resumed=*/false);
  CHECK(host.went_on == 2);

  constexpr int wanted = 1000;
  for (int i = 0; i < wanted; ++i) host.want(50, eve);
  CHECK(host.said.size() < wanted);
  CHECK(host.went_on + host.said.size() == wanted + 3);
  host.want(50);  // what one tenant asks is not held against another
  CHECK(host.asked().bytes == 10_B);
  host.sparing.end();
  host.want(50);
  CHECK(host.went_on == wanted + 4);
}

TEST_CASE("a lease of memory, or a room of a call, gets what was spared for it") {
  test::EventLoop loop;
  const auto more_to_come = boost::asio::make_work_guard(loop.io);
  DataService data(loop.io, {.budget = 1_MiB, .per_tenant = 1_MiB});
  std::vector<ControlMessage> said;
  data.set_handlers({[&](const ControlMessage& message) { said.push_back(message); }, {}});
  data.begin_sparing(/*spares_data=*/true, /*resumed=*/false);
  const MakeData copy = room_request((1_MiB).value, "copy");
  data.obey(copy);
  data.obey(SealData{copy.data});
  loop.run_until([&] { return !said.empty() && std::holds_alternative<DataSealed>(said.back()); });
  std::optional<Result<DataService::Room>> room;
  data.prepare_room(ada, 512_KiB, 20s, [&](const Result<void>& there) {
    REQUIRE(there.has_value());
    room = data.make_for_lease({ada, "ada"}, 512_KiB);
  });
  CHECK_FALSE(room.has_value());
  const auto* question = std::get_if<SpareFor>(&said.back());
  REQUIRE(question != nullptr);
  CHECK(question->bytes == 512_KiB);
  data.obey(SpareData{copy.data});
  data.obey(DataSpared{.question = std::get<SpareFor>(said.at(said.size() - 2)).question,
                       .enough = true});
  REQUIRE(room.has_value());
  CHECK(room->has_value());
  CHECK(data.book().used() == 512_KiB);
}

}  // namespace
}  // namespace orchid::executor
