#include "data/slow_file_work.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <latch>
#include <string>
#include <system_error>
#include <vector>

namespace orchid::executor {
namespace {

std::size_t open_memory_files() {
  std::error_code gone;  // a descriptor may be closed meanwhile
  return static_cast<std::size_t>(std::ranges::count_if(
      std::filesystem::directory_iterator("/proc/self/fd"), [&](const auto& descriptor) {
        return std::filesystem::read_symlink(descriptor.path(), gone)
                   .string()
                   .find("memfd:orchid-data") != std::string::npos;
      }));
}

TEST_CASE("who waits for a seal does not wait for files that are to be closed") {
  std::latch first_sealed(1);
  std::latch rest_queued(1);
  std::vector<std::size_t> open_files;  // after each seal; written by the work's thread alone
  {
    SlowFileWork work([&](Task done) { done(); });
    work.seal(MemoryFile::make(4_KiB).value(), [&](const Result<void>& sealed) {
      CHECK(sealed.has_value());
      first_sealed.count_down();
      rest_queued.wait();
    });
    first_sealed.wait();  // its thread is busy from now on
    for (int i = 0; i < 3; ++i) work.close(MemoryFile::make(4_KiB).value());
    for (int i = 0; i < 2; ++i)
      work.seal(MemoryFile::make(4_KiB).value(), [&](const Result<void>& sealed) {
        CHECK(sealed.has_value());
        open_files.push_back(open_memory_files());
      });
    CHECK_FALSE(work.idle());
    rest_queued.count_down();
  }
  // Those that are to be closed, the one that is sealed, and the one that waits for that.
  CHECK(open_files == std::vector<std::size_t>{5, 4});
  CHECK(open_memory_files() == 0);
}

TEST_CASE("work that was given is done, and then there is none") {
  std::latch sealed(1);
  SlowFileWork work([](Task done) { done(); });
  CHECK(work.idle());
  work.seal(MemoryFile::make(0_B).value(), [&](const Result<void>&) { sealed.count_down(); });
  sealed.wait();
  work.close(MemoryFile::make(0_B).value());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!work.idle()) REQUIRE(std::chrono::steady_clock::now() < give_up);
  CHECK(open_memory_files() == 0);
}

}  // namespace
}  // namespace orchid::executor
