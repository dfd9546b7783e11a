#include "inspector/inspection_turns.h"

#include <doctest/doctest.h>

#include <vector>

namespace orchid::gateway {
namespace {

using Tenants = std::vector<uid_t>;

}  // namespace

TEST_CASE("modules are read in the order in which they came, as long as one tenant sends them") {
  CHECK(next_inspection(Tenants{7, 7}, Tenants{}, 3) == 0);
  CHECK(next_inspection(Tenants{7, 7}, Tenants{7, 7}, 3) == 0);
  CHECK_FALSE(next_inspection(Tenants{}, Tenants{7}, 3).has_value());
}

TEST_CASE("a tenant's many modules leave a place, and his turns, to others") {
  CHECK_FALSE(next_inspection(Tenants{7, 7}, Tenants{7, 7, 7}, 3).has_value());
  CHECK(next_inspection(Tenants{7, 7, 8}, Tenants{7, 7, 7}, 3) == 2);
  CHECK(next_inspection(Tenants{7, 7, 8, 9}, Tenants{7, 7, 8}, 3) == 3);
  CHECK(next_inspection(Tenants{7, 8}, Tenants{7, 8}, 3) == 0);
}

}  // namespace orchid::gateway
