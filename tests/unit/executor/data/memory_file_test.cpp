#include "data/memory_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "data/slow_file_work.h"
#include "foundation/files.h"

namespace orchid::executor {
namespace {

TEST_CASE("a room is zero, has its size for good, and takes writes and writable mappings") {
  const MemoryFile file = MemoryFile::make(8_KiB).value();
  const UniqueFd writer = file.open_to_write().value();
  std::array<char, 16> bytes{'x'};
  CHECK(::pread(writer.get(), bytes.data(), bytes.size(), 8184) == 8);
  CHECK(bytes == std::array<char, 16>{});
  CHECK(::ftruncate(writer.get(), 4096) != 0);
  CHECK(::ftruncate(writer.get(), 16'384) != 0);
  CHECK(::pwrite(writer.get(), "data", 4, 8188) == 4);
  CHECK(::pwrite(writer.get(), "more", 4, 8192) < 0);
  void* mapped = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  ::munmap(mapped, 8192);
}

TEST_CASE("a sealed file cannot be written to by anybody, not even its writer") {
  MemoryFile file = MemoryFile::make(4_KiB).value();
  const UniqueFd writer = file.open_to_write().value();
  REQUIRE(::write(writer.get(), "data", 4) == 4);
  REQUIRE(file.seal().has_value());
  REQUIRE(file.seal().has_value());  // twice
  CHECK(::pwrite(writer.get(), "x", 1, 0) < 0);
  CHECK(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, writer.get(), 0) == MAP_FAILED);
  const UniqueFd reader = file.open_to_read().value();
  CHECK((::fcntl(reader.get(), F_GETFL) & O_ACCMODE) == O_RDONLY);
  std::array<char, 4> bytes{};
  CHECK(::read(reader.get(), bytes.data(), bytes.size()) == 4);  // from the start: its own place
  CHECK(std::string(bytes.data(), bytes.size()) == "data");
  CHECK(MappedFile::map(reader.get(), {.limit = 4_KiB}).value().bytes().size() == 4096);
}

TEST_CASE("a file that a writer still has mapped is not sealed, and can be sealed later") {
  MemoryFile file = MemoryFile::make(4_KiB).value();
  const UniqueFd writer = file.open_to_write().value();
  void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  const auto refused = file.seal();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::conflict);
  ::munmap(mapped, 4096);
  CHECK(file.seal().has_value());
}

TEST_CASE("a call's room is cut to what is used when it is sealed, and never grows") {
  MemoryFile file = MemoryFile::make_for_call(8_KiB).value();
  UniqueFd writer = file.open_to_write().value();
  CHECK(::ftruncate(writer.get(), 16384) != 0);
  REQUIRE(::pwrite(writer.get(), "data", 4, 0) == 4);
  writer.reset();
  REQUIRE(file.seal_for_call(4_B).has_value());
  CHECK(file.seal_for_call(4_B).has_value());  // once more
  REQUIRE(file.fix_size(4_B).has_value());
  const auto bytes = MappedFile::map(file.open_to_read().value().get(), {.limit = 8_KiB}).value();
  CHECK(as_text(bytes.bytes()) == "data");
  CHECK(::pwrite(file.open_to_write().value().get(), "x", 1, 0) < 0);
}

TEST_CASE("a call's room is sealed only when its writer has let go of it in every way") {
  MemoryFile file = MemoryFile::make_for_call(8_KiB).value();
  const auto is_refused = [&] {
    const auto sealed = file.seal_for_call(4_B);
    return !sealed && sealed.error().code == ErrorCode::conflict;
  };
  UniqueFd writer = file.open_to_write().value();
  CHECK(is_refused());  // a descriptor
  UniqueFd again(::fcntl(writer.get(), F_DUPFD_CLOEXEC, 0));
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    CAPTURE(flags);
    void* mapped = ::mmap(nullptr, 8192, PROT_READ, flags, again.get(), 0);
    REQUIRE(mapped != MAP_FAILED);
    writer.reset();
    again.reset();
    CHECK(is_refused());  // a mapping, also one that nobody can write through
    writer = file.open_to_write().value();
    again.reset(::fcntl(writer.get(), F_DUPFD_CLOEXEC, 0));
    ::munmap(mapped, 8192);
  }
  writer.reset();
  CHECK(is_refused());  // a duplicate
  again.reset();
  const MemoryFile ours = file.duplicate().value();  // is the executor's own
  CHECK(file.seal_for_call(4_B).has_value());
}

TEST_CASE("who opens a room again and again while it is sealed ends nobody") {
  for (int round = 0; round < 200; ++round) {
    MemoryFile file = MemoryFile::make_for_call(4_KiB).value();
    UniqueFd writer = file.open_to_write().value();
    const UniqueFd name(::open(("/proc/self/fd/" + std::to_string(writer.get())).c_str(), O_PATH));
    REQUIRE(name);
    writer.reset();
    const std::string path = "/proc/self/fd/" + std::to_string(name.get());
    const std::jthread opener([&path](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const UniqueFd again(::open(path.c_str(), O_RDONLY));
      }
    });
    for (int look = 0; look < 100; ++look)
      if (file.seal_for_call(4_KiB)) break;
  }
}

