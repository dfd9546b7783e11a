#include <dirent.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "lease_fixture.h"
#include "protocol/digest.h"

namespace orchid::tests {
namespace {

std::shared_ptr<sdk::LeaseCore> open_lease(const std::shared_ptr<ExecutorSource>& source,
                                           sdk::LeaseGrant grant, const LeaseOptions& options) {
  return sdk::LeaseCore::open({.options = over_lane_under_test(options),
                               .grant = std::move(grant),
                               .source = source,
                               .threads = std::make_shared<sdk::LeaseThreads>()});
}

std::size_t entries_of(const char* directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

}  // namespace

TEST_CASE_FIXTURE(LeaseFixture, "a released lease says so") {
  const LeasedFunction echo = load(example("echo"));
  lease.release();
  lease.release();
  CHECK(source->releases == 1);
  const Error error = error_of([&] { (void)echo.invoke("x"); });
  check_clear(error, ErrorKind::lease_ended);
  CHECK(error.hint() == "take a new lease");
  check_clear(error_of([&] { (void)echo.async("x").get(); }), ErrorKind::lease_ended);
  check_clear(error_of([&] { (void)lease.buffer(100); }), ErrorKind::lease_ended);
  check_clear(error_of([&] { (void)load(example("echo")); }), ErrorKind::lease_ended);
  check_clear(error_of([&] { (void)lease.map(echo, std::vector<std::vector<std::byte>>(3)); }),
              ErrorKind::lease_ended);
  CHECK(lease.workers() == 0);
}

TEST_CASE_FIXTURE(LeaseFixture, "what a lease leaves behind is nothing") {
  (void)load(example("echo")).invoke("x");
  lease.release();
  const auto descriptors = [] { return entries_of("/proc/self/fd"); };
  const auto threads = [] { return entries_of("/proc/self/task"); };
  // The executor of this test is in the same process, and closes its side a little later; and a
  // thread that was joined is listed until the kernel has put it away.
  const std::size_t threads_before = threads();
  std::size_t most = 0;
  for (int i = 0; i < 5; ++i) {
    take({.workers = 2});
    CHECK(load(example("echo")).invoke("x").text() == "x");
    lease.release();
    CHECK(eventually([&] { return threads() <= threads_before; }));
    if (i == 0) {
      CHECK(eventually([&] { return executor.has_all_spare_workers(); }));
      most = descriptors();
    }
  }
  CHECK(eventually([&] { return descriptors() <= most; }));
}

TEST_CASE_FIXTURE(LeaseFixture, "an output that does not fit names both sizes") {
  const LeasedFunction echo = load(example("echo"));
  std::array<std::byte, 10> room{};
  const std::vector<std::byte> input(100);
  const Error error = error_of([&] { (void)echo.invoke_into(input, room); });
  check_clear(error, ErrorKind::too_large);
  CHECK(error.message().find("100 bytes") != std::string::npos);
  CHECK(error.message().find("memory 10") != std::string::npos);
  CHECK(error.function() == "echo");
  CHECK(echo.invoke_into(std::span(input).first(10), room) == 10);
}

TEST_CASE_FIXTURE(LeaseFixture, "inputs are bounded by the lane") {
  const LeasedFunction echo = load(example("echo"));
  const std::size_t too_much = (std::size_t{1} << 30) + 1;
  const std::vector<std::byte> input(too_much);
  check_clear(error_of([&] { (void)echo.invoke(input); }), ErrorKind::too_large);
  check_clear(error_of([&] { (void)lease.buffer(2 * too_much); }), ErrorKind::too_large);
  CHECK(echo.invoke("x").text() == "x");
}

TEST_CASE_FIXTURE(LeaseFixture, "a GiB goes there and back") {
  const LeasedFunction echo = load(example("echo"));
  Buffer input = lease.buffer(std::size_t{1} << 30);
  input.bytes().front() = std::byte{1};
  input.bytes().back() = std::byte{2};
  const Output output = echo.invoke_in_place(std::move(input));
  REQUIRE(output.bytes().size() == std::size_t{1} << 30);
  CHECK(output.bytes().front() == std::byte{1});
  CHECK(output.bytes().back() == std::byte{2});
}

TEST_CASE_FIXTURE(LeaseFixture, "an output waits for room that answers take, not for ever") {
  const LeasedFunction big = load("output_big");
  const std::string size = std::to_string(600 << 20);
  const auto input = as_bytes(std::string_view(size));
  std::optional<Output> held = big.invoke_in_place(input);
  CHECK(held->bytes().size() == 600 << 20);
  const Error error = error_of([&] { (void)big.invoke_in_place(input); });
  check_clear(error, ErrorKind::limit_exceeded);
  CHECK(error.message().find("keeps too many answers") != std::string::npos);
  // While the caller waits another thread gives its answer back.
  std::thread gives_back([&] {
    CHECK(eventually([&] { return sdk::LeaseAccess::core_of(lease).idle_workers() == 0; }));
    held.reset();
  });
  CHECK(big.invoke_in_place(input).bytes().size() == 600 << 20);
  gives_back.join();
}

TEST_CASE_FIXTURE(LeaseFixture, "buffers are used up by a call, or given back") {
  const LeasedFunction echo = load(example("echo"));
  for (int i = 0; i < 1000; ++i) {
    Buffer unused = lease.buffer(1 << 20);
    Buffer input = lease.buffer(1 << 20);
    input.bytes()[0] = std::byte{42};
    input.bytes()[99] = static_cast<std::byte>(i);
    input.shrink(100);
    const Output output = echo.invoke_in_place(std::move(input));
    REQUIRE(output.bytes().size() == 100);
    CHECK(output.bytes()[0] == std::byte{42});
    CHECK(output.bytes()[99] == static_cast<std::byte>(i));
  }
  CHECK(echo.invoke(Buffer(lease.buffer(5))).output.size() == 5);
}

TEST_CASE_FIXTURE(LeaseFixture, "the function sees the caller's own pages") {
  if (lane_under_test() != LaneKind::local) return;  // of what crosses a network it has copies
  const LeasedFunction marks = load("marks_input");
  Buffer input = lease.buffer(1 << 20);
  std::byte* const here = input.bytes().data();
  std::ranges::fill(input.bytes(), std::byte{'x'});
  // The worker writes into its input, and we read that where we wrote it: no copy was between.
  CHECK(marks.invoke(std::move(input)).output.empty());
  CHECK(as_text({here, 5}) == "seenx");
  // Of memory of ours it gets a copy.
  const std::vector<std::byte> own(1 << 20, std::byte{'x'});
  CHECK(marks.invoke(own).output.empty());
  CHECK(as_text(std::span(own).first(4)) == "xxxx");
  // What it gives is read where it wrote: between the input's place and the mapping's end.
  const Output output = load(example("echo")).invoke_in_place(lease.buffer(1 << 20));
  CHECK(output.bytes().data() > here);
  CHECK(output.bytes().data() < here + (std::size_t{3} << 30));
}

TEST_CASE_FIXTURE(LeaseFixture, "small and large calls take turns for as long as one likes") {
  const LeasedFunction echo = load(example("echo"));
  std::vector<std::byte> output(4096);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i)
      REQUIRE(echo.invoke_in_place(lease.buffer(1 << 20)).bytes().size() == 1 << 20);
    for (const std::size_t size : {8U, 1024U, 4096U})
      for (int i = 0; i < 600; ++i)
        REQUIRE(echo.invoke_into(std::span<const std::byte>(output).first(size), output) == size);
  }
  // One that is held does not hinder the others.
  const Output held = echo.invoke_in_place(as_bytes("held"));
  for (int i = 0; i < 100; ++i) REQUIRE(echo.invoke(lease.buffer(1000)).output.size() == 1000);
  CHECK(as_text(held.bytes()) == "held");
}

