#include "ucx/library.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "memory_calls.h"
#include "ucx/link.h"
#include "ucx_lane_fixture.h"

namespace orchid::transport {
namespace {

using namespace tests;
using orchid::tests::memory_calls_of;

/// A process that nothing of UCX is in yet, with that variable in its
/// environment when it loads it. How many of libc's calls for memory have other
/// code then; over 100: an error.
int calls_changed_by_loading(const char* memory_events) {
  Child child = Child::start_client(
      [](const Child::Job& job) {
        if (job.address != "-") ::setenv("UCX_MEM_EVENTS", job.address.c_str(), 1);
        if (job.address == "-") ::unsetenv("UCX_MEM_EVENTS");
        const auto before = memory_calls_of(::getpid());
        if (!before || before->has_ucx || !before->changed.empty()) ::_exit(101);
        if (!UcxContext::create({.devices = "lo"})) ::_exit(102);
        const auto after = memory_calls_of(::getpid());
        if (!after || !after->has_ucx) ::_exit(103);
        ::_exit(static_cast<int>(after->changed.size()));
      },
      Child(), memory_events);
  return WEXITSTATUS(child.wait());
}

/// Of a process that asks UCX for transports that it does not have, on standard output.
std::uintmax_t bytes_printed(const std::string& log_level) {
  std::string file = "/tmp/orchid-printed-XXXXXX";
  REQUIRE(UniqueFd(::mkostemp(file.data(), O_CLOEXEC)));
  Child child = Child::start_client(
      [](const Child::Job& job) {
        const auto blank = job.address.find(' ');
        const std::string level = job.address.substr(blank + 1);
        if (std::freopen(job.address.substr(0, blank).c_str(), "w", stdout) == nullptr)
          ::_exit(101);
        ::unsetenv("UCX_LOG_LEVEL");
        if (!level.empty()) ::setenv("UCX_LOG_LEVEL", level.c_str(), 1);
        const auto made = UcxContext::create({.transports = "nonsense"});
        std::fflush(stdout);
        ::_exit(made ? 102 : 42);
      },
      Child(), file + " " + log_level);
  const int status = child.wait();
  const std::uintmax_t size = std::filesystem::file_size(file);
  std::filesystem::remove(file);
  CHECK(WEXITSTATUS(status) == 42);
  return size;
}

}  // namespace

TEST_CASE("UCX prints nothing to a program's standard output, unless it is told to") {
  CHECK(bytes_printed("") == 0);
  CHECK(bytes_printed("error") > 0);  // else this test would show nothing
}

TEST_CASE(
    "a worker of UCX that fewer threads may use than were asked for is "
    "refused") {
  const std::array modes{UCS_THREAD_MODE_SINGLE, UCS_THREAD_MODE_SERIALIZED, UCS_THREAD_MODE_MULTI};
  for (std::size_t asked = 0; asked < modes.size(); ++asked)
    for (std::size_t granted = 0; granted < modes.size(); ++granted) {
      const auto checked = check_thread_mode(modes[asked], modes[granted]);
      CHECK(checked.has_value() == (granted >= asked));
      if (checked) continue;
      CHECK(checked.error().code == ErrorCode::unsupported);
      CHECK(checked.error().message.find("--enable-mt") != std::string::npos);
    }
}

TEST_CASE("the UCX worker of a lane may be used by one thread after another") {
  const auto link = UcxLink::create(context(), random_key());
  REQUIRE_MESSAGE(link.has_value(), link.error().message);
  CHECK((*link)->thread_mode().value() >= UCS_THREAD_MODE_SERIALIZED);
}

TEST_CASE("UCX_MEM_EVENTS=n keeps UCX out of the code of mmap and its kin") {
  CHECK(calls_changed_by_loading("n") == 0);
  // Else this test would show nothing.
  const int changed = calls_changed_by_loading("-");
  CHECK(changed > 0);
  CHECK(changed <= 8);
}

TEST_CASE(
    "memory that comes and goes around calls does no harm, with UCX in "
    "mmap's code or not") {
  Lane lane = make({4_MiB, 4_MiB});
  for (unsigned i = 0; i < 200; ++i) {
    // Large enough for a mapping of its own; the next one is likely to lie
    // where it did.
    const std::size_t size = 300'000 + 4096 * (i % 7);
    auto* mapped = static_cast<std::byte*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(mapped != MAP_FAILED);
    const auto expected = pattern(size, i);
    std::memcpy(mapped, expected.data(), size);
    send(lane.client, {mapped, size});
    const auto request = next_call(lane);
    REQUIRE(request.has_value());
    REQUIRE(same(request->input, expected));
    REQUIRE(::munmap(mapped, size) == 0);
    answer_with_input(lane.worker, *request);
    const auto response = next_answer(lane);
    REQUIRE(response.has_value());
    REQUIRE(same(response->payload, expected));
    lane.client.release(*response);
  }
}

}  // namespace orchid::transport
