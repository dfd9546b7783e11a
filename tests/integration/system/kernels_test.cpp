// Kernels on the cores of a whole Orchid: over HTTP, in leases of one core and of two, and as
// native twins.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "clear_error.h"
#include "orchid/function.h"
#include "orchid/native_twin.h"
#include "system_fixture.h"

ORCHID_DECLARE_ENTRY(saxpy)
ORCHID_DECLARE_ENTRY(interpolate)
ORCHID_DECLARE_ENTRY(sum_groups)

namespace orchid::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Floats = std::vector<float>;

/// Whole numbers: no sum or product of them is rounded, so fused arithmetic makes no difference.
Floats whole_numbers(std::size_t count, std::size_t modulus) {
  Floats made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<float>(i % modulus);
  return made;
}

template <typename... Values>
std::vector<std::byte> encoded(const Values&... values) {
  return values::encode_all(values...);
}

Floats twin(const EmbeddedFunction& function, std::span<const std::byte> input) {
  return decode_reply<Floats>(call_native(function, input), function.name);
}

class KernelsFixture : public SystemFixture {
 public:
  Lease lease_of(unsigned cores) {
    return user_.lease({.workers = 1, .cores_per_worker = cores, .lane = "auto"});
  }

 private:
  Client user_ = client();
};

/// Of a call that must fail.
Error failure_of(LeasedFunction& function, const std::string& input,
                 milliseconds deadline = seconds(20)) {
  return error_of([&] { (void)function.invoke(input, {.deadline = deadline}); });
}

std::set<std::int32_t> threads_of(LeasedFunction& function) {
  const auto threads = decode_reply<std::vector<std::int32_t>>(
      function.invoke(encoded(std::uint64_t{4000})), "threads_of_items");
  REQUIRE(threads.size() == 4000);
  return {threads.begin(), threads.end()};
}

/// All of its worker's, which has two cores: of a team not all take part each time, since on a busy
/// machine one comes too late for the items.
std::set<std::int32_t> team_of(LeasedFunction& function) {
  const auto give_up = std::chrono::steady_clock::now() + seconds(20);
  std::set<std::int32_t> team;
  while (team.size() < 2) {
    team.merge(threads_of(function));
    REQUIRE(std::chrono::steady_clock::now() < give_up);
  }
  return team;
}

/// A new worker has other threads. `others`: all that a worker has.
bool are_of_one_worker(const std::set<std::int32_t>& some, const std::set<std::int32_t>& others) {
  return std::ranges::any_of(some, [&](std::int32_t thread) { return others.contains(thread); });
}

}  // namespace

TEST_CASE_FIXTURE(KernelsFixture, "a source with kernels is built, deployed and called") {
  const std::filesystem::path module = system().runtime() / "kernels.orc";
  const auto built =
      orchid({"build", SOURCES "/tests/data/functions/uses_kernels.cpp", "-o", module});
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const auto deployed = orchid({"deploy", module, "--name", "kernels"});
  REQUIRE_MESSAGE(deployed.status == 0, deployed.err);
  const auto shown = orchid({"invoke", "kernels.saxpy", "--args", "[2, [1, 2, 3], [10, 20, 30]]"});
  CHECK_MESSAGE(shown.status == 0, shown.err);
  CHECK(contains(shown.out, "12"));
  CHECK(contains(shown.out, "36"));
  const auto uneven = orchid({"invoke", "kernels.saxpy", "--args", "[2, [1, 2], [10, 20, 30]]"});
  CHECK(uneven.status != 0);
  CHECK(contains(uneven.err, "value 2 has 2 elements"));
}

TEST_CASE_FIXTURE(KernelsFixture,
                  "a kernel gives the same bits over HTTP, on one core, on two, and natively") {
  deploy("uses_kernels");
  Client user = client();
  constexpr std::size_t items = 1'000'003;
  const auto saxpy = encoded(3.0F, whole_numbers(items, 1000), whole_numbers(items, 77));
  const Floats expected = twin(orchid_embedded_saxpy, saxpy);
  const auto over_http = [&](const std::string& name, const std::vector<std::byte>& input) {
    return decode_reply<Floats>(user.invoke(name, input), name);
  };
  const auto on_cores = [&](unsigned cores, const std::string& name,
                            const std::vector<std::byte>& input) {
    Lease lease = lease_of(cores);
    return decode_reply<Floats>(lease.function(name).invoke(input), name);
  };
  REQUIRE(expected.size() == items);
  CHECK(expected[1234] == 3 * 234 + 1234 % 77);
  CHECK(over_http("uses_kernels.saxpy", saxpy) == expected);
  CHECK(on_cores(1, "uses_kernels.saxpy", saxpy) == expected);
  CHECK(on_cores(2, "uses_kernels.saxpy", saxpy) == expected);

  // Here arithmetic is rounded: alike on all workers; the twin has been made by another compiler.
  const auto points = encoded(whole_numbers(20'000, 500), whole_numbers(500, 91), Floats(20'000));
  const Floats rounded = on_cores(1, "uses_kernels.interpolate", points);
  CHECK(on_cores(2, "uses_kernels.interpolate", points) == rounded);
  CHECK(over_http("uses_kernels.interpolate", points) == rounded);
  const Floats native = twin(orchid_embedded_interpolate, points);
  REQUIRE(native.size() == rounded.size());
  CHECK(std::ranges::equal(
      native, rounded, [](float a, float b) { return std::abs(a - b) <= 1e-4F * std::abs(b); }));

  const auto values = encoded(whole_numbers(items, 50));
  const Floats sums = twin(orchid_embedded_sum_groups, values);
  REQUIRE(sums.size() == (items + 127) / 128);
  CHECK(sums[0] == 49 * 50 / 2 * 2 + 27 * 28 / 2);
  CHECK(over_http("uses_kernels.sum_groups", values) == sums);
  CHECK(on_cores(1, "uses_kernels.sum_groups", values) == sums);
  CHECK(on_cores(2, "uses_kernels.sum_groups", values) == sums);
}