TEST_CASE_FIXTURE(LeaseFixture, "a module is sent once, and not to an executor that has it") {
  const LeasedModule module = lease.module(module_bytes(test_function("two_entries")));
  CHECK(module.digest() == digest_of(module_bytes(test_function("two_entries"))));
  CHECK(module.entries().size() == 2);
  for (const std::string& entry : module.entries())
    CHECK_NOTHROW((void)module.function(entry).invoke("x"));
  CHECK(error_of([&] { (void)module.function(); }).kind() == ErrorKind::not_found);
  CHECK(error_of([&] { (void)module.function("third"); }).kind() == ErrorKind::not_found);
}

TEST_CASE_FIXTURE(LeaseFixture, "a module that cannot run is refused with the reason") {
  const Error error = error_of([&] { (void)load("undefined_symbols"); });
  CHECK(error.kind() == ErrorKind::module_rejected);
  CHECK(error.message().find("cannot be loaded") != std::string::npos);
  CHECK(load(example("echo")).invoke("x").text() == "x");
}

TEST_CASE_FIXTURE(LeaseFixture,
                  "a deployed function's code comes from the gateway when asked for") {
  source->bytes = module_bytes(test_function("two_entries"));
  source->info = {.name = "two",
                  .version = digest_of(source->bytes),
                  .entries = {{"first", ""}, {"second", "f64(f64)"}}};
  const LeasedModule probe = lease.module(module_bytes(example("echo")));
  source->info.entries.clear();
  // Entries are those of the module.
  for (const char* entry : {"first", "second"}) source->info.entries.push_back({entry, ""});
  const std::string name = "two." + lease.module(source->bytes).entries().front();
  source->info.entries = {{lease.module(source->bytes).entries().front(), "f64(f64)"}};
  take({.workers = 2});
  check_clear(error_of([&] { (void)lease.function<int(int)>(name); }),
              ErrorKind::signature_mismatch);
  CHECK_NOTHROW((void)lease.function(name));
  CHECK(error_of([&] { (void)lease.function("two.missing"); }).kind() == ErrorKind::not_found);
}

