#include "lane_client/attached_data.h"

#include <doctest/doctest.h>

#include <vector>

#include "lane_client/policy.h"

namespace orchid::lane_client {
namespace {

constexpr MonotonicTime attach_start{std::chrono::seconds(100)};
const std::vector<DataId> one_object{make_data_id()};
const std::vector<DataId> two_objects{one_object[0], make_data_id()};

TEST_CASE("an object is asked for once, and is there when the executor says so") {
  AttachedData data;
  CHECK(data.has_all({}));
  CHECK_FALSE(data.has_all(one_object));
  CHECK(data.ask(one_object, attach_start) == one_object);
  CHECK(data.ask(two_objects, attach_start) == std::vector{two_objects[1]});
  CHECK_FALSE(data.has_all(one_object));
  CHECK(data.attached(one_object[0]));
  CHECK_FALSE(data.attached(one_object[0]));  // told twice
  CHECK(data.has_all(one_object));
  CHECK_FALSE(data.has_all(two_objects));
  CHECK(data.attached(two_objects[1]));
  CHECK(data.has_all(two_objects));
  CHECK(data.ask(two_objects, attach_start).empty());
}

TEST_CASE("what was not attached, dropped by the worker, or another worker's is asked for again") {
  AttachedData data;
  CHECK_FALSE(data.not_attached(one_object[0]));
  (void)data.ask(two_objects, attach_start);
  CHECK(data.not_attached(two_objects[1]));
  CHECK(data.ask(two_objects, attach_start) == std::vector{two_objects[1]});
  CHECK(data.attached(two_objects[0]));
  data.forget(two_objects);  // the second one_object has just been asked for
  CHECK(data.ask(two_objects, attach_start) == std::vector{two_objects[0]});
  data.clear();
  CHECK(data.ask(two_objects, attach_start) == two_objects);
  CHECK_FALSE(data.attached(make_data_id()));
}

TEST_CASE("an executor that takes back what it never was asked for does not end the wait") {
  AttachedData data;
  const std::vector<DataId> mapped{make_data_id()};
  (void)data.ask(mapped, attach_start);
  CHECK(data.attached(mapped[0]));
  CHECK_FALSE(data.is_waiting());
  (void)data.ask(two_objects, attach_start);
  CHECK_FALSE(data.not_attached(mapped[0]));
  CHECK_FALSE(data.has_all(mapped));  // it is asked for again by the next call
  CHECK_FALSE(data.not_attached(mapped[0]));
  CHECK(data.attached(two_objects[0]));
  CHECK(data.is_waiting());
  CHECK(data.attached(two_objects[1]));
  CHECK_FALSE(data.is_waiting());
  CHECK(data.has_all(two_objects));
}

TEST_CASE("a replaced worker that answers for its predecessor, too, is waited for once") {
  AttachedData data;
  CHECK(data.ask(one_object, attach_start) == one_object);
  data.clear();  // the worker ended before it heard of that; the next one answers it
  CHECK_FALSE(data.is_waiting());
  CHECK(data.ask(two_objects, attach_start) == two_objects);
  CHECK(data.attached(one_object[0]));
  CHECK_FALSE(data.not_attached(one_object[0]));  // deleted before it was asked for again
  CHECK(data.is_waiting());
  CHECK_FALSE(data.has_all(one_object));
  CHECK(data.not_attached(two_objects[1]));
  CHECK_FALSE(data.is_waiting());
  CHECK_FALSE(data.not_attached(two_objects[1]));
  CHECK_FALSE(data.is_waiting());
}

TEST_CASE("what no call was given for a while is detached") {
  AttachedData data;
  (void)data.ask(two_objects, attach_start);
  CHECK(data.attached(two_objects[0]));
  CHECK(data.attached(two_objects[1]));
  (void)data.ask(one_object, attach_start + std::chrono::seconds(9));
  CHECK(data.take_unused(attach_start).empty());
  CHECK(data.take_unused(attach_start + std::chrono::seconds(5)) == std::vector{two_objects[1]});
  CHECK_FALSE(data.has_all(two_objects));
  CHECK(data.has_all(one_object));
}

TEST_CASE("a call whose data is dropped again and again does not run for ever") {
  CallHistory call{.attempt = 1};
  for (unsigned i = 0; i < most_data_losses; ++i) {
    CHECK(runs_again_without_data(call));
    CHECK(call.attempt == 0);
    ++call.attempt;
  }
  CHECK_FALSE(runs_again_without_data(call));
}

}  // namespace
}  // namespace orchid::lane_client