TEST_CASE_FIXTURE(KernelsFixture, "a worker of two cores has a team, and keeps it between calls") {
  deploy("misuses_kernels");
  {
    Lease one = lease_of(1);
    LeasedFunction alone = one.function("misuses_kernels.threads_of_items");
    CHECK(threads_of(alone).size() == 1);
  }
  Lease two = lease_of(2);
  LeasedFunction both = two.function("misuses_kernels.threads_of_items");
  const auto threads = team_of(both);
  CHECK(threads.size() == 2);
  CHECK(are_of_one_worker(threads_of(both), threads));
  // A worker that had left a thread would have been replaced.
  CHECK(are_of_one_worker(threads_of(both), threads));
}

TEST_CASE_FIXTURE(KernelsFixture, "a kernel that fails on a thread of the team costs one call") {
  deploy("misuses_kernels");
  Lease lease = lease_of(2);
  LeasedFunction misbehaves = lease.function("misuses_kernels.misbehaves");
  LeasedFunction good = lease.function("misuses_kernels.threads_of_items");
  const auto check_next = [&] { CHECK(threads_of(good).size() == 2); };
  check_next();
  SUBCASE("it reads out of bounds") {
    const Error error = failure_of(misbehaves, "0");
    CHECK(error.kind() == ErrorKind::function_crashed);
    CHECK_MESSAGE(contains(error.message(), "orchid_kernel_misbehave"), error.message());
  }
  SUBCASE("it throws") { CHECK(failure_of(misbehaves, "1").kind() == ErrorKind::function_crashed); }
  SUBCASE("it exits") {
    const Error error = failure_of(misbehaves, "2");
    CHECK(error.kind() == ErrorKind::function_exited);
    CHECK_MESSAGE(contains(error.message(), "7"), error.message());
  }
  SUBCASE("it loops") {
    const auto start = std::chrono::steady_clock::now();
    CHECK(failure_of(misbehaves, "3", milliseconds(500)).kind() == ErrorKind::deadline_exceeded);
    CHECK(std::chrono::steady_clock::now() - start < seconds(5));
  }
  SUBCASE("it uses up the stack") {
    const Error error = failure_of(misbehaves, "4");
    CHECK(error.kind() == ErrorKind::function_crashed);
    CHECK_MESSAGE(contains(error.message(), "stack"), error.message());
  }
  check_next();
}

TEST_CASE_FIXTURE(KernelsFixture, "a thread that a function leaves is found beside the team") {
  deploy("misuses_kernels");
  Lease lease = lease_of(2);
  LeasedFunction good = lease.function("misuses_kernels.threads_of_items");
  const auto before = team_of(good);
  CHECK(are_of_one_worker(threads_of(good), before));
  (void)lease.function("misuses_kernels.leaves_thread_beside_team").invoke("");
  const auto after = threads_of(good);
  CHECK(after.size() == 2);
  for (const std::int32_t thread : after) CHECK_FALSE(before.contains(thread));  // a new worker
}

TEST_CASE_FIXTURE(KernelsFixture, "device memory has a limit, and is back for the next call") {
  deploy("misuses_kernels");
  Lease lease = lease_of(2);
  LeasedFunction taker = lease.function("misuses_kernels.takes_all_device_memory");
  LeasedFunction good = lease.function("misuses_kernels.threads_of_items");
  const auto before = team_of(good);
  for (int call = 0; call < 2; ++call) {
    const Error error = failure_of(taker, "");
    CHECK(error.kind() == ErrorKind::limit_exceeded);
    CHECK_MESSAGE(contains(error.message(), "device memory"), error.message());
  }
  CHECK(are_of_one_worker(threads_of(good), before));
}

TEST_CASE_FIXTURE(KernelsFixture, "a launch of no items is nothing, one of 2^63 is refused") {
  deploy("misuses_kernels");
  Lease lease = lease_of(1);
  LeasedFunction launches = lease.function("misuses_kernels.launches_items");
  CHECK(launches.invoke("0").output.empty());
  const Error error = failure_of(launches, "9223372036854775808");
  CHECK(error.kind() == ErrorKind::function_error);
  CHECK_MESSAGE(contains(error.message(), "cannot be launched over 9223372036854775808 items"),
                error.message());
}

}  // namespace orchid::tests
