#include "foundation/host_addresses.h"

#include <doctest/doctest.h>

namespace orchid {

TEST_CASE("other hosts reach no loopback address, and 'all addresses' by the host's name") {
  const std::vector<std::string> all{"http://127.0.0.1:80", "http://[::1]:80",
                                     "http://localhost:80", "http://0.0.0.0:81",
                                     "http://[::]:82",      "http://10.0.0.5:83"};
  CHECK(addresses_from_elsewhere(all, "login1") ==
        std::vector<std::string>{"http://login1:81", "http://login1:82", "http://10.0.0.5:83"});
  CHECK(addresses_from_elsewhere({"ucx://0.0.0.0:4711"}, "login1").front() == "ucx://login1:4711");
  CHECK(with_host("0.0.0.0:80", "login1") == "login1:80");
  CHECK(with_host("10.0.0.0:80", "login1") == "10.0.0.0:80");
}

TEST_CASE("a host knows itself") {
  CHECK(own_boot_id() == own_boot_id());
  CHECK_FALSE(own_host_name().empty());
}

}  // namespace orchid
