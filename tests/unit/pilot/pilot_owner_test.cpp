#include "pilot/pilot_owner.h"

#include <doctest/doctest.h>

namespace orchid::pilot {
namespace {

std::string address(std::vector<std::string> addresses) {
  const RunningGateway gateway{.addresses = std::move(addresses), .token_file = {}};
  return gateway.address_for_nodes("").value_or("");
}

}  // namespace

TEST_CASE("nodes are told an address that is not the gateway's own host's alone") {
  CHECK(address({"http://127.0.0.1:1", "http://10.0.0.5:2"}) == "10.0.0.5:2");
  CHECK(address({"http://[::1]:1", "http://[fd00::5]:2/"}) == "[fd00::5]:2");
  CHECK(address({"http://0.0.0.0:80"}).ends_with(":80"));
  CHECK_FALSE(address({"http://0.0.0.0:80"}).starts_with("0"));
  CHECK(address({"http://127.0.0.1:1", "http://[::1]:1"}).empty());
  CHECK(RunningGateway{}.address_for_nodes("login1:1").value() == "login1:1");
}

}  // namespace orchid::pilot
