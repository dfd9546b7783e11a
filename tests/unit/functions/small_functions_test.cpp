#include <doctest/doctest.h>

#include <string>

#include "fake_host.h"

extern "C" EntryPoint orchid_entry_echo;
extern "C" EntryPoint orchid_entry_hello;

TEST_CASE("echo gives back what it got") {
  CHECK(call_entry(orchid_entry_echo, "").output.empty());
  const std::string bytes(100'000, '\xa5');
  CHECK(call_entry(orchid_entry_echo, bytes).output == bytes);
}

TEST_CASE("hello greets by name, and the world when there is none") {
  CHECK(call_entry(orchid_entry_hello, "Ada\n").output == "Hello, Ada!\n");
  CHECK(call_entry(orchid_entry_hello, "").output == "Hello, world!\n");
}
