#include "scratch.h"

#include <doctest/doctest.h>

#include "file_tree.h"

namespace orchid::executor {

using std::filesystem::exists;

TEST_CASE("a scratch directory goes with its executor, and may be emptied before") {
  const FileTree tree;
  const auto directory = tree.root() / "scratch";
  tree.write("scratch/lock", "");
  {
    const auto scratch = Scratch::take(directory);
    REQUIRE_MESSAGE(scratch.has_value(), scratch.error().message);
    tree.write("scratch/state/object", "code");
    scratch->remove();
    CHECK_FALSE(exists(directory));
    tree.write("scratch/state/late", "code");
  }
  CHECK_FALSE(exists(directory));
  {
    const auto scratch = Scratch::take(directory);  // one that was not there
    CHECK(exists(directory));
  }
  CHECK_FALSE(exists(directory));
}

TEST_CASE("a directory with anything of others in it is no scratch directory") {
  const FileTree tree;
  tree.write("home/thesis.tex", "");
  const auto refused = Scratch::take(tree.root() / "home");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::bad_configuration);
  CHECK(refused.error().message.find("thesis.tex") != std::string::npos);
  CHECK(refused.error().message.find("empty directory") != std::string::npos);
  CHECK(exists(tree.root() / "home" / "thesis.tex"));
}

TEST_CASE("an executor without a scratch directory removes nothing") {
  const auto scratch = Scratch::take({});
  REQUIRE(scratch.has_value());
  scratch->remove();
}

}  // namespace orchid::executor
