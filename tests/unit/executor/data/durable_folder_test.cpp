// Files of objects that outlive their executor: written whole or not at all, and believed only when
// they are what was written.
#include "data/durable_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_book_parts.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/digest.h"
#include "scratch_folder.h"

namespace orchid::executor {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const WallTime first_day{std::chrono::hours(24 * 365 * 50)};
const std::atomic<bool> goes_on{false};

MemoryFile sealed_object(std::string_view content) {
  MemoryFile file = MemoryFile::make(ByteCount{content.size()}).value();
  UniqueFd writer = file.open_to_write().value();
  REQUIRE(::pwrite(writer.get(), content.data(), content.size(), 0) ==
          static_cast<ssize_t>(content.size()));
  writer.reset();
  REQUIRE(file.seal().has_value());
  return file;
}

struct Folder {
  Folder() { log::configure("unit_executor", LogLevel::error); }

  DataHeld put(std::string_view content, std::uint32_t tenant = ada) {
    DataHeld held{.data = make_data_id(),
                  .terms = {.tenant = {tenant, "somebody"},
                            .bytes = ByteCount{content.size()},
                            .name = "climate",
                            .version = 3,
                            .expires_in = 60s,
                            .secret = std::string(64, 'a'),
                            .durable = true},
                  .order = 7};
    const auto digest = folder->write(sealed_object(content), held, first_day, goes_on);
    REQUIRE_MESSAGE(digest.has_value(), digest.error().message);
    held.digest = *digest;
    return held;
  }
  [[nodiscard]] fs::path file_of(const DataHeld& held) const {
    return directory / std::to_string(held.terms.tenant.uid) / (to_string(held.data) + ".data");
  }
  [[nodiscard]] Result<std::string> read(const DataHeld& held) const {
    auto file = folder->read({held.terms.tenant.uid, held.data}, held.terms.bytes, goes_on);
    if (!file) return fail(file.error());
    std::string content(held.terms.bytes.value, '\0');
    const UniqueFd reader = file->open_to_read().value();
    REQUIRE(::pread(reader.get(), content.data(), content.size(), 0) ==
            static_cast<ssize_t>(content.size()));
    REQUIRE(::fcntl(reader.get(), F_GET_SEALS) ==
            (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL));
    return content;
  }
  /// As the next process does.
  void reopen() {
    folder.reset();
    folder = DurableFolder::open(directory.path()).value();
  }
  [[nodiscard]] std::size_t count_names(std::uint32_t tenant = ada) const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         fs::directory_iterator(directory / std::to_string(tenant)))
      ++count;
    return count;
  }

  const tests::Scratch directory;
  std::optional<DurableFolder> folder = DurableFolder::open(directory.path()).value();
};

TEST_CASE("what is written is there for a later process, as old as it is") {
  Folder there;
  const std::string content(3'000'000, 'x');
  const DataHeld held = there.put(content);
  CHECK(held.digest == digest_of(as_bytes(content)));
  const DataHeld empty = there.put("", eve);
  CHECK(there.count_names() == 1);  // nothing but the file

  there.reopen();
  const auto later = there.folder->list(first_day + 20s).held;
  REQUIRE(later.size() == 2);
  const DataHeld& found = later[0].data == held.data ? later[0] : later[1];
  DataHeld expected = held;
  expected.created_ago = 20s;
  expected.terms.expires_in = 40s;
  CHECK(found == expected);
  CHECK(there.read(held) == content);
  CHECK(there.read(empty) == "");
  CHECK(there.folder->list(first_day - 20s).held.size() == 2);  // a clock that was set back
  CHECK(there.folder->list(first_day + 60s).held.empty());      // their time is over
  CHECK(there.count_names() == 0);
  CHECK(code_of_book(there.read(held)) == ErrorCode::data_lost);
}

