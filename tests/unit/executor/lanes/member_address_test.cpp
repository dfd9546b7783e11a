#include "lanes/member_address.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::executor {

TEST_CASE("members of crews are at ports of hosts that the kernel there has chosen") {
  for (const char* own : {"192.0.2.1", "127.0.0.1", "2001:db8::1"}) {
    CAPTURE(own);
    for (const char* good : {"192.0.2.7:32768", "10.1.2.3:1024", "198.51.100.4:65535",
                             "[2001:db8::7]:40000", "[fd00::1]:40000", "[::ffff:192.0.2.7]:40000"})
      CHECK_MESSAGE(is_member_address(good, own), good);
    for (const char* bad : {"",
                            ":",
                            "192.0.2.7",
                            "192.0.2.7:",
                            "192.0.2.7:22",
                            "192.0.2.7:1023",
                            "192.0.2.7:0",
                            "192.0.2.7:65536",
                            "192.0.2.7:-1",
                            "192.0.2.7:40000x",
                            "192.0.2.7 :40000",
                            "[192.0.2.7]:40000",
                            "2001:db8::7:40000",
                            "[2001:db8::7]",
                            "node7:40000",
                            "0xc0000207:40000",
                            "192.514:40000",
                            "3221225991:40000",
                            "0.0.0.0:40000",
                            "0.1.2.3:40000",
                            "[::]:40000",
                            "224.0.0.1:40000",
                            "239.1.2.3:40000",
                            "255.255.255.255:40000",
                            "[ff02::1]:40000",
                            "[::192.0.2.7]:40000",
                            "[fe80::1%eth0]:40000"})
      CHECK_FALSE_MESSAGE(is_member_address(bad, own), bad);
  }
}

TEST_CASE("members on this host or link are there only for executors that listen there") {
  for (const char* here :
       {"127.0.0.1:40000", "127.8.8.8:40000", "[::1]:40000", "[::ffff:127.0.0.1]:40000"}) {
    CAPTURE(here);
    for (const char* own : {"127.0.0.1", "127.0.0.9", "::1"}) CHECK(is_member_address(here, own));
    for (const char* own : {"192.0.2.1", "2001:db8::1", "169.254.1.1", "0.0.0.0", "::", ""})
      CHECK_FALSE(is_member_address(here, own));
  }
  for (const char* link :
       {"169.254.169.254:8080", "[fe80::1]:40000", "[::ffff:169.254.1.1]:40000"}) {
    CAPTURE(link);
    for (const char* own : {"169.254.1.1", "fe80::2"}) CHECK(is_member_address(link, own));
    for (const char* own : {"192.0.2.1", "127.0.0.1", "::", ""})
      CHECK_FALSE(is_member_address(link, own));
  }
}

}  // namespace orchid::executor
