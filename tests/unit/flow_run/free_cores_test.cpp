#include "free_cores.h"

#include <doctest/doctest.h>

using orchid::flow::free_cores;

TEST_CASE("free cores are those of all hosts that nobody has leased") {
  CHECK(free_cores(R"({"hosts":[{"cores":8,"cores_leased":3},{"cores":4,"cores_leased":4}]})") ==
        5);
  CHECK(free_cores(R"({"hosts":[{"cores":2,"cores_leased":7}]})") == 0);
}

TEST_CASE("cores that batch jobs have, and those of drained hosts, are not free") {
  CHECK(free_cores(R"({"hosts":[{"cores":8,"cores_usable":5,"cores_leased":3}]})") == 2);
  CHECK(free_cores(R"({"hosts":[{"cores":8,"drained":true},{"cores":2,"drained":false}]})") == 2);
}

TEST_CASE("an answer that is none of /v1/hosts has no free cores") {
  for (const char* text : {"", "[]", "{}", R"({"hosts":3})", R"({"hosts":[1]})",
                           R"({"hosts":[{"cores":"many"}]})", R"({"hosts":[{"cores":-1}]})"})
    CHECK(free_cores(text) == 0);
}
