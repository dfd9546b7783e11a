#include "pilots/pilot_settings.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace orchid::gateway {
namespace {

const std::vector<std::string> reached{"127.0.0.1:0", "10.0.0.5:8080"};

}  // namespace

TEST_CASE("pilots by demand need to be told whose jobs give way") {
  PilotSettings settings;
  CHECK(check(settings, reached).has_value());
  settings.automatic = true;
  const auto refused = check(settings, reached);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_configuration);
  CHECK(refused.error().message.find("partition or qos") != std::string::npos);
  settings.qos = "low";
  CHECK(check(settings, reached).has_value());
  settings.qos.clear();
  settings.partition = "idle";
  CHECK(check(settings, reached).has_value());
}

TEST_CASE("pilots by demand last whole minutes, and the shortest is not over the longest") {
  using namespace std::chrono_literals;
  PilotSettings settings{.automatic = true, .partition = "idle"};
  settings.shortest = settings.longest = 60s;
  CHECK(check(settings, reached).has_value());
  settings.shortest = 59s;
  CHECK(check(settings, reached).error().code == ErrorCode::bad_configuration);
  settings.shortest = 2min;
  CHECK(check(settings, reached).error().message.find("not more than longest") !=
        std::string::npos);
}

TEST_CASE("pilots by demand need a gateway that nodes reach") {
  PilotSettings settings{.automatic = true, .partition = "idle"};
  CHECK(check(settings, {"0.0.0.0:8080"}).has_value());
  const std::vector<std::string> own{"127.0.0.1:0", "[::1]:0", "localhost:80"};
  const auto refused = check(settings, own);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_configuration);
  CHECK(refused.error().message.find("--listen IP:PORT") != std::string::npos);
  settings.address = "127.0.0.1:8080";  // as in a cluster on one machine
  CHECK(check(settings, own).has_value());
  settings.address.clear();
  settings.site = true;  // the site's service knows it
  CHECK(check(settings, own).has_value());
  CHECK(check({}, own).has_value());
}

TEST_CASE("the keeper knows how long a pilot may take to start and to join") {
  PilotSettings settings;
  settings.start_within = std::chrono::minutes(10);
  settings.join_within = std::chrono::seconds(45);
  const auto keeper =
      pilot_keeper(settings, "/opt/orchid/bin/orchid", "/run/gateway.sock", "/state");
  const auto value_of = [&](const char* option) {
    const auto found = std::ranges::find(keeper.arguments, option);
    return found == keeper.arguments.end() ? std::string() : *std::next(found);
  };
  CHECK(value_of("--start-within") == "600s");
  CHECK(value_of("--join-within") == "45s");
}

TEST_CASE("pilots by demand keep the data that is said, where it is not the site that says it") {
  PilotSettings settings{.automatic = true, .partition = "idle"};
  const auto words = [&] {
    return pilot_keeper(settings, "/opt/orchid/bin/orchid", "/run/gateway.sock", "/state")
        .arguments;
  };
  const auto unsaid = words();
  CHECK(std::ranges::find(unsaid, "--data-memory") == unsaid.end());
  settings.data_memory = 2_GiB;
  const auto said = words();
  const auto found = std::ranges::find(said, "--data-memory");
  REQUIRE(found != said.end());
  CHECK(*std::next(found) == "2147483648");
  CHECK(check(settings, reached).has_value());
  settings.site = true;
  CHECK(check(settings, reached).error().message.contains("data_memory and site"));
}

TEST_CASE("a pause that began before the gateway is over, and the keeper knows when that was") {
  PilotSettings settings;
  settings.started = std::chrono::system_clock::time_point(std::chrono::milliseconds(5'700));
  const auto keeper =
      pilot_keeper(settings, "/opt/orchid/bin/orchid", "/run/gateway.sock", "/state");
  const auto found = std::ranges::find(keeper.arguments, "--wanted-since");
  REQUIRE(found != keeper.arguments.end());
  CHECK(*std::next(found) == "5700");
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
