#include "data/slow_file_work.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <latch>
#include <string>
#include <system_error>

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

/// Waits until the other thread has done it, and not for ever.
bool is_done(std::future<void> done) {
  return done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

TEST_CASE("files are closed while others are sealed, and nobody waits for the other") {
  std::promise<void> closed;
  std::promise<void> sealed;
  {
    // What is done is told on the thread that has done it, which is kept here.
    SlowFileWork work([](Task done) { done(); });
    work.seal(MemoryFile::make(4_KiB).value(), [&](const Result<void>& result) {
      CHECK(result.has_value());
      CHECK(is_done(closed.get_future()));
    });
    work.close(MemoryFile::make(4_KiB).value(), [&] {
      closed.set_value();
      CHECK(is_done(sealed.get_future()));
    });
    work.seal(MemoryFile::make(4_KiB).value(), [&](const Result<void>& result) {
      CHECK(result.has_value());
      sealed.set_value();
    });
    CHECK_FALSE(work.idle());
  }
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
