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

TEST_CASE(
    "what clears the queue knows the state directory and the grace, and outlives the gateway") {
  PilotSettings settings;
  settings.gateway_grace = std::chrono::milliseconds(1500);
  const auto guard = pilot_guard(settings, "/opt/orchid/bin/orchid", "/home/me/state");
  CHECK(guard.outlives);
  CHECK(guard.arguments ==
        std::vector<std::string>{"pilot", "guard", "--state", "/home/me/state", "--grace", "2s"});
  CHECK_FALSE(
      pilot_keeper(settings, "/opt/orchid/bin/orchid", "/run/gateway.sock", "/var/lib/orchid")
          .outlives);
}

}  // namespace orchid::gateway
