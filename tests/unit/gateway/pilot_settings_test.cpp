#include "pilots/pilot_settings.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace orchid::gateway {

TEST_CASE("pilots by demand need to be told whose jobs give way") {
  PilotSettings settings;
  CHECK(check(settings).has_value());
  settings.automatic = true;
  const auto refused = check(settings);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_configuration);
  CHECK(refused.error().message.find("partition or qos") != std::string::npos);
  settings.qos = "low";
  CHECK(check(settings).has_value());
  settings.qos.clear();
  settings.partition = "idle";
  CHECK(check(settings).has_value());
}

}  // namespace orchid::gateway