TEST_CASE_FIXTURE(LeaseFixture, "typed functions take and give values") {
  source->bytes = module_bytes(example("dot"));
  source->info = {.name = "dot",
                  .version = digest_of(source->bytes),
                  .entries = {{"dot", "f64(span<f64>,span<f64>)"}}};
  auto dot = lease.function<double(std::span<const double>, std::span<const double>)>("dot");
  const std::vector<double> a{1, 2, 3};
  const std::vector<double> b{4, 5, 6};
  CHECK(dot(a, b) == 32);
  CHECK(dot.async(a, b).get() == 32);
  CHECK(source->fetches == 1);
}

TEST_CASE_FIXTURE(LeaseFixture, "an unreachable gateway ends no working lane") {
  source->unreachable = true;
  take({.workers = 1, .duration = seconds(1)});
  const LeasedFunction echo = load(example("echo"));
  const unsigned before = source->renewals;
  CHECK(eventually([&] { return source->renewals >= before + 3; }));
  CHECK(echo.invoke("x").text() == "x");
  source->unreachable = false;
  source->forgotten = true;
  const unsigned then = source->renewals;
  CHECK(eventually([&] { return source->renewals >= then + 3; }));
  CHECK(echo.invoke("x").text() == "x");
}

TEST_CASE_FIXTURE(LeaseFixture, "a lease that cannot be claimed says why") {
  auto grant = source->grant(1);
  grant.workers.front().secret = std::string(64, '0');
  const auto take = [&](sdk::LeaseGrant terms) {
    return open_lease(source, std::move(terms), {.within = seconds(5)});
  };
  check_clear(error_of([&] { (void)take(grant); }), ErrorKind::denied);
  grant = source->grant(1);
  grant.workers.front().boot_id = "elsewhere";
  grant.workers.front().lane_address.clear();
  check_clear(error_of([&] { (void)take(grant); }), ErrorKind::unsupported);
  grant = source->grant(1);
  grant.workers.front().lane_socket = "/nowhere/lanes.sock";
  if (lane_under_test() == LaneKind::ucx) grant.workers.front().lane_address = "127.0.0.1:1";
  check_clear(error_of([&] { (void)take(grant); }), ErrorKind::unreachable);
}

TEST_CASE_FIXTURE(LeaseFixture, "a worker that is gone before its lane is there is replaced") {
  source->replaces = true;
  auto grant = source->grant(1);
  grant.workers.front().lane_socket = "/nowhere/lanes.sock";
  if (lane_under_test() == LaneKind::ucx) grant.workers.front().lane_address = "127.0.0.1:1";
  lease = sdk::LeaseAccess::lease(open_lease(source, std::move(grant), {}));
  CHECK(source->renewals > 0);
  CHECK(load(example("echo")).invoke("x").text() == "x");
}

}  // namespace orchid::tests
