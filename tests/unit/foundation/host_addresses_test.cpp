#include "foundation/host_addresses.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>

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

TEST_CASE("a host's name of the kernel's greatest length is known whole") {
  const std::string longest(HOST_NAME_MAX, 'h');
  const pid_t child = ::fork();
  if (child == 0) {
    // A name of its own is root's, or that of a namespace in which it is.
    if (::unshare(CLONE_NEWUTS) != 0 && ::unshare(CLONE_NEWUTS | CLONE_NEWUSER) != 0) ::_exit(77);
    if (::sethostname(longest.data(), longest.size()) != 0) ::_exit(77);
    ::_exit(own_host_name() == longest ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    MESSAGE("skipped: this user may not name a host");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace orchid
