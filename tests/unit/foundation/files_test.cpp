#include "foundation/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace orchid {
namespace {

struct Directory {
  Directory() {
    std::string pattern = "/tmp/orchid-files-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("a file is written whole, with its mode, and leaves nothing beside it") {
  const Directory directory;
  const auto path = directory.path / "token";
  REQUIRE(write_file_atomically(path, as_bytes("secret")).has_value());
  REQUIRE(write_file_atomically(path, as_bytes("another")).has_value());
  CHECK(as_text(read_file(path, 1_KiB).value()) == "another");
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path), {}) == 1);
}

TEST_CASE("reading says what is wrong") {
  const Directory directory;
  CHECK(read_file(directory.path / "none", 1_KiB).error().code == ErrorCode::not_found);
  REQUIRE(write_file_atomically(directory.path / "large", as_bytes(std::string(2000, 'x')))
              .has_value());
  CHECK(read_file(directory.path / "large", 1_KiB).error().code == ErrorCode::too_large);
  CHECK(read_file(directory.path, 1_KiB).error().code == ErrorCode::system);
  CHECK_FALSE(write_file_atomically(directory.path / "no" / "such", as_bytes("x")).has_value());
}

TEST_CASE("a private directory is made, and one that others may write to is refused") {
  const Directory directory;
  const auto path = directory.path / "a" / "b";
  REQUIRE(make_private_directory(path).has_value());
  REQUIRE(make_private_directory(path).has_value());
  REQUIRE(::chmod(path.c_str(), 0777) == 0);
  CHECK(make_private_directory(path).error().code == ErrorCode::denied);
  REQUIRE(::symlink("/tmp", (directory.path / "link").c_str()) == 0);
  CHECK(make_private_directory(directory.path / "link").error().code == ErrorCode::denied);
}

TEST_CASE("sealed memory cannot be changed, and only sealed memory is mapped") {
  const auto sealed = make_sealed_memory("test", as_bytes("content")).value();
  CHECK(::write(sealed.get(), "x", 1) < 0);
  CHECK(::ftruncate(sealed.get(), 0) < 0);
  auto mapped = MappedFile::map(sealed.get(), {.limit = 1_KiB}).value();
  CHECK(as_text(mapped.bytes()) == "content");
  const MappedFile moved = std::move(mapped);
  CHECK(as_text(moved.bytes()) == "content");
  CHECK(MappedFile::map(sealed.get(), {.limit = 3_B}).error().code == ErrorCode::too_large);
  const UniqueFd open(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  CHECK(MappedFile::map(open.get(), {.limit = 1_KiB}).error().code == ErrorCode::bad_request);
  const auto empty = make_sealed_memory("empty", {}).value();
  CHECK(MappedFile::map(empty.get(), {.limit = 1_KiB}).value().bytes().empty());
}

TEST_CASE("a descriptor has one owner") {
  UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  UniqueFd second = std::move(first);
  CHECK_FALSE(first);
  CHECK(second.get() == number);
  second.reset();
  CHECK(::fcntl(number, F_GETFD) < 0);
}

}  // namespace orchid
