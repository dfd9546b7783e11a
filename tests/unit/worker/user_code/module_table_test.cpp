#include "user_code/module_table.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::executor {
namespace {

LoadedModule module_of(std::uint32_t slot, std::string digest, std::vector<std::string> names) {
  LoadedModule module{.slot = slot, .generation = slot + 1, .digest = std::move(digest)};
  module.entries.resize(names.size());
  module.names = std::move(names);
  return module;
}

}  // namespace

TEST_CASE("a module is found by its slot for as long as it is there") {
  ModuleTable table;
  CHECK(table.find(0, 0) == nullptr);
  CHECK(table.find(5, 1) == nullptr);
  table.insert(module_of(5, "sha256:0011223344556677", {"run"}));
  CHECK(table.find(5, 6) != nullptr);
  CHECK(table.find(5, 5) == nullptr);
  CHECK(table.find(4, 0) == nullptr);
  CHECK(table.find_key(0x0011223344556677) == table.find(5, 6));
  table.remove(5);
  CHECK(table.find(5, 6) == nullptr);
  CHECK(table.find_key(0x0011223344556677) == nullptr);
  CHECK_FALSE(table.find_entry("run", 5).has_value());
}

TEST_CASE("an entry is looked for in its own module first, and then in the only other one") {
  ModuleTable table;
  table.insert(module_of(0, "sha256:00", {"common", "first"}));
  table.insert(module_of(1, "sha256:11", {"common", "second"}));
  table.insert(module_of(2, "sha256:22", {"own"}));
  CHECK(table.find_entry("common", 1)->module->slot == 1);
  CHECK(table.find_entry("common", 0)->module->slot == 0);
  CHECK(table.find_entry("second", 2)->module->slot == 1);
  CHECK(table.find_entry("second", 2)->number == 1);
  const auto common = table.find_entry("common", 2);
  REQUIRE_FALSE(common.has_value());
  CHECK(common.error().code == ErrorCode::conflict);
  CHECK(common.error().message.find("several modules") != std::string::npos);
  CHECK(table.find_entry("sha256:00.common", 2)->module->slot == 0);
  CHECK(table.find_entry("sha256:11.common", 0)->module->slot == 1);
  for (const char* name :
       {"", ".", "nonesuch", "sha256:33.common", "sha256:00.second", "sha256:00"})
    CHECK_FALSE(table.find_entry(name, 2).has_value());
}

}  // namespace orchid::executor
