#include "processes/program_path.h"

#include <doctest/doctest.h>

#include "foundation/files.h"

namespace orchid::processes {

TEST_CASE("a program is found in the first folder, then in PATH, or not at all") {
  CHECK(find_program("sh", "/bin") == std::filesystem::path("/bin/sh"));
  REQUIRE(find_program("sh").has_value());
  CHECK(folder_of_program("sh") == find_program("sh")->parent_path());
  CHECK_FALSE(find_program("orchid-no-such-program", "/bin").has_value());
  CHECK(folder_of_program("orchid-no-such-program").empty());
}

TEST_CASE("a path is taken as it is, and a name is looked for") {
  CHECK(path_of_program("./sh") == "./sh");
  CHECK(path_of_program("sh") == find_program("sh"));
  CHECK(path_of_program("orchid-no-such-program") == "orchid-no-such-program");
}

TEST_CASE("the folder of this program is where this program is") {
  const auto folder = own_program_directory();
  REQUIRE(folder.has_value());
  CHECK(std::filesystem::exists(*folder / "unit_processes"));
}

}  // namespace orchid::processes