TEST_CASE("a file that was cut, changed, moved or replaced is not believed") {
  Folder there;
  const std::string content(100'000, 'x');
  const auto damage = [&](const DataHeld& held, std::uint64_t at) {
    std::fstream file(there.file_of(held), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('y');
  };
  const DataHeld changed = there.put(content);
  damage(changed, 4096 + 50'000);
  CHECK(code_of_book(there.read(changed)) == ErrorCode::data_lost);
  CHECK(there.folder->list(first_day).held.size() ==
        1);  // its bytes are looked at when they are wanted
  CHECK(there.folder->set_aside({ada, changed.data}).has_value());
  CHECK(there.folder->list(first_day).held.empty());
  CHECK(fs::exists(there.directory / "1000" / (to_string(changed.data) + ".bad")));

  const DataHeld cut = there.put(content);
  fs::resize_file(there.file_of(cut), 50'000);
  CHECK(code_of_book(there.read(cut)) == ErrorCode::data_lost);
  const DataHeld stub = there.put(content);
  fs::resize_file(there.file_of(stub), 10);
  CHECK(code_of_book(there.read(stub)) == ErrorCode::data_lost);
  const DataHeld header = there.put(content);
  damage(header, 100);
  CHECK(code_of_book(there.read(header)) == ErrorCode::data_lost);
  const DataHeld good = there.put(content);
  DataHeld copied = good;
  copied.data = make_data_id();
  fs::copy_file(there.file_of(good), there.file_of(copied));  // under another object's name
  CHECK(code_of_book(there.read(copied)) == ErrorCode::data_lost);
  const DataHeld hers = there.put("secret", eve);
  fs::copy_file(there.file_of(hers), there.directory / "1000" / there.file_of(hers).filename());
  const auto [found, ignored] = there.folder->list(first_day);
  CHECK(found.size() == 2);
  CHECK(ignored == 5);
  for (const DataHeld& one : found) CHECK((one.data == good.data || one.data == hers.data));
  CHECK(there.read(good) == content);
}

TEST_CASE("nothing outside of the directory is opened, whatever is linked there") {
  Folder there;
  const tests::Scratch outside;
  const DataHeld held = there.put("inside");
  fs::rename(there.file_of(held), outside / "file");
  fs::create_symlink(outside / "file", there.file_of(held));
  CHECK_FALSE(there.read(held).has_value());
  CHECK(there.folder->list(first_day).held.empty());
  // Nor is anything written there.
  fs::create_directory_symlink(outside.path(), there.directory / "1001");
  DataHeld theirs = held;
  theirs.data = make_data_id();
  theirs.terms.tenant.uid = eve;
  CHECK_FALSE(there.folder->write(sealed_object("inside"), theirs, first_day, goes_on).has_value());
  CHECK(std::distance(fs::directory_iterator(outside.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a write that is stopped or fails leaves nothing, and a killed one is cleaned up") {
  Folder there;
  const std::atomic<bool> stop{true};
  DataHeld held = there.put("first");
  held.data = make_data_id();
  CHECK(code_of_book(there.folder->write(sealed_object("first"), held, first_day, stop)) ==
        ErrorCode::cancelled);
  CHECK(there.count_names() == 1);
  const fs::path dead = there.directory / "1000" / ".orchid-dead";  // its writer was killed
  std::ofstream(dead) << "half";
  there.reopen();
  CHECK(there.folder->list(first_day).held.size() == 1);
  CHECK_FALSE(fs::exists(dead));
}

TEST_CASE("one executor at a time has a directory, and the next one is told which") {
  Folder there;
  const auto refused = DurableFolder::open(there.directory.path());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::conflict);
  const std::string owner = "process " + std::to_string(::getpid()) + " on ";
  CHECK_MESSAGE(refused.error().message.find(owner) != std::string::npos, refused.error().message);
  CHECK(refused.error().message.find("directory of its own") != std::string::npos);
  std::optional<DurableFolder> last = there.folder;
  there.folder.reset();
  CHECK_FALSE(DurableFolder::open(there.directory.path()).has_value());
  last.reset();
  CHECK(DurableFolder::open(there.directory.path()).has_value());
}

TEST_CASE("a directory that others may write to is refused, and so is none") {
  const tests::Scratch directory;
  fs::permissions(directory.path(), fs::perms::group_write, fs::perm_options::add);
  const auto refused = DurableFolder::open(directory.path());
  CHECK(code_of_book(refused) == ErrorCode::bad_configuration);
  CHECK(refused.error().message.find("chmod go-w") != std::string::npos);
  CHECK_FALSE(DurableFolder::open(directory / "nothing").has_value());
}

}  // namespace
}  // namespace orchid::executor
