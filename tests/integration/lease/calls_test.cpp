#include <time.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "lease_fixture.h"

namespace orchid::tests {
namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "a call brings its input there and its output back") {
  const LeasedFunction echo = load(example("echo"));
  CHECK(echo.invoke("hello").text() == "hello");
  CHECK(echo.invoke("").text().empty());
  for (const std::size_t size : {1U, 64U, 65U, 4096U, 1U << 20, 20U << 20}) {
    const auto input = pattern(size);
    CHECK(echo.invoke(input).output == input);
  }
  CHECK(lease.workers() == 1);
  CHECK(lease.id() == "l-1-1000");
}

TEST_CASE_FIXTURE(LeaseFixture,
                  "a buffer that has to wait for a busy worker costs no time of a core") {
  const LeasedFunction sleeps = load("sleeps");
  CHECK(sleeps.invoke("1").output.size() < 100);  // it is there
  const auto used = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  std::thread caller([&] { (void)sleeps.invoke("800"); });
  // Once the caller drives the lane, which it does until the answer.
  auto waited = std::chrono::nanoseconds(0);
  auto cost = std::chrono::nanoseconds(0);
  CHECK(eventually([&] {
    const auto start = std::chrono::steady_clock::now();
    const auto before = used();
    const Buffer buffer = lease.buffer(4096);
    cost = used() - before;
    waited = std::chrono::steady_clock::now() - start;
    CHECK(buffer.bytes().size() == 4096);
    return waited > std::chrono::milliseconds(100);
  }));
  caller.join();
  CHECK(cost < waited / 5);
}

TEST_CASE_FIXTURE(LeaseFixture, "70 000 calls of one lane all get their own answers") {
  const LeasedFunction echo = load(example("echo"));
  for (std::uint64_t i = 0; i < 70'000; ++i) {
    std::uint64_t answer = 0;
    const auto size = echo.invoke_into(std::as_bytes(std::span(&i, 1)),
                                       std::as_writable_bytes(std::span(&answer, 1)));
    REQUIRE(size == sizeof answer);
    REQUIRE(answer == i);
  }
}

}  // namespace orchid::tests
