#include "pilot/hole_watch.h"

#include <doctest/doctest.h>

namespace orchid::pilot {
namespace {

using namespace std::chrono_literals;

constexpr MonotonicTime first_look{1000s};
constexpr HoleWatch::Options options{
    .gone_after = 10s, .no_room_after = 45s, .no_start_after = 300s};

/// How long one pilot waits until something is said, with a look every 2 s.
struct Told {
  Wait wait;
  MonotonicTime::duration after;
};
template <typename SightAt>
Told told(SightAt sight_at) {
  HoleWatch watch(options);
  for (int look = 0; look < 1'000; ++look) {
    const auto now = first_look + look * 2s;
    watch.begin(now);
    if (const Wait wait = watch.look(7, sight_at(look)); wait != Wait::may_end)
      return {wait, now - first_look};
  }
  return {Wait::may_end, 2'000s};
}

}  // namespace

TEST_CASE("a pilot whose hole has not been there for a while waits in vain") {
  const Told gone = told([](int look) { return HoleWatch::Sight{.hole_is_there = look < 5}; });
  CHECK(gone.wait == Wait::hole_gone);
  CHECK(gone.after == 20s);
}

TEST_CASE("so does one for which the batch system finds no room, however free the node seems") {
  const Told busy = told([](int look) {
    return HoleWatch::Sight{.hole_is_there = look % 4 != 0, .no_room = look > 1};
  });
  CHECK(busy.wait == Wait::not_given);
  CHECK(busy.after == 50s);
}

TEST_CASE("and one that nobody has started for long") {
  const Told forgotten = told([](int look) {
    return HoleWatch::Sight{.hole_is_there = look % 3 != 0, .no_room = look % 5 != 0};
  });
  CHECK(forgotten.wait == Wait::not_given);
  CHECK(forgotten.after == 300s);
}

TEST_CASE("who does not wait any more is forgotten") {
  HoleWatch watch(options);
  watch.begin(first_look);
  CHECK(watch.look(7, {.hole_is_there = false}) == Wait::may_end);
  watch.begin(first_look + 9s);
  CHECK(watch.look(8, {}) == Wait::may_end);
  watch.begin(first_look + 18s);
  CHECK(watch.look(7, {.hole_is_there = false}) == Wait::may_end);  // another one's number
}

}  // namespace orchid::pilot