TEST_CASE("a call's room is emptied whoever has it, until its size is fixed") {
  MemoryFile room = MemoryFile::make_for_call(8_KiB).value();
  const UniqueFd writer = room.open_to_write().value();
  REQUIRE(::pwrite(writer.get(), "data", 4, 0) == 4);
  room.empty();
  CHECK(::lseek(writer.get(), 0, SEEK_END) == 0);
  CHECK(::ftruncate(writer.get(), 8192) != 0);  // nor can it grow again

  MemoryFile sealed = MemoryFile::make_for_call(8_KiB).value();
  REQUIRE(sealed.seal_for_call(4_KiB).has_value());
  const UniqueFd reader = sealed.open_to_read().value();
  sealed.empty();
  CHECK(::lseek(reader.get(), 0, SEEK_END) == 0);

  MemoryFile published = MemoryFile::make_for_call(8_KiB).value();
  REQUIRE(published.seal_for_call(4_KiB).has_value());
  REQUIRE(published.fix_size(4_KiB).has_value());
  published.empty();
  CHECK(::lseek(published.open_to_read().value().get(), 0, SEEK_END) == 4096);
  CHECK(::fcntl(published.open_to_write().value().get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0);
}

/// The kernel does not count it as an opening.
UniqueFd open_path(const UniqueFd& file) {
  UniqueFd name(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_PATH));
  REQUIRE(name);
  return name;
}

TEST_CASE("who has a room by its path alone changes no bytes of it, and cuts none unnoticed") {
  for (const bool cuts : {true, false}) {
    CAPTURE(cuts);
    MemoryFile file = MemoryFile::make_for_call(8_KiB).value();
    UniqueFd writer = file.open_to_write().value();
    REQUIRE(::pwrite(writer.get(), "data", 4, 0) == 4);
    const UniqueFd name = open_path(writer);
    writer.reset();
    REQUIRE(file.check_alone().has_value());  // the kernel does not see it
    REQUIRE(file.seal_for_call(4_B).has_value());
    const UniqueFd again(::open(("/proc/self/fd/" + std::to_string(name.get())).c_str(), O_RDWR));
    REQUIRE(again);
    CHECK(::pwrite(again.get(), "evil", 4, 0) < 0);
    CHECK(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, again.get(), 0) == MAP_FAILED);
    if (cuts) REQUIRE(::ftruncate(again.get(), 1) == 0);
    const auto fixed = file.fix_size(4_B);
    CHECK(fixed.has_value() == !cuts);
    if (!fixed) CHECK(fixed.error().code == ErrorCode::conflict);
    CHECK(::ftruncate(again.get(), 0) != 0);
  }
}

TEST_CASE("who has an object of a client by its path alone changes nothing of it") {
  MemoryFile file = MemoryFile::make(4_KiB).value();
  UniqueFd writer = file.open_to_write().value();
  const UniqueFd name = open_path(writer);
  writer.reset();
  REQUIRE(file.seal().has_value());
  const UniqueFd again(::open(("/proc/self/fd/" + std::to_string(name.get())).c_str(), O_RDWR));
  REQUIRE(again);
  CHECK(::pwrite(again.get(), "evil", 4, 0) < 0);
  CHECK(::ftruncate(again.get(), 0) != 0);
}

TEST_CASE("an empty object is made and sealed like others") {
  MemoryFile file = MemoryFile::make(0_B).value();
  REQUIRE(file.seal().has_value());
  const UniqueFd reader = file.open_to_read().value();
  CHECK(MappedFile::map(reader.get(), {.limit = 0_B}).value().bytes().empty());
}

TEST_CASE("another thread closes and seals files, all of them before it ends") {
  const auto a_file = [] { return MemoryFile::make(1_MiB).value(); };
  MemoryFile sealed = a_file();
  MemoryFile mapped = a_file();
  const UniqueFd writer = mapped.open_to_write().value();
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  std::mutex mutex;  // of the results
  std::vector<Result<void>> results;
  {
    SlowFileWork work([](Task task) { task(); });
    const auto keep = [&](const Result<void>& result) {
      const std::lock_guard lock(mutex);
      results.push_back(result);
    };
    CHECK(work.idle());
    work.seal(sealed.duplicate().value(), keep);
    work.seal(mapped.duplicate().value(), keep);
    for (int i = 0; i < 100; ++i) work.close(a_file());
  }
  REQUIRE(results.size() == 2);
  CHECK(results[0].has_value());
  REQUIRE_FALSE(results[1].has_value());
  CHECK(results[1].error().code == ErrorCode::conflict);
  CHECK(::pwrite(sealed.open_to_write().value().get(), "x", 1, 0) < 0);
  ::munmap(memory, 4096);
}

}  // namespace
}  // namespace orchid::executor
