#include "data/spill_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>

#include "scratch_folder.h"

namespace orchid::executor {
namespace {

const std::atomic<bool> go_on{false};

MemoryFile sealed_file(std::string_view content) {
  MemoryFile file = MemoryFile::make(ByteCount{content.size()}).value();
  const UniqueFd room = file.open_to_write().value();
  REQUIRE(::pwrite(room.get(), content.data(), content.size(), 0) ==
          static_cast<ssize_t>(content.size()));
  REQUIRE(file.seal().has_value());
  return file;
}

std::string content_of(const MemoryFile& file, std::size_t bytes) {
  std::string content(bytes, '\0');
  const UniqueFd reader = file.open_to_read().value();
  REQUIRE(::pread(reader.get(), content.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  return content;
}

TEST_CASE("an object goes to disk and comes back, and no file has a name meanwhile") {
  const tests::Scratch directory;
  std::string content(5'000'001, 'x');
  content.front() = 'a';
  content.back() = 'z';
  const ByteCount bytes{content.size()};
  const auto file = SpillFile::write(directory.path(), sealed_file(content), bytes, go_on).value();
  CHECK(std::filesystem::is_empty(directory.path()));
  const MemoryFile back = file.read(bytes, go_on).value();
  CHECK(content_of(back, content.size()) == content);
  // It is sealed again: nobody can write to it.
  const auto writer = back.open_to_write();
  CHECK((!writer || ::pwrite(writer->get(), "y", 1, 0) < 0));
}

TEST_CASE("who is not waited for any more is stopped") {
  const tests::Scratch directory;
  const std::atomic<bool> stop{true};
  const std::string content(3 << 20, 'x');
  const MemoryFile object = sealed_file(content);
  const ByteCount bytes{content.size()};
  CHECK(SpillFile::write(directory.path(), object, bytes, stop).error().code ==
        ErrorCode::cancelled);
  const auto file = SpillFile::write(directory.path(), object, bytes, go_on).value();
  CHECK(file.read(bytes, stop).error().code == ErrorCode::cancelled);
}

TEST_CASE("what cannot be written says why, and a lost part is noticed") {
  const tests::Scratch directory;
  const MemoryFile object = sealed_file("0123456789");
  const auto nowhere = SpillFile::check(directory.path() / "nothing");
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().code == ErrorCode::system);
  CHECK(nowhere.error().message.find("No such file or directory") != std::string::npos);
  CHECK(SpillFile::check(directory.path()).has_value());
  const auto file = SpillFile::write(directory.path(), object, 10_B, go_on).value();
  const auto shorter = file.read(11_B, go_on);
  REQUIRE_FALSE(shorter.has_value());
  CHECK(shorter.error().message.find("lost a part") != std::string::npos);
}

TEST_CASE("a limit of file sizes is a full disk, and ends nobody") {
  const tests::Scratch directory;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 9;
  const MemoryFile object = sealed_file("0123456789");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto refused = SpillFile::write(directory.path(), object, 10_B, go_on);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::disk_full);
  CHECK(refused.error().message.find("ulimit -f") != std::string::npos);
}

}  // namespace
}  // namespace orchid::executor
