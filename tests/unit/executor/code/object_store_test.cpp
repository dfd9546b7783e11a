#include "code/object_store.h"

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
  auto store = ObjectStore::open({directory.path}).value();
  const ObjectKey key{"module=a\ncpu=b\n"};
  CHECK(store.find(key).error().code == ErrorCode::not_found);
  REQUIRE(store.insert(key, as_bytes("code")).has_value());
  auto other = ObjectStore::open({directory.path}).value();
  CHECK(as_text(other.find(key).value()) == "code");
  CHECK(other.find(ObjectKey{"module=a\ncpu=c\n"}).error().code == ErrorCode::not_found);
}

TEST_CASE("a damaged entry is removed and not found, whichever byte is changed or missing") {
  const Directory directory;
  auto store = ObjectStore::open({directory.path}).value();
  const ObjectKey key{"module=a\n"};
  REQUIRE(store.insert(key, as_bytes("some code")).has_value());
  const auto good = read_file(only_file(directory.path), 1_MiB).value();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{1};
    REQUIRE(write_file_atomically(directory.path / (key.name() + ".object"), bad).has_value());
    REQUIRE_FALSE(store.find(key).has_value());
    CHECK(std::filesystem::is_empty(directory.path));
    bad = good;
    bad.resize(i);
    REQUIRE(write_file_atomically(directory.path / (key.name() + ".object"), bad).has_value());
    REQUIRE_FALSE(store.find(key).has_value());
  }
}

TEST_CASE("an entry under another key's name is not found") {
  const Directory directory;
  auto store = ObjectStore::open({directory.path}).value();
  REQUIRE(store.insert(ObjectKey{"a"}, as_bytes("code of a")).has_value());
  std::filesystem::rename(only_file(directory.path),
                          directory.path / (ObjectKey{"b"}.name() + ".object"));
  CHECK(store.find(ObjectKey{"b"}).error().code == ErrorCode::not_found);
}

TEST_CASE("the oldest use goes first when the store is full") {
  const Directory directory;
  auto store = ObjectStore::open({directory.path, 1_KiB}).value();
  const std::string object(300, 'x');
  using namespace std::chrono_literals;
  const auto long_ago = std::filesystem::file_time_type::clock::now() - 1h;
  int age = 0;
  for (const char* name : {"a", "b"}) {
    REQUIRE(store.insert(ObjectKey{name}, as_bytes(object)).has_value());
    std::filesystem::last_write_time(directory.path / (ObjectKey{name}.name() + ".object"),
                                     long_ago + std::chrono::seconds(age++));
  }
  CHECK(store.find(ObjectKey{"a"}).has_value());  // a use
  REQUIRE(store.insert(ObjectKey{"c"}, as_bytes(object)).has_value());
  CHECK(store.find(ObjectKey{"a"}).has_value());
  CHECK_FALSE(store.find(ObjectKey{"b"}).has_value());
  CHECK(store.insert(ObjectKey{"d"}, as_bytes(std::string(5000, 'x'))).error().code ==
        ErrorCode::too_large);
}

}  // namespace orchid::executor
