// One Orchid on an x86 machine and an Arm machine: a module with an image for each runs on both.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "foundation/files.h"
#include "mixed_site.h"
#include "orchid/crew.h"

namespace orchid::tests {

extern std::optional<MixedSite> site;  // of main.cpp

namespace {

using std::chrono::seconds;

struct Target {
  const char* kind;
  const char* architecture;
};
constexpr std::array targets{Target{"cpu", "x86_64"}, Target{"dpu", "aarch64"}};

/// As `orchid build --target` names them.
const std::vector<std::string> both{"x86-64", "aarch64"};

std::vector<std::byte> bytes_of(const std::filesystem::path& file) {
  auto bytes = read_file(file, 64_MiB);
  REQUIRE(bytes.has_value());
  return std::move(*bytes);
}

/// A worker on the machine of this kind, which is given the time that an emulated one needs.
Lease on(Client& client, const Target& target) {
  return client.lease({.within = seconds(60), .constraints = {.kind = target.kind}});
}

Error error_of(const LeasedFunction& function, seconds deadline) {
  try {
    (void)function.invoke("", {.deadline = deadline});
  } catch (const Error& error) {
    return error;
  }
  return Error({.message = "no error"});
}

}  // namespace

TEST_CASE("the target of the worker's host says which image runs, over HTTP and over a lease") {
  const auto module = site->module(SOURCES "/tests/data/functions/reports_architecture.c", both);
  (void)site->orchid({"deploy", module.string()});
  Client client = site->client();
  for (const Target& target : targets) {
    CAPTURE(target.kind);
    CHECK(site->orchid({"invoke", "reports_architecture", "--on", target.kind}) ==
          target.architecture);
    Lease lease = on(client, target);
    CHECK(lease.module(bytes_of(module)).function().invoke("").text() == target.architecture);
  }
}

TEST_CASE("a module with one image goes to the machine that can run it, or nowhere") {
  const std::filesystem::path source = SOURCES "/tests/data/functions/reports_architecture.c";
  (void)site->orchid({"deploy", site->module(source, {"aarch64"}).string(), "--name", "for_arm"});
  (void)site->orchid({"deploy", site->module(source, {"x86-64"}).string(), "--name", "for_x86"});
  CHECK(site->orchid({"invoke", "for_arm"}) == "aarch64");
  CHECK(site->orchid({"invoke", "for_x86"}) == "x86_64");
  CHECK_THROWS_WITH_AS((void)site->client().invoke("for_x86", "", {.host_kind = "dpu"}),
                       doctest::Contains("no image for aarch64; the module has x86-64"), Error);
}

TEST_CASE("the results are the same on both, over HTTP and over a lease") {
  const auto module = site->module(SOURCES "/functions/wordcount/wordcount.cpp", both);
  (void)site->orchid({"deploy", module.string()});
  const auto text = bytes_of(SOURCES "/LICENSE");
  constexpr std::string_view counts = "202 1581 11358\n";  // as `wc` has them
  Client client = site->client();
  for (const Target& target : targets) {
    CAPTURE(target.kind);
    CHECK(site->orchid({"invoke", "wordcount", "--on", target.kind}, std::string(as_text(text))) ==
          counts);
    Lease lease = on(client, target);
    CHECK(lease.module(bytes_of(module)).function().invoke(text).text() == counts);
  }
}

TEST_CASE("a function that fails on the Arm machine costs one call, and says why") {
  Client client = site->client();
  Lease lease = on(client, targets[1]);
  const auto crashes =
      lease.module(bytes_of(site->module(SOURCES "/tests/data/functions/segfaults.c", both)))
          .function();
  const auto loops =
      lease.module(bytes_of(site->module(SOURCES "/tests/data/functions/loops.c", both)))
          .function();
  const Error crash = error_of(crashes, seconds(60));
  CHECK(crash.kind() == ErrorKind::function_crashed);
  CHECK(crash.message().find("orchid_entry_segfaults") != std::string::npos);
  CHECK(crash.node() == MixedSite::machine);
  CHECK(error_of(loops, seconds(1)).kind() == ErrorKind::deadline_exceeded);
  const auto next =
      lease.module(bytes_of(site->module(SOURCES "/functions/echo/echo.c", both))).function();
  CHECK(next.invoke("again").text() == "again");
}

/// More members than this machine has cores, so that some are on the other one.
TEST_CASE("a crew has members on both machines, and each loads its own image of a module") {
  const auto name_of =
      bytes_of(site->module(SOURCES "/tests/data/functions/reports_architecture.c", both));
  const auto walks = bytes_of(site->module(SOURCES "/tests/data/functions/walks_crew.c", both));
  const unsigned members = std::thread::hardware_concurrency() + 1;
  Client client = site->client();
  Crew crew = client.crew({.workers = members, .within = seconds(120), .lane = "auto"});
  const CrewFunction name = crew.function(name_of, "reports_architecture");
  std::set<std::string> architectures;
  for (unsigned member = 1; member <= members; ++member) {
    const Reply reply = name.invoke(member, "", {.deadline = seconds(60)});
    architectures.emplace(reinterpret_cast<const char*>(reply.output.data()), reply.output.size());
  }
  CHECK(architectures == std::set<std::string>{"aarch64", "x86_64"});
  // As walks_crew.c has it: left, stride, sum.
  constexpr std::uint32_t steps = 100;
  const std::array<std::uint32_t, 4> start{steps, 1, 0, 0};
  const Reply end = crew.function(walks, "walk")
                        .invoke(1, std::as_bytes(std::span(start)), {.deadline = seconds(60)});
  std::uint64_t sum = 0;
  for (std::uint32_t step = 0; step <= steps; ++step) sum += step % members + 1;
  std::array<std::uint64_t, 2> words{};
  REQUIRE(end.output.size() == sizeof(words));
  std::memcpy(words.data(), end.output.data(), sizeof(words));
  CHECK(words[1] == sum);
  CHECK(crew.formations() == 1);
}

}  // namespace orchid::tests
