#include "code/code_store.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "foundation/files.h"

namespace orchid::executor {
namespace {

struct Directory {
  Directory() {
    std::string pattern = "/tmp/orchid-store-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::filesystem::path only_file(const std::filesystem::path& directory) {
  return std::filesystem::directory_iterator(directory)->path();
}

}  // namespace

TEST_CASE("what was inserted is found, by another store on the same directory too") {
  const Directory directory;
  auto store = CodeStore::open({directory.path}).value();
  const CodeKey key{"module=a\ncpu=b\n"};
  CHECK(store.find(key).error().code == ErrorCode::not_found);
  REQUIRE(store.insert(key, as_bytes("code")).has_value());
  auto other = CodeStore::open({directory.path}).value();
  CHECK(as_text(other.find(key).value()) == "code");
  CHECK(other.find(CodeKey{"module=a\ncpu=c\n"}).error().code == ErrorCode::not_found);
}

TEST_CASE("a damaged entry is removed and not found, whichever byte is changed or missing") {
  const Directory directory;
  auto store = CodeStore::open({directory.path}).value();
  const CodeKey key{"module=a\n"};
  REQUIRE(store.insert(key, as_bytes("some code")).has_value());
  const auto good = read_file(only_file(directory.path), 1_MiB).value();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{1};
    REQUIRE(write_file_atomically(directory.path / (key.name() + ".code"), bad).has_value());
    REQUIRE_FALSE(store.find(key).has_value());
    CHECK(std::filesystem::is_empty(directory.path));
    bad = good;
    bad.resize(i);
    REQUIRE(write_file_atomically(directory.path / (key.name() + ".code"), bad).has_value());
    REQUIRE_FALSE(store.find(key).has_value());
  }
}

TEST_CASE("an entry under another key's name is not found") {
  const Directory directory;
  auto store = CodeStore::open({directory.path}).value();
  REQUIRE(store.insert(CodeKey{"a"}, as_bytes("code of a")).has_value());
  std::filesystem::rename(only_file(directory.path),
                          directory.path / (CodeKey{"b"}.name() + ".code"));
  CHECK(store.find(CodeKey{"b"}).error().code == ErrorCode::not_found);
}

TEST_CASE("the oldest use goes first when the store is full") {
  const Directory directory;
  auto store = CodeStore::open({directory.path, 1_KiB}).value();
  const std::string code(300, 'x');
  using namespace std::chrono_literals;
  const auto long_ago = std::filesystem::file_time_type::clock::now() - 1h;
  int age = 0;
  for (const char* name : {"a", "b"}) {
    REQUIRE(store.insert(CodeKey{name}, as_bytes(code)).has_value());
    std::filesystem::last_write_time(directory.path / (CodeKey{name}.name() + ".code"),
                                     long_ago + std::chrono::seconds(age++));
  }
  CHECK(store.find(CodeKey{"a"}).has_value());  // a use
  REQUIRE(store.insert(CodeKey{"c"}, as_bytes(code)).has_value());
  CHECK(store.find(CodeKey{"a"}).has_value());
  CHECK_FALSE(store.find(CodeKey{"b"}).has_value());
  CHECK(store.insert(CodeKey{"d"}, as_bytes(std::string(5000, 'x'))).error().code ==
        ErrorCode::too_large);
}

}  // namespace orchid::executor
