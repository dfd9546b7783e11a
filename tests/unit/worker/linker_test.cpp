#include "jit/linker.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "foundation/files.h"

namespace orchid::executor {
namespace {

int add(int a, int b) { return a + b; }
int twice(int a) { return 2 * a; }

void* resolve_all(std::string_view name) {
  if (name == "host_add") return reinterpret_cast<void*>(&add);
  if (name == "host_twice") return reinterpret_cast<void*>(&twice);
  return nullptr;
}

std::vector<std::byte> object(const std::string& name = "linked") {
  auto bytes = read_file(std::string(LINKED_OBJECTS) + "/" + name + ".o", 1_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

template <typename Entry>
Entry* as(void* address) {
  return reinterpret_cast<Entry*>(address);
}

}  // namespace

TEST_CASE(
    "an object is linked: its entries sorted, its initialisers on demand, its state its own") {
  auto one = link(object(), "orchid_entry_", resolve_all);
  auto two = link(object(), "orchid_entry_", resolve_all);
  REQUIRE(one.has_value());
  REQUIRE(two.has_value());
  const auto entries = (*one)->entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "first");
  CHECK(entries[1].name == "second");
  const auto first = as<int(int, int)>(entries[0].address);
  const auto second = as<int(int)>(entries[1].address);
  CHECK(second(1) == 2);
  (*one)->initialise();
  CHECK(second(1) == 42);
  CHECK(first(1, 2) == 4);
  CHECK(first(1, 2) == 5);
  CHECK(as<int(int, int)>((*two)->entries()[0].address)(1, 2) == 4);
}

TEST_CASE("other ways to what lies outside of an object link as well") {
  for (const char* name : {"linked_pie", "linked_no_plt"}) {
    CAPTURE(std::string(name));
    auto linked = link(object(name), "orchid_entry_", resolve_all);
    REQUIRE_MESSAGE(linked.has_value(), linked.error().message);
    (*linked)->initialise();
    const auto entries = (*linked)->entries();
    REQUIRE(entries.size() == 2);
    CHECK(as<int(int)>(entries[1].address)(1) == 42);
    CHECK(as<int(int, int)>(entries[0].address)(1, 2) == 4);
    CHECK(as<int(int, int)>(entries[0].address)(1, 2) == 5);
  }
}

TEST_CASE("an address inside an entry is found by the entry's name") {
  auto linked = link(object(), "orchid_entry_", resolve_all);
  REQUIRE(linked.has_value());
  const auto start = reinterpret_cast<std::uintptr_t>((*linked)->entries()[1].address);
  std::uintptr_t distance = 99;
  const char* name = (*linked)->function_at(start + 1, distance);
  REQUIRE(name != nullptr);
  CHECK(std::string(name).ends_with("second"));
  CHECK(distance == 1);
  CHECK((*linked)->function_at(16, distance) == nullptr);
}

TEST_CASE("all symbols that are missing are named in one message") {
  const auto linked =
      link(object(), "orchid_entry_", [](std::string_view) -> void* { return nullptr; });
  REQUIRE_FALSE(linked.has_value());
  CHECK(linked.error().code == ErrorCode::module_rejected);
  CHECK(linked.error().message.find("host_add") != std::string::npos);
  CHECK(linked.error().message.find("host_twice") != std::string::npos);
}

TEST_CASE("what is no object, or a part of one, is refused") {
  const auto whole = object();
  CHECK_FALSE(link(as_bytes("this is no object"), "orchid_entry_", resolve_all).has_value());
  CHECK_FALSE(link({}, "orchid_entry_", resolve_all).has_value());
  CHECK_FALSE(
      link(std::span(whole).first(whole.size() / 2), "orchid_entry_", resolve_all).has_value());
  CHECK_FALSE(link(std::span(whole).first(64), "orchid_entry_", resolve_all).has_value());
}

}  // namespace orchid::executor
