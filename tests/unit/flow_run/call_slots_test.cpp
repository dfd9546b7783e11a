#include "call_slots.h"

#include <doctest/doctest.h>

#include <string>

#include "flow_run/flow_tuning.h"

using namespace orchid::flow;

namespace {

/// How many more it hands over there.
unsigned hand_over(CallSlots& slots, const Constraints& where) {
  unsigned count = 0;
  for (; count < 100 && slots.has_room(where); ++count) slots.begin(where);
  return count;
}

/// How many of a flow that has none yet.
unsigned handed_over(const std::string& hosts, const Constraints& where = {}) {
  CallSlots slots;
  slots.see(host_situations(hosts), {});
  return hand_over(slots, where);
}

const std::string two_clusters =
    R"({"hosts":[{"name":"n1","kind":"cpu","cluster":"fern","cores":8,"cores_leased":2},)"
    R"({"name":"n1~2","kind":"gpu","cluster":"moss","cores":4,"cores_leased":4}]})";

}  // namespace

TEST_CASE("call slots: as many as cores that nobody has leased, on all hosts") {
  CHECK(handed_over(R"({"hosts":[{"cores":8,"cores_leased":3},{"cores":4,"cores_leased":4}]})") ==
        5);
}

TEST_CASE("call slots: cores that batch jobs have, and those of drained hosts, are not free") {
  CHECK(handed_over(R"({"hosts":[{"cores":8,"cores_usable":5,"cores_leased":3}]})") == 2);
  CHECK(handed_over(R"({"hosts":[{"cores":8,"drained":true},{"cores":3,"drained":false}]})") == 3);
}

TEST_CASE("call slots: one call asks for a worker where nothing is free, or nothing is known") {
  for (const char* text :
       {"", "[]", "{}", R"({"hosts":3})", R"({"hosts":[1]})", R"({"hosts":[{"cores":"many"}]})",
        R"({"hosts":[{"cores":-1}]})", R"({"hosts":[{"cores":2,"cores_leased":7}]})"})
    CHECK_MESSAGE(handed_over(text) == 1, text);
}

TEST_CASE("call slots: calls for a cluster are judged by its cores alone") {
  CHECK(handed_over(two_clusters) == 6);
  CHECK(handed_over(two_clusters, {.cluster = "fern"}) == 6);
  CHECK(handed_over(two_clusters, {.cluster = "moss"}) == 1);
  CHECK(handed_over(two_clusters, {.kind = "gpu"}) == 1);
  CHECK(handed_over(two_clusters, {.kind = "cpu", .device = "cores"}) == 6);
  CHECK(handed_over(two_clusters, {.cluster = "nowhere"}) == 1);
}

TEST_CASE("call slots: one cluster's calls do not wait for another one's") {
  CallSlots slots;
  slots.see(host_situations(two_clusters), {});
  CHECK(hand_over(slots, {.cluster = "moss"}) == 1);
  CHECK(hand_over(slots, {.cluster = "fern"}) == 5);  // of six, one is asked for in moss
  CHECK_FALSE(slots.has_room({.cluster = "moss"}));
  slots.end({.cluster = "moss"});
  CHECK(slots.has_room({.cluster = "moss"}));
  CHECK(slots.has_room({.cluster = "fern"}));
}

TEST_CASE("call slots: what its own calls have comes to what is free") {
  CallSlots slots;
  slots.see(host_situations(R"({"hosts":[{"cores":4,"cluster":"moss"}]})"), {});
  const Constraints moss{.cluster = "moss"};
  CHECK(hand_over(slots, moss) == 4);
  const CallSlots::Counts before = slots.running();
  slots.see(host_situations(R"({"hosts":[{"cores":5,"cores_leased":4,"cluster":"moss"}]})"),
            before);
  CHECK(hand_over(slots, moss) == 1);
  CHECK(hand_over(slots, {}) == 1);  // it asks for a worker, and no more
  for (int i = 0; i < 5; ++i) slots.end(moss);
  slots.end({});
  CHECK(slots.running().empty());
}
