#include "lease/module_seats.h"

#include <doctest/doctest.h>

#include <array>

namespace orchid::sdk {
namespace {

using State = ModuleSeats::State;

constexpr std::array<char, 3> lanes{};  // their addresses are what is known of them
const void* lane(std::size_t index) { return &lanes[index]; }

}  // namespace

TEST_CASE("a worker without a module takes one for each call that no other worker comes for") {
  ModuleSeats seats;
  for (std::size_t i = 0; i < 3; ++i) seats.seat(lane(i), {}, State::loaded);
  CHECK(seats.free() == 3);
  CHECK(seats.may_take({}, 4, 1));
  seats.seat(lane(0), 4, State::coming);
  CHECK(seats.free() == 2);
  CHECK(seats.coming(4) == 1);
  CHECK_FALSE(seats.may_take({}, 4, 1));
  CHECK(seats.may_take({}, 4, 2));
  seats.seat(lane(0), 4, State::loaded);
  CHECK(seats.coming(4) == 0);
  CHECK(seats.seated(4) == 1);
  CHECK(seats.may_take({}, 4, 1));
}

TEST_CASE("a worker with a module takes another one when no worker is without, and one alone") {
  ModuleSeats seats;
  seats.seat(lane(0), 0, State::loaded);
  seats.seat(lane(1), {}, State::loaded);
  CHECK_FALSE(seats.may_take(0, 1, 1));
  seats.seat(lane(1), 0, State::loaded);
  CHECK(seats.may_take(0, 1, 1));
  seats.seat(lane(1), 1, State::coming);
  CHECK_FALSE(seats.may_take(0, 1, 2));
}

TEST_CASE("a worker that is gone has no module, and is not free") {
  ModuleSeats seats;
  seats.leave(lane(0));
  seats.seat(lane(0), 2, State::coming);
  seats.leave(lane(0));
  seats.leave(lane(0));
  CHECK(seats.seated(2) == 0);
  CHECK(seats.coming(2) == 0);
  CHECK(seats.free() == 0);
  seats.seat(lane(0), {}, State::loaded);
  seats.leave(lane(0));
  CHECK(seats.free() == 0);
}

}  // namespace orchid::sdk
