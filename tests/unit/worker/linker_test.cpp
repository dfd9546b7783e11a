#include "jit/linker.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
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

std::vector<std::byte> compiled(const std::string& name = "linked") {
  auto bytes = read_file(std::string(LINKED_OBJECTS) + "/" + name + ".o", 1_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

template <typename Entry>
Entry* as(void* address) {
  return reinterpret_cast<Entry*>(address);
}

// Returns twice its argument.
#if defined(__x86_64__)
constexpr unsigned char code_of_twice[] = {0x8d, 0x04, 0x3f, 0xc3};
#elif defined(__aarch64__)
constexpr unsigned char code_of_twice[] = {0x00, 0x00, 0x00, 0x0b, 0xc0, 0x03, 0x5f, 0xd6};
#endif

/// The function above at a place of choice if that is free, or where the kernel has room.
class PlacedCode {
 public:
  explicit PlacedCode(std::uintptr_t place)
      : page_(::mmap(reinterpret_cast<void*>(place), size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) return;
    std::memcpy(page_, code_of_twice, sizeof(code_of_twice));
    REQUIRE(::mprotect(page_, size, PROT_READ | PROT_EXEC) == 0);
    __builtin___clear_cache(static_cast<char*>(page_),
                            static_cast<char*>(page_) + sizeof(code_of_twice));
  }
  ~PlacedCode() {
    if (page_ != MAP_FAILED) ::munmap(page_, size);
  }
  PlacedCode(const PlacedCode&) = delete;
  PlacedCode& operator=(const PlacedCode&) = delete;
  [[nodiscard]] void* address() const { return page_ == MAP_FAILED ? nullptr : page_; }

 private:
  static constexpr std::size_t size = 4096;
  void* page_;
};

/// The entries of calls_outside.c.
class Outside {
 public:
  Outside(void* callee, void* absent) {
    auto linked = link(compiled("calls_outside"), "entry_", [&](std::string_view name) {
      return name == "callee" ? callee : name == "absent" ? absent : nullptr;
    });
    REQUIRE_MESSAGE(linked.has_value(), linked.error().message);
    module_ = std::move(*linked);
    for (const auto& entry : module_->entries()) entries_[entry.name] = entry.address;
  }
  [[nodiscard]] int call(const char* entry, int value) const {
    return reinterpret_cast<int (*)(int)>(entries_.at(entry))(value);
  }
  [[nodiscard]] void* take() const {
    return reinterpret_cast<void* (*)(int)>(entries_.at("takes"))(1);
  }

 private:
  std::unique_ptr<LinkedModule> module_;
  std::map<std::string, void*> entries_;
};

}  // namespace

TEST_CASE("code is linked: its entries sorted, its initialisers on demand, its state its own") {
  auto one = link(compiled(), "orchid_entry_", resolve_all);
  auto two = link(compiled(), "orchid_entry_", resolve_all);
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

TEST_CASE("other ways to what lies outside of the code link as well") {
  for (const char* name : {"linked_pie", "linked_no_plt"}) {
    CAPTURE(std::string(name));
    auto linked = link(compiled(name), "orchid_entry_", resolve_all);
    REQUIRE_MESSAGE(linked.has_value(), linked.error().message);
    (*linked)->initialise();
    const auto entries = (*linked)->entries();
    REQUIRE(entries.size() == 2);
    CHECK(as<int(int)>(entries[1].address)(1) == 42);
    CHECK(as<int(int, int)>(entries[0].address)(1, 2) == 4);
    CHECK(as<int(int, int)>(entries[0].address)(1, 2) == 5);
  }
}

TEST_CASE("code without a linkage table calls what is outside, wherever that lies") {
  // Near the code; in the lowest 2 and 4 GiB, where programs lie that have no freedom of place; and
  // farther from everything than 32 bits reach.
  for (const std::uintptr_t place : {0UL, 0x20000000UL, 0xc0000000UL, 0x200000000000UL}) {
    CAPTURE(place);
    const PlacedCode callee(place);
    if (callee.address() == nullptr ||
        (place != 0 && callee.address() != reinterpret_cast<void*>(place))) {
      MESSAGE("left out: something else lies there");
      continue;
    }
    const Outside outside(callee.address(), nullptr);
    CHECK(outside.call("calls", 20) == 41);
    CHECK(outside.call("jumps", 21) == 42);
    CHECK(outside.take() == callee.address());
    const Outside both(callee.address(), callee.address());
    CHECK(both.call("asks", 20) == 41);
  }
}

TEST_CASE("what may be absent and is, is told so, also without a linkage table") {
  const PlacedCode callee(0);
  const Outside outside(callee.address(), nullptr);
  CHECK(outside.call("asks", 5) == -5);
}

TEST_CASE("an address inside an entry is found by the entry's name") {
  auto linked = link(compiled(), "orchid_entry_", resolve_all);
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
      link(compiled(), "orchid_entry_", [](std::string_view) -> void* { return nullptr; });
  REQUIRE_FALSE(linked.has_value());
  CHECK(linked.error().code == ErrorCode::module_rejected);
  CHECK(linked.error().message.find("host_add") != std::string::npos);
  CHECK(linked.error().message.find("host_twice") != std::string::npos);
}

TEST_CASE("what is no compiled code, or a part of it, is refused") {
  const auto whole = compiled();
  CHECK_FALSE(link(as_bytes("this is no code"), "orchid_entry_", resolve_all).has_value());
  CHECK_FALSE(link({}, "orchid_entry_", resolve_all).has_value());
  CHECK_FALSE(
      link(std::span(whole).first(whole.size() / 2), "orchid_entry_", resolve_all).has_value());
  CHECK_FALSE(link(std::span(whole).first(64), "orchid_entry_", resolve_all).has_value());
}

}  // namespace orchid::executor
